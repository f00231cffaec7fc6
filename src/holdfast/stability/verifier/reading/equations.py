"""What follows from a statement: inertia, bias, holders, deviations, their rows, and the law, as nodes.

    M a = h + E μ,     J a + γ = Y(y, w)         M = ∂²T/∂v²,   h = Q + ∂T/∂q − ∂P/∂q − ∂D/∂v − (∂²T/∂v∂q) v − ∂²T/∂v∂t

Parameters and gains are put in as the exact doubles of the run. Nothing is solved here: accelerations and multipliers
stay unknowns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from holdfast.stability.verifier.numbers.dag import JUMPS, Dag, Node, inputs_of, ordered
from holdfast.stability.verifier.reading.law import Law
from holdfast.stability.verifier.reading.spins import projected
from holdfast.stability.verifier.reading.statement import Statement, reactions_in
from holdfast.stability.verifier.refusal import Refused, require

KINKS = JUMPS | {"abs", "min", "max", "atan2"}


@dataclass(frozen=True, eq=False)
class Equations:
    """The equations of one statement with its numbers put in, over the inputs t and the state."""

    dag: Dag
    stated: Statement
    mass: list[list[Node]] | None  # None: points of variable mass, whose equations are not derived here
    bias: list[Node]
    holders: list[list[Node]]  # one row a coordinate, one column a multiplier
    psi: dict[str, Node]  # y_*, then w_*
    jacobian: dict[str, list[Node]]  # by constraint
    drift: dict[str, Node]  # γ by constraint
    demand: dict[str, Node]  # Y in the inputs y_*, w_*
    state_rates: dict[str, Node]
    observables: dict[str, Node]

    @property
    def inputs(self) -> list[str]:
        return ["t", *self.stated.state_names]

    @property
    def solved(self) -> bool:
        """Whether all rates are known as they are, with no system left to solve: above degree 2 alone."""
        return False

    @property
    def chained(self) -> bool:
        """Whether deviations have rates beyond the first: their law is linear, with the gains that are given."""
        return False

    @property
    def in_passes(self) -> bool:
        """Whether rows that may repeat each other are met in passes: accelerations are no solution of M, E and J."""
        return False

    @property
    def rows(self) -> tuple[list[list[Node]], list[Node]] | None:
        """Matrix and right side of accelerations alone, where these are not those of M, E and J."""
        return None

    def names_of(self, constraint: str) -> set[str]:
        """The deviations of a constraint."""
        return {f"w_{constraint}"} | ({f"y_{constraint}"} if constraint in self.stated.holonomic else set())

    def affine(self, constraints: list[str]) -> bool:
        """Whether y = J q + e(t) with a constant J: then time alone decides the defect."""
        if not all(name in self.stated.holonomic for name in constraints):
            return False
        psi = [node for name in constraints for node in (self.psi[f"y_{name}"], self.psi[f"w_{name}"])]
        if any(node.op in KINKS for node in ordered(psi)) or inputs_of(psi) & set(self.stated.states):
            return False
        rows = [entry for name in constraints for entry in self.jacobian[name]]
        return not inputs_of(rows) and inputs_of(self.drift[name] for name in constraints) <= {"t"}

    def of_time(self, name: str) -> tuple[Node, Node]:
        """Of a deviation of an affine block, ψ = X + e(t), what makes e and e' with the state at 0.

        Further rates than w are states that a controller adds, X themselves.
        """
        kind, _, constraint = name.partition("_")
        if kind == "y":
            return self.psi[name], self.psi[f"w_{constraint}"]
        return (self.psi[name], self.drift[constraint]) if kind == "w" else (self.dag.zero, self.dag.zero)

    def matrix(self, names: list[str]) -> list[list[Fraction]]:
        """H of a block: d(y, w)/dt = H (y, w), shown to be linear with these constant coefficients and no others."""
        dag, rows = self.dag, []
        deviations = {name: dag.input(name) for name in self.psi}
        for name in names:
            constraint = name[2:]
            if name[0] == "y":
                rows.append([Fraction(other == f"w_{constraint}") for other in names])
                require(f"w_{constraint}" in names, f"the block holds {name} without its rate")
                continue
            demand = self.demand[constraint]
            require(
                not any(node.op in KINKS for node in ordered([demand])),
                f"the law of {constraint!r} jumps or bends, so it is not linear",
            )
            (slopes,) = dag.partials([demand], deviations.values())
            by_name = dict(zip(deviations, slopes, strict=True))
            for other, slope in by_name.items():
                require(slope.op == "const", f"the law of {constraint!r} is not linear with constant coefficients")
                require(other in names or slope is dag.zero, f"{constraint!r} is coupled with {other}, left out here")
            (rest,) = dag.substituted([demand], {node: dag.zero for node in deviations.values()})
            require(rest is dag.zero, f"the law of {constraint!r} does not vanish on the program")
            rows.append([_fraction(by_name[other]) for other in names])
        return rows


def _fraction(node: Node) -> Fraction:
    assert isinstance(node.data, Fraction)
    return node.data


def equations(stated: Statement, law: Law, numbers: Mapping[str, float]) -> Equations:
    """The equations with the doubles of a run for parameters and gains."""
    pushed = [key for way in stated.controls.values() for key in way if key not in stated.coordinates]
    require(not pushed, f"a control acts on {pushed[0] if pushed else ''!r}, which is no coordinate: not known here")
    return Equations(**equations_of_motion(stated, numbers, law))


def equations_of_motion(stated: Statement, numbers: Mapping[str, float], law: Law | None = None) -> dict[str, Any]:
    """What `Equations` is made of; without a law nothing is demanded."""
    dag = stated.dag
    for name, value in stated.states.items():
        controlled = [key for key in inputs_of([value]) if key.startswith("control ")]
        if controlled and stated.holonomic | stated.nonholonomic:
            _require_free(stated, name, controlled[0])
    q = [dag.input(name) for name in stated.coordinates]
    v = [dag.input(f"{name}_dot") for name in stated.coordinates]
    along = {dag.input("t"): dag.one, **dict(zip(q, v, strict=True))}
    along |= {dag.input(name): rate for name, rate in stated.states.items()}
    holonomic = list(stated.holonomic.values())
    w = [*dag.derivatives(holonomic, along), *stated.nonholonomic.values()]
    jacobian, drift = dag.partials(w, v), dag.derivatives(w, along)
    mass, bias = projected(stated, v, along) if stated.quaternions else _lagrange(stated, q, v, along)
    holders = _holders(stated, jacobian)
    demand = [dag.zero] * len(stated.constraints) if law is None else list(law.demand.values())
    observables = _observables(stated, v)
    flat = [*bias, *drift, *w, *holonomic, *demand, *stated.states.values(), *observables.values()]
    tables = [row for table in (mass, jacobian, holders) for row in table]
    put = {dag.input(name): dag.const(Fraction(value)) for name, value in numbers.items()}
    found = iter(dag.substituted([*flat, *(node for row in tables for node in row)], put))
    h, gamma, w, y, demands, rates, seen = (
        [next(found) for _ in part] for part in (bias, drift, w, holonomic, demand, stated.states, observables)
    )
    mass, jacobian, holders = ([[next(found) for _ in row] for row in table] for table in (mass, jacobian, holders))
    elsewhere = [
        *gamma,
        *w,
        *y,
        *demands,
        *rates,
        *seen,
        *(x for table in (mass, jacobian, holders) for r in table for x in r),
    ]
    require(not reactions_in(elsewhere), "a reaction is used elsewhere than in forces, which is not known here")
    names = stated.constraints
    psi = {f"y_{name}": node for name, node in zip(stated.holonomic, y, strict=True)}
    psi |= {f"w_{name}": node for name, node in zip(names, w, strict=True)}
    if any("_ddot" in name for name in inputs_of([*psi.values(), *h, *gamma])):
        raise Refused("the problem uses accelerations where they cannot be known")
    return {
        "dag": dag,
        "stated": stated,
        "mass": None if stated.variable_masses else mass,
        "bias": h,
        "holders": holders,
        "psi": psi,
        "jacobian": dict(zip(names, jacobian, strict=True)),
        "drift": dict(zip(names, gamma, strict=True)),
        "demand": dict(zip(names, demands, strict=True)),
        "state_rates": dict(zip(stated.states, rates, strict=True)),
        "observables": dict(zip(observables, seen, strict=True)),
    }


def _require_free(stated: Statement, name: str, control: str) -> None:
    nodes = [*stated.holonomic.values(), *stated.nonholonomic.values()]
    require(name not in inputs_of(nodes), f"a constraint depends on {name}, whose rate needs the {control}")


def _lagrange(
    stated: Statement, q: list[Node], v: list[Node], along: Mapping[Node, Node]
) -> tuple[list[list[Node]], list[Node]]:
    dag = stated.dag
    kinetic, potential, dissipation = stated.kinetic, stated.potential, stated.dissipation
    assert kinetic is not None
    assert potential is not None
    assert dissipation is not None
    (momenta,) = dag.partials([kinetic], v)
    (by_place,) = dag.partials([kinetic], q)
    (slope,) = dag.partials([potential], q)
    (loss,) = dag.partials([dissipation], v)
    carried = dag.derivatives(momenta, along)
    forces = [stated.forces.get(name, dag.zero) for name in stated.coordinates]
    bias = [
        dag.sub(dag.sub(dag.sub(dag.add(force, place), fall), lost), carry)
        for force, place, fall, lost, carry in zip(forces, by_place, slope, loss, carried, strict=True)
    ]
    return dag.partials(momenta, v), bias


def _holders(stated: Statement, jacobian: list[list[Node]]) -> list[list[Node]]:
    """E: a column J_iᵀ for each reaction, then the direction of each control."""
    dag = stated.dag
    held = stated.reactions if stated.controls else stated.constraints
    columns = [jacobian[stated.constraints.index(name)] for name in stated.constraints if name in held]
    columns += [[way.get(name, dag.zero) for name in stated.coordinates] for way in stated.controls.values()]
    require(len(columns) == len(stated.constraints), "holders are not as many as constraints")
    return [[column[i] for column in columns] for i in range(len(stated.coordinates))]


def _observables(stated: Statement, v: list[Node]) -> dict[str, Node]:
    """What a region may bound beside states and deviations; energy is v·∂T/∂v − T + P."""
    dag = stated.dag
    if stated.variable_masses:
        return {}
    kinetic, potential = stated.kinetic, stated.potential
    assert kinetic is not None
    assert potential is not None
    (momenta,) = dag.partials([kinetic], v)
    power = dag.sum(dag.mul(a, b) for a, b in zip(v, momenta, strict=True))
    energy = dag.add(dag.sub(power, kinetic), potential)
    return {"kinetic": kinetic, "potential": potential, "energy": energy}
