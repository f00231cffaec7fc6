"""Whether a tube may hold other speeds too (docs/theory/8-tube.md, 8.15), and why not, by name.

    q ∈ q(s) ± half,     v ∈ (1 + speeds·η) v(s) ± half,     s along the run,  |η| ≤ 1,  at whatever time

With one degree of freedom all runs pass the same positions, and differ by their speeds; without time in the equations
it does not matter when.
"""

from __future__ import annotations

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.nodes import ancestors
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.schemes.kinds.scheme import Scheme

USUAL = 0.05  # what a note advises: the energy that the default region leaves to a run, to one side


def require_speeds(equations: Equations, scheme: Scheme, ranged: tuple[str, ...]) -> None:
    """Refuse what no tube holds other speeds of; `ranged` are parameters of which a region gives a range."""
    why = _of_steps(scheme) or why_no_speeds(equations)
    if ranged:
        why = f"{', '.join(ranged)} has a range, and a tube has one value of it"
    if why:
        raise BadRequest(f"a tube with other speeds is not possible: {why}", where="speeds", fix="leave speeds out")


def _of_steps(scheme: Scheme) -> str:
    if scheme.adaptive:
        return f"it is for one step, and {scheme.name} changes its own"
    explicit = isinstance(scheme, RungeKutta) and scheme.explicit
    return "" if explicit else f"{scheme.name} is no explicit Runge-Kutta scheme"


def why_no_speeds(equations: Equations) -> str:
    """What stands against it in the problem itself; nothing where it may be asked for."""
    program, system = equations.problem.program, equations.problem.system
    more = [*equations.state_names[2 * len(equations.coordinates) :]]
    free = len(equations.coordinates) - len(program.constraints)
    if equations.solver.form in ("eased", "redundant"):
        return "steps are followed in the order of time here, at this run's own"
    if system.noise:
        return "there is noise"
    if equations.friction is not None:
        return "friction uses its reactions"
    if more:
        return f"{more[0]} is a state beside positions and their rates"
    if len(program.holonomic) != len(program.constraints):
        return "the program asks for more than positions"
    if free < 1:
        return "the program leaves no freedom to move otherwise"
    if free > 1:
        return f"there are {free} degrees of freedom, and other runs pass other positions"
    if _timed(equations):
        return "the equations depend on time"
    return ""


def _timed(equations: Equations) -> bool:
    """Whether anything that moves the states, or the deviations, depends on time: data that are read at t do, too."""
    solution, deviations = equations.solution, equations.deviations
    rows = (*equations.dynamics.mass, *equations.holders, *deviations.jacobian, *deviations.through)
    nodes = [*equations.field.rates, *deviations.y, *deviations.w, *(node for row in rows for node in row.values())]
    nodes += [*solution.bias, *solution.excess_bias, *solution.demand, *solution.drift]
    return any(node is equations.inputs.time for node in ancestors(nodes))
