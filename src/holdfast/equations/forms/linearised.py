"""The equations linearised about a state: dx/dt ≈ F + A δx + B δu, outputs C δx + D δu, exactly from the graph.

With parameters for inputs, or none, the motion is that of the equations, held program and all. With controls for inputs
it is that of the plant: the controls are what is put in, reactions go on holding their constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import sympy as sp

from holdfast.common.nearest import did_you_mean
from holdfast.equations.equations import Equations
from holdfast.equations.forms.plant import plant_of
from holdfast.equations.values import parameter_vector, state_vector, values_at
from holdfast.errors import BadRequest, HoldfastError
from holdfast.graph.arithmetics.tape import Ledger, Tape
from holdfast.graph.derivatives import jacobian
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node
from holdfast.graph.slopes_in_numbers import slopes_in_numbers
from holdfast.problem.text.expression import parse
from holdfast.problem.types import ByName, StateLike
from holdfast.problem.vocabulary import MOTION, name_of

SWEPT = 100  # states: beyond, slopes are taken in numbers (30 links as nodes: 5 s, 80 links: 74 s)


@dataclass(frozen=True, eq=False)
class Linearisation:
    """dx/dt ≈ rates + A δx + B δu,   y ≈ values + C δx + D δu."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    state: np.ndarray
    input_values: np.ndarray
    time: float
    rates: np.ndarray  # F there: 0 at an equilibrium
    values: np.ndarray  # of the outputs

    @property
    def roots(self) -> np.ndarray:
        """The eigenvalues of A, those that grow fastest first."""
        found = np.linalg.eigvals(self.A)
        return np.asarray(found[np.argsort(-found.real)])

    def summary(self) -> str:
        """In words: sizes, where it was taken, and the roots."""
        sizes = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        moving = np.abs(self.rates).max(initial=0.0)
        where = "an equilibrium" if moving == 0 else f"a moving state (the largest rate is {moving:.3g})"
        roots = ", ".join(f"{z.real:.6g}" if z.imag == 0 else f"{z.real:.6g}{z.imag:+.6g}i" for z in self.roots)
        return f"{sizes}, at t = {self.time:g}, {where}\nroots: {roots}\n"

    def to_dict(self) -> dict[str, Any]:
        matrices = {name: getattr(self, name).tolist() for name in "ABCD"}
        names = {"states": list(self.states), "inputs": list(self.inputs), "outputs": list(self.outputs)}
        return {"schema": 1, **names, **matrices, "time": self.time, "rates": self.rates.tolist()}

    def to_control(self) -> Any:
        """A `control.StateSpace` of python-control, names included."""
        try:
            control = import_module("control")
        except ImportError:
            fix = "pip install control"
            raise BadRequest("python-control is not installed", where="to_control()", fix=fix) from None
        names = {"states": list(self.states), "inputs": list(self.inputs), "outputs": list(self.outputs)}
        return control.ss(self.A, self.B, self.C, self.D, **names)


class LinearisedField:
    """The field whose derivatives are taken, by its inputs."""

    def __init__(self, equations: Equations, names: tuple[str, ...]) -> None:
        self.equations, self.names = equations, names
        program = equations.problem.program
        known = (*program.controls, *equations.inputs.parameters)
        for name in names:
            if name not in known:
                fix = did_you_mean(name, known, "inputs are controls or parameters: " + ", ".join(known))
                raise BadRequest(f"{name!r} is no input", where="linearise(inputs=...)", fix=fix)
        self.open = any(name in program.controls for name in names)
        if not self.open:
            equations.require_unsampled("linearise")
            equations.require_one_phase("linearise")
        plant = plant_of(equations) if self.open else None
        self.u: dict[str, Node] = plant.controls if plant else {}
        self.rates = list(plant.rates if plant else equations.field.rates)
        self.states = equations.state_names[: len(self.rates)]
        self.state_nodes = equations.field.state[: len(self.rates)]

    def at(
        self, at: StateLike | None, time: float | None, outputs: Iterable[Any] | None, given: ByName, parameters: ByName
    ) -> Linearisation:
        equations = self.equations
        constants = parameter_vector(equations, parameters)
        numbers = dict(zip(equations.parameter_names, constants, strict=True))
        vector = state_vector(equations, at, numbers)
        moment = equations.problem.run.begin if time is None else float(time)
        controls = self._values(vector, moment, numbers, given)
        known = (*equations.field.inputs, *self.u.values())
        given_values = [moment, *vector, *constants, *(controls[name] for name in self.u)]
        swept = self._swept(outputs, dict(zip(known, given_values, strict=True))) if len(self.rates) > SWEPT else None
        if swept is None:
            shown, outs = self.nodes(outputs)
            found = Tape(known, tuple(outs))(given_values)
        else:
            shown, found = swept
        rates, values, A, B, C, D = (part[0] for part in self.parts(np.array([found], dtype=float), len(shown)))
        if not np.isfinite(A).all() or not np.isfinite(rates).all():
            raise BadRequest(
                "the equations are not defined at this state", where="linearise(at=...)", fix="another state"
            )
        point = np.array([controls.get(name, numbers.get(name, np.nan)) for name in self.names])
        return Linearisation(
            A, B, C, D, self.states, self.names, shown, np.array(vector[: len(A)]), point, moment, rates, values
        )  # fmt: skip

    def _swept(
        self, outputs: Iterable[Any] | None, given: dict[Node, float]
    ) -> tuple[tuple[str, ...], list[float]] | None:
        """What `nodes` gives, in numbers at one state; none where slopes are not finite there."""
        shown, values = self._outputs(outputs)
        columns = [self.u.get(name) or self.equations.inputs.parameters[name] for name in self.names]
        slopes = slopes_in_numbers([*self.rates, *values], [*self.state_nodes, *columns], given)
        if slopes is None:
            return None
        n = len(self.rates)
        quarters = (slopes[:n, :n], slopes[:n, n:], slopes[n:, :n], slopes[n:, n:])
        there = Ledger(given).of([*self.rates, *values])
        return shown, there + [float(x) for quarter in quarters for x in quarter.ravel()]

    def nodes(self, outputs: Iterable[Any] | None) -> tuple[tuple[str, ...], list[Node]]:
        """The outputs by name; and rates, values, A, B, C and D as nodes, one after the other."""
        shown, values = self._outputs(outputs)
        columns = [self.u.get(name) or self.equations.inputs.parameters[name] for name in self.names]
        found: list[Node] = [*self.rates, *values]
        pairs = ((self.rates, self.state_nodes), (self.rates, columns), (values, self.state_nodes), (values, columns))
        for of, by in pairs:
            found += _dense(jacobian(list(of), list(by)), len(by), self.equations.inputs.graph.zero)
        return shown, found

    def parts(self, numbers: np.ndarray, outputs: int) -> tuple[np.ndarray, ...]:
        """What `nodes` gives, (rows, nodes) of numbers, cut into arrays by row."""
        n, m = len(self.states), len(self.names)
        shapes = ((n,), (outputs,), (n, n), (n, m), (outputs, n), (outputs, m))
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
        return tuple(
            part.reshape(len(numbers), *shape)
            for part, shape in zip(np.split(numbers, ends, axis=1), shapes, strict=True)
        )

    def given(self, values: ByName) -> dict[str, float]:
        """Values of controls, by name."""
        named = {name_of(name): float(value) for name, value in values.items()}
        for name in named:
            if name not in self.u:
                fix = did_you_mean(name, self.u, "controls: " + ", ".join(self.u) if self.u else "name them as inputs")
                raise BadRequest(f"{name!r} is no control", where="linearise(input_values=...)", fix=fix)
        return named

    def _values(
        self, vector: Sequence[float], moment: float, numbers: dict[str, float], given: ByName
    ) -> dict[str, float]:
        """The controls at the point: given, or those that hold the program there."""
        named = self.given(given)
        if not self.open:
            return {}
        if set(named) == set(self.u):
            return named
        values = values_at(self.equations, list(vector), moment, numbers)
        values.require_defined()
        return {**dict(zip(self.u, values.controls.tolist(), strict=True)), **named}

    def _outputs(self, outputs: Iterable[Any] | None) -> tuple[tuple[str, ...], list[Node]]:
        if outputs is None:
            return self.states, list(self.state_nodes)
        problem, shown, nodes = self.equations.problem, [], []
        for given in outputs:
            text = given if isinstance(given, str) else str(given)
            try:
                value = parse(given, problem.names, problem.system.points) if isinstance(given, str) else given
                expression = problem.names.admit(sp.sympify(value), MOTION, where=text)
            except (HoldfastError, sp.SympifyError) as error:
                what = error.what if isinstance(error, HoldfastError) else "it is no expression"
                fix = "outputs are expressions in states, rates, time and parameters"
                raise BadRequest(
                    f"{text[:60]!r} is no output: {what}", where="linearise(outputs=...)", fix=fix
                ) from None
            shown.append(text)
            nodes.append(self.equations.inputs.walk(expression))
        return tuple(shown), nodes


def _dense(rows: Rows, columns: int, zero: Node) -> list[Node]:
    return [row.get(j, zero) for row in rows for j in range(columns)]
