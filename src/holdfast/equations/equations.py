"""The equations of motion of a problem: readable as formulas, evaluable as numbers, runnable as a field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeGuard

import sympy as sp

from holdfast.common.collection import uncollected
from holdfast.common.memo import Memo
from holdfast.equations.dynamics.demand import Demand
from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.effort import Effort
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.lagrange import Dynamics
from holdfast.equations.dynamics.masses import powers
from holdfast.equations.solving.first_integrals import EasedIntegrals
from holdfast.equations.solving.friction import Friction
from holdfast.equations.solving.large import LARGE
from holdfast.equations.solving.solution import Solution
from holdfast.equations.solving.solver import Reduced
from holdfast.equations.solving.solver_form import Solver
from holdfast.equations.writing.tidied import ShownDynamics, without_idle_gains
from holdfast.errors import BadRequest
from holdfast.graph.display import Display, Statement
from holdfast.graph.elimination.saddle import TableSolver
from holdfast.graph.field import Field, LateNodes
from holdfast.graph.linear_algebra import DefiniteFactor, Rows, factor_symmetric, product, times, transposed
from holdfast.graph.nodes import Node
from holdfast.problem.bodies.start import by_component
from holdfast.problem.laws.linear import Gain, Law, LawForm
from holdfast.problem.letters import open_letters
from holdfast.problem.phases import phase_lines
from holdfast.problem.problem import Problem
from holdfast.problem.quantities import Deviation, DeviationRate, Multiplier, Parameter, State, time
from holdfast.problem.types import ByName, StateLike
from holdfast.problem.vocabulary import by_name

if TYPE_CHECKING:
    from holdfast.equations.values import Values


ENERGIES = (
    "kinetic potential energy power_forces power_dissipation power_held power_correction power_explicit".split()
)  # observables of every system


@dataclass(frozen=True, eq=False)
class Equations:
    """M a = h − m₂ + E μ with J a + γ = Y: everything that follows from a problem.

    Formulas are SymPy (`mass_matrix`, `bias`, `jacobian`, ...), written when first asked for; numbers come from
    `evaluate`; `field` is what the engine runs; `observables` are the named quantities of a result.
    """

    problem: Problem
    form: LawForm
    second_order: bool
    inputs: Inputs
    dynamics: Dynamics
    deviations: Deviations
    holders: Rows
    solver: Solver
    demand_law: Demand
    solution: Solution
    effort: Effort | None = None
    friction: Friction | None = None
    memo: Memo = field(init=False, repr=False, default_factory=Memo)

    # ── names ─────────────────────────────────────────────────────────────────────────────────────

    def __repr__(self) -> str:
        held = f", held: {', '.join(self.constraints)}" if self.constraints else ""
        return f"<{type(self).__name__} of {', '.join(self.coordinates)}{held}; summary() writes them out>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Through their problem: equations are derived anew where they are unpickled, and must be the same there."""
        from holdfast.equations.derive import derived_again

        return derived_again, (self.problem, self.second_order, self.fingerprint)

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.problem.system.coordinates)

    def by_state_name(self, given: Mapping[Any, Any], *, where: str) -> dict[str, Any]:
        """Start values, or columns of them, by the names of states."""
        return by_component(self.problem.system, by_name(given, where=where))

    @cached_property
    def state_names(self) -> tuple[str, ...]:
        """The components of the state vector (q, v, s), then the states of controls that have rates of their own."""
        rates = (f"{name}_dot" for name in self.coordinates)
        return (*self.coordinates, *rates, *self.problem.system.states, *self.deviations.states)

    @property
    def constraints(self) -> tuple[str, ...]:
        return self.problem.program.constraints

    @property
    def deviation_names(self) -> tuple[str, ...]:
        """y_ of the holonomic constraints, then w_ of all, as the observables have them; of constraints above the usual
        degree also the rates between, and w2_, w3_, ... in the place of w_.
        """
        return self.deviations.names

    @property
    def degrees(self) -> dict[str, int]:
        """How often each constraint is differentiated until what holds it appears: the order of its law."""
        program, above = self.problem.program, self.deviations.degrees
        return {name: above.get(name, 2 if name in program.holonomic else 1) for name in program.constraints}

    @property
    def holder_names(self) -> tuple[str, ...]:
        """The components of μ: multipliers of the constraints held by reactions, then the controls.

        Where more controls than programs share the work, one ``effort_`` for each program takes their place.
        """
        program = self.problem.program
        if self.effort is not None:
            return self.effort.names
        return (*(f"lambda_{name}" for name in program.held_by_reaction), *program.controls)

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """Parameters, then gains (``law.stiffness.rod``): the constants of a run, in the order the field takes them."""
        return (*self.inputs.parameters, *self.inputs.gains)

    @cached_property
    def parameter_values(self) -> dict[str, float]:
        """The values stated in the problem and its law; an `OpenLetters` error where some are missing."""
        self.require_numbers()
        return self.stated_values

    @cached_property
    def stated_values(self) -> dict[str, float]:
        """The values stated in the problem and its law, without its letters."""
        stated = (*self.problem.system.parameters.items(), *self.form.gains.items())
        return {name: float(value) for name, value in stated}

    @property
    def phase_lines(self) -> list[str]:
        """The phases of the problem, if it has some: what each keeps, what ends it, and what follows."""
        return phase_lines(self.problem.phases, self.problem.program)

    @property
    def letters(self) -> tuple[str, ...]:
        """Parameters and functions without a value: the equations hold for all of them."""
        return self.problem.open_letters

    def require_numbers(self, given: Iterable[str] = ()) -> None:
        """The one place that asks for letters: all that have neither a value nor one `given` now."""
        known, system = set(given), self.problem.system
        names = [letter.name for letter in system.letters if letter.name not in known]
        if names or system.open_functions:
            raise open_letters(names, system.open_functions)

    def require_unlimited(self, verb: str) -> None:
        """Refuse what speaks of the law as if it always held, where controls have limits, or a model of their own."""
        short = self.problem.program.shortfall
        if short:
            raise BadRequest(
                f"the law holds only {short}, and {verb} speaks of all states",
                where="program",
                fix="leave them out for this, or look at runs",
            )

    def require_unsampled(self, verb: str) -> None:
        """Refuse what would run the plant without its computer: held controls are numbers that only a run knows."""
        if self.problem.program.sampling is not None:
            raise BadRequest(
                f"controls are held between samples, and {verb} knows motions without them only",
                where="program.sampling",
                fix="leave the sampling out for this, or use hf.simulate",
            )

    def require_one_phase(self, verb: str) -> None:
        """Refuse what knows one program only, where a problem has phases."""
        if self.problem.phases:
            raise BadRequest(
                f"{verb} knows one program, and this problem has phases",
                where="phases",
                fix="take the equations of one phase, hf.phase_equations(equations), or use hf.simulate",
            )

    def require_given_forces(self, verb: str) -> None:
        """Refuse what needs forces before their reactions, where friction uses these."""
        if self.friction is not None:
            used = ", ".join(f"lambda_{name}" for name in self.friction.constraints)
            raise BadRequest(
                f"forces use {used}, and {verb} needs forces that are known before what holds the program",
                where="system.forces",
                fix="leave the friction out for this, or look at runs",
            )

    def require_forces(self, verb: str) -> None:
        """Refuse what speaks of forces alone, where controls act through first-order states."""
        moved = next((name for name, row in zip(self.constraints, self.deviations.through, strict=False) if row), None)
        if moved is not None:
            raise BadRequest(
                f"a control acts on {moved!r} through a first-order state, and {verb} speaks of forces alone",
                where="program.controls",
                fix="state what the control drives as a coordinate with its inertia, or look at runs",
            )

    def with_values(self, values: Mapping[Any, Any]) -> Equations:
        """These equations with values for some letters: numbers, and for functions also expressions or `hf.data`."""
        from holdfast.equations.derive import derive

        return derive(self.problem.with_values(values), second_order=self.second_order)

    # ── changing the law ──────────────────────────────────────────────────────────────────────────

    def with_law(self, law: Law) -> Equations:
        """The same equations under another law; free when the law has the same form, derived anew otherwise."""
        problem = self.problem.with_law(law)
        form = problem.program.law_form(problem.names, degrees=self.deviations.degrees)
        if (
            form.demand == self.form.demand
            and form.excess == self.form.excess
            and set(form.gains) == set(self.form.gains)
        ):
            made = replace(self, problem=problem, form=form)
            if len(self.coordinates) <= LARGE:  # gains are inputs of the graph: what is run stays what it is
                vars(made).update(field=self.field, observables=self.observables)
            return made
        from holdfast.equations.derive import derive

        return derive(problem, second_order=self.second_order)

    # ── what is run ───────────────────────────────────────────────────────────────────────────────

    @cached_property
    def held_forces_nodes(self) -> tuple[tuple[Node, ...], ...]:
        """R = E μ on the coordinates, in total and by part."""
        graph = self.inputs.graph
        return tuple(tuple(times(self.holders, mu, graph)) for mu in (self.solution.mu, *self.solution.mu_parts))

    @cached_property
    def controls_nodes(self) -> dict[str, Node]:
        """The controls by name."""
        if self.effort is not None:
            return self.effort.controls(self.solution.mu)
        first, controls = len(self.problem.program.held_by_reaction), self.problem.program.controls
        return dict(zip(controls, self.solution.mu[first:], strict=True))

    @cached_property
    def observables(self) -> dict[str, Node]:
        """What a result shows beside the state: multipliers, controls, held forces, deviations, energies and powers.

        energy = v·∂T/∂v − T + Σ m|r'|²/2 + P,    d(energy)/dt = forces + dissipation + held + explicit

        where the second sum is over the points of variable mass; `power_added`, what their exchange of mass does, is a
        part of `explicit`.
        """
        graph, inputs, dynamics = self.inputs.graph, self.inputs, self.dynamics
        total, _, first, second = self.held_forces_nodes
        named: dict[str, Node] = dict(zip(self.holder_names, self.solution.mu, strict=True)) | self.controls_nodes
        named |= {f"R_{name}": node for name, node in zip(self.coordinates, total, strict=True)}
        named |= dict(zip(self.deviation_names, (*self.deviations.y, *self.deviations.w), strict=True))
        v = inputs.v
        named["kinetic"] = graph.dot(v, dynamics.momenta) - dynamics.kinetic
        for point in dynamics.points:
            named["kinetic"] = named["kinetic"] + point.kinetic
        named["potential"] = dynamics.potential
        named["energy"] = named["kinetic"] + dynamics.potential
        named["power_forces"] = graph.dot(v, dynamics.forces)
        named["power_dissipation"] = -graph.dot(v, dynamics.resistance)
        named["power_held"] = graph.dot(v, total) - graph.dot(v, self.solution.excess_bias)
        correction = [a + b - m for a, b, m in zip(first, second, self.solution.excess_bias, strict=True)]
        named["power_correction"] = graph.dot(v, correction)
        named["power_explicit"] = self._explicit_power()
        if dynamics.points:
            forces, added, moving = powers(dynamics.points, inputs, self.solved_inputs)
            named["power_forces"] = named["power_forces"] + forces
            named["power_explicit"] = named["power_explicit"] + added + moving
            named["power_added"] = added
        return named

    @cached_property
    def observable_names(self) -> tuple[str, ...]:
        """The names of `observables`, which need not be made for that."""
        forces = (*self.holder_names, *self.problem.program.controls, *(f"R_{name}" for name in self.coordinates))
        added = ("power_added",) if self.dynamics.points else ()
        return tuple(dict.fromkeys((*forces, *self.deviation_names, *ENERGIES, *added)))

    @property
    def row_width(self) -> int:
        """Numbers of a row of a result: the state and the observables."""
        return len(self.state_names) + len(self.observable_names)

    @property
    def solved_inputs(self) -> dict[Node, Node]:
        """What takes the place of the inputs that stand for accelerations and controls."""
        inputs, mu = self.inputs, dict(zip(self.holder_names, self.solution.mu, strict=True)) | self.controls_nodes
        found = dict(zip(inputs.a, self.solution.accelerations, strict=True))
        return found | {node: mu[name] for name, node in inputs.controls.items()}

    def _explicit_power(self) -> Node:
        """∂P/∂t − ∂T/∂t, through first-order states too: what moving bases and changing masses do."""
        from holdfast.graph.derivatives import directional

        inputs = self.inputs
        along = {inputs.time: inputs.graph.one} | dict(zip(inputs.s, inputs.state_rates, strict=True))
        for ball in inputs.balls:  # a spin moves nothing explicitly; what brings the length back to 1 does
            for part, turning in zip(ball.quaternion, ball.turning(inputs.v), strict=True):
                along[part] = along[part] - turning
        potential, kinetic = directional([self.dynamics.potential, self.dynamics.kinetic], along)
        bodies = self.dynamics.bodies
        if bodies is None:
            return potential - kinetic
        (changing,) = directional([bodies.kinetic], along)  # what leaves a body takes its energy with it, at rest on it
        return potential - kinetic + 2 * changing

    @cached_property
    def field(self) -> Field:
        """dx/dt = F(x, p, t) with its watched pivots and its observables, in the order of `observables`."""
        with uncollected(len(self.coordinates) > LARGE):
            return self._field()

    def _field(self) -> Field:
        inputs = self.inputs
        pivots = (*self.solver.pivots, *(self.friction.pivots if self.friction is not None else ()))
        masses = (point.mass for point in self.dynamics.points if point.varies)
        pairs = (*((pivot.value, pivot.scale) for pivot in pivots), *((mass, mass) for mass in masses))
        watched = tuple(dict.fromkeys(pairs))  # equal masses have equal pivots, of which one is watched
        return Field(
            time=inputs.time,
            state=(*inputs.q, *inputs.v, *inputs.s),
            parameters=(*inputs.parameters.values(), *inputs.gains.values()),
            rates=(*inputs.v, *self.solution.accelerations, *inputs.state_rates),
            pivots=tuple(value for value, _ in watched),
            scales=tuple(scale for _, scale in watched),
            observables=self._seen(),
            positions=len(inputs.q),
        )

    def _seen(self) -> Sequence[Node]:
        """The observables; those of a large system when they are asked for, the same for every law of one form."""
        if len(self.coordinates) <= LARGE:
            return tuple(self.observables.values())
        key = (Equations._seen, self.solution, self.dynamics)
        return self.inputs.memo.once(key, lambda: LateNodes(self._observable_nodes))

    def _observable_nodes(self) -> Iterable[Node]:
        with uncollected():
            return self.observables.values()

    @property
    def fingerprint(self) -> str:
        """A hash of what is computed (of a large system, of what is run); names, values of parameters and gains do not
        enter.
        """
        return self.field.fingerprint

    # ── numbers ───────────────────────────────────────────────────────────────────────────────────

    def evaluate(
        self,
        state: StateLike | None = None,
        time: float | None = None,
        *,
        start: ByName | None = None,
        parameters: ByName | None = None,
        law: Law | None = None,
    ) -> Values:
        """All quantities as numbers at one state (a mapping by symbol or name, or the array q, v, s) and time.

        What a mapping does not give is taken from the start: from `start=` if it is there, else from the problem's own.
        A state at which accelerations or held forces are not defined is an error that says why.
        """
        from holdfast.equations.values import values_at

        if start is not None and (state is None or isinstance(state, Mapping)):
            state = by_name(start, where="start") | by_name(state or {}, where="state")
        values = values_at(self if law is None else self.with_law(law), state, time, parameters or {})
        values.require_defined()
        return values

    # ── formulas ──────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def display(self) -> Display:
        system, program = self.problem.system, self.problem.program
        symbols: dict[str, sp.Symbol] = {"t": time}
        for c in system.coordinates:
            symbols |= {c.name: c, c.rate.name: c.rate}
        symbols |= {name: State(name) for name in system.states}
        symbols |= {name: Parameter(name) for name in system.parameters}
        symbols |= {letter.name: letter for letter in system.letters}
        symbols |= {name: Gain(name) for name in self.form.gains}
        symbols |= {name: State(name) for name in self.deviations.states}
        symbols |= {name: Multiplier(name) for name in self.inputs.multipliers}
        symbols |= {f"y_{name}": Deviation(name) for name in program.holonomic}
        symbols |= {name: DeviationRate(name) for name in self.deviation_names if not name.startswith("y_")}
        return Display(self.inputs.graph, symbols)

    def _matrix(self, rows: Rows, columns: int) -> sp.Matrix:
        tidy = self.display.tidy
        return sp.Matrix(len(rows), columns, lambda i, j: tidy(rows[i][j]) if j in rows[i] else 0)

    def _column(self, nodes: Sequence[Node]) -> sp.Matrix:
        return sp.Matrix(len(nodes), 1, [self.display.tidy(node) for node in nodes])

    @cached_property
    def _dynamics_shown(self) -> ShownDynamics:
        return ShownDynamics(self)

    @cached_property
    def mass_matrix(self) -> sp.Matrix:
        """M = ∂²T/∂v²."""
        return self._dynamics_shown.mass_matrix

    @cached_property
    def bias(self) -> sp.Matrix:
        """h of M a = h + held forces."""
        return self._dynamics_shown.bias()

    @cached_property
    def excess_bias(self) -> sp.Matrix:
        """m₂, of second order in the deviations (written y and w)."""
        bias = self.demand_law.excess_bias
        return self._column(bias) if bias is not None and self.second_order else sp.zeros(len(self.coordinates), 1)

    @cached_property
    def deviation(self) -> sp.Matrix:
        """y, the holonomic functions."""
        return self._column(self.deviations.y)

    @cached_property
    def deviation_rate(self) -> sp.Matrix:
        """w: the rates of y, then the nonholonomic functions."""
        return self._column(self.deviations.w)

    @cached_property
    def jacobian(self) -> sp.Matrix:
        """J = ∂w/∂v."""
        return self._matrix(self.deviations.jacobian, len(self.coordinates))

    @cached_property
    def through(self) -> sp.Matrix:
        """D of dw/dt = J a + γ + D μ: what controls do through first-order states, as SymPy."""
        return self._matrix(self.deviations.through_rows, len(self.deviations.w))

    @cached_property
    def drift_term(self) -> sp.Matrix:
        """γ of dw/dt = J a + γ."""
        return self._column(self.deviations.drift)

    @cached_property
    def holder_matrix(self) -> sp.Matrix:
        """E of R = E μ."""
        return self._matrix(self.holders, len(self.constraints))

    @cached_property
    def authority(self) -> sp.Matrix:
        """A = J M⁻¹ E (S where all holders are reactions); for the saddle form it does not exist."""
        rows = self.authority_nodes
        if rows is None or not all(self.display.readable(node) for row in rows for node in row.values()):
            raise BadRequest(
                f"A = J M⁻¹ E is not written out here: {'M is singular' if rows is None else 'it is too long'}",
                fix="equations.evaluate(state).authority gives its numbers",
            )
        return self._matrix(rows, len(self.constraints))

    @property
    def authority_nodes(self) -> Rows | None:
        """A as nodes, where the mass matrix has an inverse."""
        if _has_mass_factor(self.solver):
            return self.solver.authority
        factor = self.mass_factor
        if factor is None:
            return None
        zero, n = self.inputs.graph.zero, len(self.coordinates)
        columns = transposed(self.holders, len(self.constraints))
        solved = [factor.solve([column.get(i, zero) for i in range(n)]) for column in columns]
        response = transposed([{i: x for i, x in enumerate(column) if not x.is_zero} for column in solved], n)
        return product(self.deviations.jacobian, response)

    @property
    def mass_factor(self) -> DefiniteFactor | None:
        """M factored, where it is symmetric and definite."""
        if _has_mass_factor(self.solver):
            return self.solver.mass
        if self.solver.form != "inverse" or not self.dynamics.symmetric:
            return None
        if any(i not in row for i, row in enumerate(self.dynamics.mass)):
            return None
        return factor_symmetric(self.dynamics.mass, self.inputs.graph)

    @cached_property
    def demand(self) -> sp.Matrix:
        """Y in the deviations y and w, gains by name."""
        demand = self.demand_law.value if self.second_order else self.demand_law.linear
        return self._column(without_idle_gains(self, demand))

    @cached_property
    def deviation_matrix(self) -> sp.Matrix:
        """H of d(y, w)/dt = H (y, w), on the program: [[S], [K, B]], where S picks the rate of each y."""
        m, r = len(self.deviations.y), len(self.deviations.w)
        rows = [
            dict(zip(row, without_idle_gains(self, [*row.values()]), strict=True)) for row in self.demand_law.matrix
        ]
        lower = self._matrix(rows, m + r)
        upper = sp.zeros(m, m + r)
        for i, place in enumerate(self.deviations.follows):
            upper[i, place] = 1
        return upper.col_join(lower)

    @cached_property
    def energy(self) -> sp.Expr:
        """v·∂T/∂v − T + P."""
        return self._dynamics_shown.energy()

    @cached_property
    def inverse_dynamics(self) -> dict[str, sp.Expr]:
        """Multipliers and controls in closed form, where there is a short one; empty otherwise.

        With as many constraints as coordinates the accelerations are fixed by the demand alone, a = J⁻¹(Y − γ), and μ
        = E⁻¹(M a − h).
        """
        from holdfast.equations.writing.closed_form import closed_form

        return closed_form(self)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """Holders' forces and accelerations as straight-line computation, shared parts named."""
        names = (*self.holder_names, *(f"{name}_ddot" for name in self.coordinates))
        wanted = without_idle_gains(self, (*self.solution.mu, *self.solution.accelerations))
        return self.display.statements(dict(zip(names, wanted, strict=True)))

    def latex(self) -> str:
        """The equations as LaTeX, ready for a paper."""
        from holdfast.equations.writing.text import latex

        return latex(self)

    def summary(self) -> str:
        """The equations as text for a terminal."""
        from holdfast.equations.writing.text import summary

        return summary(self)

    def to_dict(self) -> dict[str, Any]:
        """The equations as plain data: formulas as text, statements, gains."""
        from holdfast.equations.writing.text import as_data

        return as_data(self)


def _has_mass_factor(solver: Solver) -> TypeGuard[EasedIntegrals | TableSolver | Reduced]:
    """Whether the masses themselves were factored on the way."""
    return isinstance(solver, EasedIntegrals | TableSolver) or (isinstance(solver, Reduced) and not solver.weights)
