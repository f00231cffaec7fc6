"""A controller that is not the plant: a model with other numbers, and a computer that measures and holds.

    u(t) = controls of the law with the model's parameters, at what was measured at t_k − delay,   t_k ≤ t < t_k + step

The parameters that this takes are those of the system under names of their own: ``m_model`` for what the model has in
the place of m, ``F_held`` for the control that is held between two samples. So ensembles may sweep them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.common.frozen import Frozen
from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadStatement
from holdfast.problem.quantities import Parameter
from holdfast.problem.vocabulary import by_name

if TYPE_CHECKING:
    from holdfast.problem.program import Program
    from holdfast.problem.system import System

MODEL, HELD = "_model", "_held"
LARGEST_SEED = 2**63


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Controls computed every `step` from what was measured `delay` before, and held in between (zero-order hold).

    `noise` is the standard deviation of what is measured, by coordinate, rate or state: normal, independent from sample
    to sample, the same for the same `seed`. `rates` limit how fast controls may change, by control: from one sample to
    the next by no more than rate × step.
    """

    step: float
    delay: float = 0.0
    noise: Frozen[float] = Frozen()
    seed: int = 0
    rates: Frozen[float] = Frozen()

    def __post_init__(self) -> None:
        where = "program.sampling"
        if not _number(self.step) or self.step <= 0:
            raise BadStatement(f"step = {self.step!r} is not positive", where=f"{where}.step", fix="e.g. 0.001")
        if not _number(self.delay) or self.delay < 0:
            raise BadStatement(f"delay = {self.delay!r} is not a delay", where=f"{where}.delay", fix="0, or positive")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed < LARGEST_SEED:
            raise BadStatement(f"seed = {self.seed!r}", where=f"{where}.seed", fix="a whole number, at least 0")
        noise = by_name(self.noise, where=f"{where}.noise")
        for name, size in noise.items():
            if not _number(size) or size < 0:
                what = f"noise of {size!r} is no standard deviation"
                raise BadStatement(what, where=f"{where}.noise.{name}", fix="0, or positive")
        rates = by_name(self.rates, where=f"{where}.rates")
        for name, most in rates.items():
            if not _number(most) or most <= 0:
                raise BadStatement(f"a rate of {most!r} is not positive", where=f"{where}.rates.{name}", fix="e.g. 100")
        put = object.__setattr__
        put(self, "rates", Frozen({name: float(most) for name, most in rates.items()}))
        put(self, "step", float(self.step))
        put(self, "delay", float(self.delay))
        put(self, "noise", Frozen({name: float(size) for name, size in noise.items()}))

    def stated(self) -> dict[str, Any]:
        """What differs from the defaults, for writing it down."""
        found = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: value for name, value in found.items() if name == "step" or value not in (0, 0.0, Frozen())}


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def added_names(program: Program) -> tuple[str, ...]:
    """The parameters that a program's controller adds to those of the system."""
    held = [f"{name}{HELD}" for name in program.controls] if program.sampling is not None else []
    return (*(f"{name}{MODEL}" for name in program.model), *held)


def with_controller(system: System, program: Program) -> System:
    """The system with the parameters that the controller of a program needs."""
    wanted = {name for name in added_names(program) if name not in system.parameters and name not in system.definitions}
    if not wanted:
        return system
    for name in program.model:
        if name not in system.parameters and name not in system.definitions:
            known = tuple(system.parameters)
            hint = did_you_mean(name, known, "parameters: " + ", ".join(known))
            raise BadStatement(f"{name!r} is not a parameter", where=f"program.model.{name}", fix=hint)
    given: dict[str, Any] = {f"{name}{MODEL}": value for name, value in program.model.items()}
    given |= {f"{name}{HELD}": sp.S.Zero for name in program.controls}
    more = {name: value for name, value in given.items() if name in wanted}
    return replace(system, parameters=Frozen({**system.parameters, **more}))


def check_controller(program: Program) -> None:
    """Refuse what a controller cannot be, as far as the program alone tells."""
    for word, given in (("model", program.model), ("sampling", program.sampling)):
        if given and not program.controls:
            fix = "name controls, or leave it out"
            raise BadStatement(f"there is no control for a {word}", where=f"program.{word}", fix=fix)
    sampling: object = program.sampling
    if sampling is not None and not isinstance(sampling, Sampling):
        fix = "hf.Sampling(step=0.001)"
        raise BadStatement(f"{sampling!r} is not a Sampling", where="program.sampling", fix=fix)
    for name in program.sampling.rates if program.sampling is not None else ():
        if name not in program.controls:
            hint = did_you_mean(name, program.controls, "controls: " + ", ".join(program.controls))
            raise BadStatement(f"{name!r} is not a control", where=f"program.sampling.rates.{name}", fix=hint)


def shortfall(program: Program) -> str:
    """Why the law is not always obeyed, in words; nothing where controls do what it asks for."""
    found = []
    if program.limits:
        found.append(f"within the limits of {', '.join(program.limits)}")
    if program.model:
        found.append(f"as far as the model is right about {', '.join(program.model)}")
    if program.sampling is not None:
        found.append(f"as far as controls that are held for {program.sampling.step:g} follow it")
    return " and ".join(found)


def model_symbols(program: Program) -> Mapping[str, sp.Symbol]:
    """For each parameter that the model has its own value of, the symbol of that."""
    return {name: Parameter(f"{name}{MODEL}") for name in program.model}
