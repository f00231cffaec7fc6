"""`theorems`: Theorems 1 to 5, A and B on one run with Euler's scheme, each with its answer and the reason.

Constants of V are its own where V and the law have constant coefficients. Where they vary, those along the run count:
l₁ = min ½λ_min(G), l₂ = max ½λ_max(G), p = min −λ_max of the pencil (2G', G) over its rows, so that every answer is
*checked* along this run and says nothing of another. The defect of Theorem B is sampled: *estimated*, never proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.common.arguments import clear_arguments
from holdfast.common.rounded import rounded_up
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.results.trajectory import Trajectory
from holdfast.stability.linear.norms import pencil_max
from holdfast.stability.proof.omega import region_of
from holdfast.stability.theory.estimated_defect import EstimatedDefect, estimated_defect
from holdfast.stability.theory.lyapunov import LyapunovFunction, LyapunovSeries
from holdfast.stability.theory.lyapunov_study import LyapunovStudy, as_expression, constant_function, is_constant
from holdfast.stability.theory.region import stated_region
from holdfast.stability.theory.state_function import StateFunction
from holdfast.stability.theory.theorems import NEVER, Answer, Record, all_theorems, theorem_b


@dataclass(frozen=True, eq=False)
class TheoremAnswers:
    """What each theorem says of one run, by its name: "1" to "5", "A", and "B" where V has constant coefficients."""

    epsilon: float
    answers: tuple[Answer, ...]
    series: LyapunovSeries

    def __getitem__(self, name: str | int) -> Answer:
        for answer in self.answers:
            if answer.theorem == str(name):
                return answer
        known = ", ".join(answer.theorem for answer in self.answers)
        raise BadRequest(f"there is no theorem {name!r} here", fix=f"known: {known}")

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __bool__(self) -> bool:
        """Whether a theorem that speaks of this run (1 to 5, A) holds: ‖z‖ ≤ ε throughout."""
        return any(answer for answer in self.answers if answer.label == "checked")

    def summary(self) -> str:
        largest, most = rounded_up(float(self.series.norms.max()), 6), rounded_up(self.epsilon, 6)
        lines = [f"For |z| <= epsilon = {most} at every step of this run (largest {largest}):"]
        for answer in self.answers:
            lines.append("  " + str(answer).replace(NEVER, "(*)"))
        if any(NEVER in answer.why for answer in self.answers):
            lines.append(f"  (*) {NEVER}")
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "largest": float(self.series.norms.max()),
            "answers": [
                {"theorem": a.theorem, "word": a.word, "label": a.label, "why": a.why, "numbers": dict(a.numbers)}
                for a in self.answers
            ],
        }


@clear_arguments
def theorems(
    run: Trajectory,
    V: Any = None,
    epsilon: float | None = None,
    *,
    alpha: float = 0.5,
    region: Mapping[Any, tuple[float, float]] | None = None,
) -> TheoremAnswers:
    """Which of Theorems 1 to 5, A and B keep ‖z‖ ≤ ε along a run with Euler's scheme, and why the others do not.

    V is an expression, a matrix or an `hf.lyapunov` study; V and ε are the problem's [lyapunov] where not given. α is
    that of Theorems 1, 2, 4 and 5; the others take the least that serves. The run must keep every step. `region` is
    where the defect of Theorem B is sampled: the run's own ranges unless given.
    """
    function = _function(run, V)
    function.equations.require_unlimited("theorems")
    table = function.equations.problem.lyapunov
    tolerance = table.get("epsilon") if epsilon is None else epsilon
    if tolerance is None:
        raise BadRequest("no epsilon given", where="epsilon", fix="give epsilon=, the size that |z| shall not exceed")
    if run.scheme != "euler":
        raise BadRequest(
            f"the theorems speak of Euler's scheme, not of {run.scheme}", where="scheme", fix="use hf.certify"
        )
    series, constant = function.along(run), _constant(function, run)
    record = Record.of_series(series, constant) if constant is not None else _varying(function, run, series)
    answers = all_theorems(record, float(tolerance), alpha)
    if constant is not None:
        found = _sampled_defect(function, constant, run, float(tolerance), region)
        start = series.deviations[0]
        b = theorem_b(constant, series.step, float(tolerance), found.defect, start) if found else None
        answers = (*answers, *([b] if b else []))
    return TheoremAnswers(float(tolerance), answers, series)


def _function(run: Trajectory, V: Any) -> StateFunction:
    if isinstance(V, LyapunovStudy):
        return V.function_of_state
    if not isinstance(run, Trajectory) or run.problem is None:
        raise BadRequest("theorems() takes a run that knows its problem", where="run", fix="hf.simulate gives one")
    equations = run.equations or derive(run.problem)
    stated = equations.problem.lyapunov.get("function") if V is None else V
    if stated is None:
        raise BadRequest("there is no V", where="V", fix='give one, or state [lyapunov] function = "..."')
    return StateFunction(equations, as_expression(equations, stated))


def _constant(function: StateFunction, run: Trajectory) -> LyapunovFunction | None:
    return constant_function(function, run.parameters) if is_constant(function, run.parameters) else None


def _varying(function: StateFunction, run: Trajectory, series: LyapunovSeries) -> Record:
    """The record of a V or a law that varies, with the constants that hold along this run."""
    G, slopes = function.forms_along(run)
    sizes = np.linalg.eigvalsh((G + np.swapaxes(G, 1, 2)) / 2)
    if not sizes[:, 0].min() > 0:
        time = float(run.times[int(sizes[:, 0].argmin())])
        raise BadRequest(f"V is not positive definite at t = {time:.6g} of this run", where="V", fix="choose another V")
    return Record(
        step=series.step,
        values=series.values,
        derivatives=series.derivatives,
        remainders=series.remainders,
        norms=series.norms,
        l1=float(sizes[:, 0].min()) / 2,
        l2=float(sizes[:, -1].max()) / 2,
        rate=min(-pencil_max(2 * slope, form) for slope, form in zip(slopes, G, strict=True)),
        l_prime=-float(np.linalg.eigvalsh(slopes)[:, -1].max()),
        positions=sum(name.startswith("y_") for name in function.names),
    )


def _sampled_defect(
    function: StateFunction, constant: LyapunovFunction, run: Trajectory, tolerance: float, region: Any
) -> EstimatedDefect | None:
    """D over states near the run; nothing where none of them has the deviations that ε allows."""
    equations: Equations = function.equations
    asked = {} if region is None else stated_region(equations, region)
    domain = {name: ends for name, ends in region_of(asked, run, len(equations.coordinates)).items()}
    try:
        return estimated_defect(
            equations, constant, float(run.step or 0.0), tolerance,
            domain=domain, constraints=function.constraints, parameters=run.parameters,
        )  # fmt: skip
    except BadRequest:
        return None
