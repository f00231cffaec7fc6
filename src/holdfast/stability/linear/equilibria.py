"""States of rest, and what becomes of a push there.

    v = 0,  F(q, 0, s) = 0,  ψ(q, 0, s) = 0      from the start and from random places

The roots are those of the linearised motion on what the program leaves free (docs/theory, section 1.14). Roots on the
imaginary axis decide nothing beyond first order; where nothing does work and no forces turn with the rates, the energy
does (Lagrange and Dirichlet): a rest where the energy is least is stable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.common.arguments import clear_arguments
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.equations.internal.dynamics import Rest, rest_at
from holdfast.equations.internal.rest import rest_near
from holdfast.equations.internal.roots import Fate, roots_at_rest
from holdfast.equations.internal.tangent import Slopes, Tangent, free_basis, measure, restricted, tangent_of
from holdfast.equations.internal.words import state_words, written
from holdfast.equations.values import parameter_vector, state_vector, values_at
from holdfast.errors import BadRequest
from holdfast.problem.problem import Problem
from holdfast.problem.types import ByName, StateLike
from holdfast.results.judgement.energy import conservative
from holdfast.stability.linear.same_rest import SAME, TURN, alike, wrapped

Array = np.ndarray
BALANCED = 1e-6  # of what each force alone would do: accelerations below this are those of a rest
PLACES = 60  # random places that rests are looked for from

WORDS = {  # from best to worst
    "asymptotically stable": "asymptotically stable",
    "stable": "stable",
    "neutral": "neutral to first order: its roots do not decide",
    "drifts": "to first order a push makes it leave, and only higher orders could hold it",
    "unstable": "unstable",
}


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state of rest that keeps the program, the roots of what is free there, and the word for it.

    `word` is one of "asymptotically stable", "stable" (least energy), "unstable", "drifts" (a repeated root on the axis
    that lacks a direction) and "neutral" (roots on the axis, which decide nothing beyond first order).
    """

    equations: Equations
    rest: Rest
    word: str
    family: tuple[str, ...] = ()  # coordinates that may stand elsewhere too: one of many rests
    energy: float = 0.0

    @property
    def state(self) -> Mapping[str, float]:
        """The state by name."""
        return self.rest.state

    @property
    def roots(self) -> Array:
        return self.rest.roots

    @property
    def stable(self) -> bool:
        """Whether a small push stays small: known, not only to first order."""
        return self.word in ("stable", "asymptotically stable")

    def __getitem__(self, name: Any) -> float:
        return self.rest.state[getattr(name, "name", name)]

    def __str__(self) -> str:
        worst = self.rest.found.worst
        root = "" if worst is None else f" (root {written(worst)})"
        many = f"; one of many, {', '.join(self.family)} may stand elsewhere" if self.family else ""
        return f"{state_words(self.rest, self.equations.coordinates)}: {WORDS[self.word]}{root}{many}"

    def __repr__(self) -> str:
        return f"<Equilibrium {self}>"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        roots = [[float(root.real), float(root.imag)] for root in self.roots]
        return {"state": dict(self.state), "word": self.word, "roots": roots, "family": list(self.family)}


@clear_arguments
def equilibria(
    problem: Problem | Equations,
    *,
    parameters: ByName | None = None,
    start: StateLike | None = None,
    places: int = PLACES,
    seed: int = 0,
) -> tuple[Equilibrium, ...]:
    """The states of rest that are found from the start and from random places, most stable first.

    There may be others. Where rests are not isolated (a cart that may stand anywhere) one of them is told. A motion
    that depends on time has none, and is refused.
    """
    if not isinstance(problem, (Problem, Equations)):
        raise BadRequest(f"equilibria() takes a Problem, not {type(problem).__name__}", fix="hf.load(file)")
    equations = problem if isinstance(problem, Equations) else derive(problem)
    equations.require_unsampled("equilibria")
    equations.require_unlimited("equilibria")
    equations.require_one_phase("equilibria")
    constants = parameter_vector(equations, parameters or {})
    tangent = tangent_of(equations)
    if tangent.timed:
        raise BadRequest(
            "the equations or the program change with time, so that nothing rests",
            where="equilibria",
            fix="state a program that stands still",
        )
    own = np.array(state_vector(equations, start, dict(zip(equations.parameter_names, constants, strict=True))))
    time = equations.problem.run.begin
    turning = turning_coordinates(equations, tangent, own, time, constants)
    found: list[Equilibrium] = []
    usual = 0.0  # what forces make where they do not balance
    for rough in _places(equations, own, turning, places, seed):
        state = rest_near(equations, rough, time, constants)
        if state is None:
            continue
        moved, alone = _forces(equations, state, time, constants)
        usual = np.nanmax([usual, alone, _forces(equations, rough, time, constants)[1]])
        if moved > BALANCED**2 * usual:
            continue  # nothing that stands still, in whatever units
        state = wrapped(equations, state, turning)
        one = replace(judged_rest(equations, state, time, constants), energy=_energy(equations, state, time, constants))
        if not any(alike(one, other, turning) for other in found):
            found.append(one)
    ranks = list(WORDS)
    return tuple(sorted(found, key=lambda one: ranks.index(one.word)))


def _energy(equations: Equations, state: Array, time: float, constants: Sequence[float]) -> float:
    named = dict(zip(equations.parameter_names, constants, strict=True))
    return values_at(equations, state.tolist(), time, named).energy


def _forces(equations: Equations, state: Array, time: float, constants: Sequence[float]) -> tuple[float, float]:
    """Σ m a² of the accelerations, and of what each force alone would make: alike in any units."""
    named = dict(zip(equations.parameter_names, constants, strict=True))
    values = values_at(equations, state.tolist(), time, named)
    inertia = np.abs(np.diag(values.mass_matrix))
    forces = np.abs(values.bias) + np.abs(values.holders) @ np.abs(values.mu)
    with np.errstate(all="ignore"):
        alone = np.where(inertia > 0, forces**2 / np.where(inertia > 0, inertia, 1.0), 0.0).sum()
        return float((inertia * values.accelerations**2).sum()), float(alone)


def judged_rest(equations: Equations, state: Array, time: float, constants: Sequence[float]) -> Equilibrium:
    """The word for a rest, by its roots, and by its energy where they do not decide.

    Where controls hold the program, the law is a part of the motion, and its roots count too.
    """
    rest, slopes = rest_at(equations, state, time, constants), tangent_of(equations).at(time, state, constants)
    family, fate = _family(equations, slopes), rest.fate
    if equations.problem.program.controls:
        fate = roots_at_rest(*decisive_matrix(equations, slopes)).fate
    if fate is Fate.runs_away:
        return Equilibrium(equations, rest, "unstable", family)
    if fate is Fate.leaves:
        return Equilibrium(equations, rest, "drifts", family)
    if fate in (Fate.returns, Fate.nothing):
        return Equilibrium(equations, rest, "asymptotically stable", family)
    least = fate is Fate.swings and conservative(equations) and not equations.problem.program.nonholonomic
    return Equilibrium(equations, rest, "stable" if least and _least_energy(equations, slopes) else "neutral", family)


def decisive_matrix(equations: Equations, slopes: Slopes) -> tuple[Array, float]:
    """The linearised motion whose roots decide at a rest, and its pace: of what stays free; of all under controls."""
    weights, pace = measure(slopes, len(equations.coordinates))
    if equations.problem.program.controls:
        return weights[:, None] * slopes.motion / weights, pace
    return restricted(slopes.motion, free_basis(slopes.program, weights), weights), pace


def _least_energy(equations: Equations, slopes: Slopes) -> bool:
    """Whether forces by rates are absent to first order, so that roots ± iω are curvatures ω² > 0 of the energy."""
    n = len(equations.coordinates)
    weights, pace = measure(slopes, n)
    basis = free_basis(slopes.program[:, :n], weights[:n])
    by_rates = weights[n : 2 * n, None] * slopes.motion[n : 2 * n, n : 2 * n] / weights[n : 2 * n]
    return bool(np.abs(basis.T @ by_rates @ basis).max(initial=0.0) <= 1e-9 * pace)


def _family(equations: Equations, slopes: Slopes) -> tuple[str, ...]:
    """The coordinates along which rests go on: what the equations of rest leave free to first order."""
    n, names = len(equations.coordinates), equations.state_names
    moving = [k for k in range(len(names)) if not n <= k < 2 * n]
    system = np.vstack([slopes.motion, slopes.program])[:, moving] / slopes.weights[moving]
    sizes = np.linalg.norm(system, axis=1, keepdims=True)
    _, found, vt = np.linalg.svd(system[sizes[:, 0] > 1e-9 * sizes.max(initial=0.0)])
    rank = int((found > 1e-7 * found[0]).sum()) if found.size else 0
    along = np.abs(vt[rank:]).max(axis=0, initial=0.0)
    return tuple(names[k] for k, size in zip(moving, along, strict=True) if size > 1e-3)


def turning_coordinates(
    equations: Equations, tangent: Tangent, own: Array, time: float, constants: list[float]
) -> Array:
    """Which coordinates are angles: a full turn of one leaves motion and program as they are."""
    n, random = len(equations.coordinates), np.random.default_rng(0)
    found = np.zeros(len(own), dtype=bool)
    state = own + 0.1 * random.uniform(-1, 1, len(own))
    here = tangent.at(time, state, constants)
    before = np.concatenate([here.rates, here.deviations])
    size = max(float(np.abs(before[np.isfinite(before)]).max(initial=0.0)), 1e-300)
    acts = np.abs(np.vstack([here.motion, here.program]))[:, :n].max(axis=0, initial=0.0) > 0
    for k in range(n):
        turned = state.copy()
        turned[k] += TURN
        there = tangent.at(time, turned, constants)
        change = np.abs(np.concatenate([there.rates, there.deviations]) - before)
        found[k] = bool(acts[k]) and bool((change <= SAME * size).all())
    return found


def _places(equations: Equations, own: Array, turning: Array, places: int, seed: int) -> list[Array]:
    """The start, then random places: angles anywhere, the rest within a few times the size of the start."""
    random, n = np.random.default_rng(seed), len(equations.coordinates)
    reach = float(np.abs(own[:n][~turning[:n]]).max(initial=0.0)) or 1.0
    found = [own]
    for _ in range(places):
        throw, span = random.uniform(-1, 1, len(own)), reach * random.choice([0.3, 1.0, 3.0])
        found.append(np.where(turning, np.pi * throw, own + span * throw))
    for place in found[1:]:
        place[len(own) - len(equations.deviations.states) :] = 0.0
    return found
