"""What came out of a run, in the user's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from holdfast.common.frozen import Frozen
from holdfast.common.memo import Memo
from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadRequest, HoldfastError
from holdfast.problem.problem import Problem
from holdfast.problem.vocabulary import name_of
from holdfast.results.judgement.finding import Finding, Judgement
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.start.start import Start

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.equations.equations import Equations
    from holdfast.results.runs.accuracy.state_error import StateError

Array = np.ndarray
UNEVEN = 100  # neighbouring intervals that differ by more than this factor share no parabola


@dataclass(frozen=True, eq=False, kw_only=True)
class Trajectory:
    """One run: times, the state, and everything observed beside it, by name or symbol.

    ``trajectory["x"]``, ``trajectory[x.rate]``, ``trajectory["lambda_rod"]``, ``trajectory["F"]``,
    ``trajectory["y_rod"]``, ``trajectory["R_x"]``, ``trajectory["energy"]``. The fields of SciPy's results are there
    too: `t`, `y` (the state array, one row per component), `success`, `message`, `nfev`, and `sol` between the rows.
    """

    problem: Problem | None
    times: Array
    columns: Mapping[str, Array]  # the state first, then the observables
    state_names: tuple[str, ...]
    judged: Callable[[], Judgement]  # asked once, when somebody wants to know how the run ended
    start: Start
    scheme: str
    step: float | None = None
    tolerance: float | None = None
    parameters: Mapping[str, float] = field(default_factory=Frozen)
    steps: int = 0
    nfev: int = 0
    rejected: int = 0
    every: int = 1
    events: Mapping[str, Array] = field(default_factory=Frozen)
    note: str = ""
    projected: bool = False  # moved back onto the program after each step: not the scheme's own motion
    interpolant: Callable[[Array], Array] | None = None
    finer: Callable[[int], Trajectory | None] | None = None  # the same run, its step halved so many times
    equations: Equations | None = None
    second_order: bool = True  # as `derive` took it
    scheme_fingerprint: str = ""  # of the scheme's own numbers, which a name does not tell
    picked: bool = False  # its rows are those at given times, which need not reach its end

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> Trajectory:
        """A run of all its fields by name, put in place at once: one by one, twenty take longer than a short run."""
        made = object.__new__(cls)
        made.__dict__.update(fields)
        return made

    # ── by name ───────────────────────────────────────────────────────────────────────────────────

    def __getitem__(self, name: Any) -> Array:
        """A column by name or symbol, or any expression in them (see `at`)."""
        _refuse_number(name, "run[...]")
        key = name_of(name)
        if key in self.columns:
            return self.columns[key]
        if key in self.output_names:
            return self.at(self.problem.output[key])  # type: ignore[union-attr]
        if (found := self._computed_column(key)) is not None:
            return found
        if isinstance(name, sp.Expr) and not name.is_Symbol:
            return self.at(name)
        if not key.isidentifier() or key in self._further_names:
            return self.at(key)
        known = ", ".join(list(self.columns)[:40])
        raise BadRequest(f"the run has no quantity {key!r}", fix=did_you_mean(key, self.columns, f"known: {known}"))

    def at(self, expression: Any) -> Array:
        """An expression, or its text as in problem files, at each row.

        It may contain states, rates, accelerations (``x_ddot``), definitions, points (``tip.x``, ``ddt(tip)``),
        parameters, multipliers, controls, deviations, energies and time.
        """
        from holdfast.results.constants import constants_along
        from holdfast.results.quantities import along

        _refuse_number(expression, "run.at(...)")
        equations = self._own_equations
        if equations is None:
            raise BadRequest("this run has no equations to compute it from", fix="make the run again")
        key = expression if isinstance(expression, str) else sp.srepr(sp.sympify(expression))
        states = [self.columns[name] for name in equations.state_names]
        constants = constants_along(equations, self.parameters, self.columns)
        return self._memo.once(("at", key), lambda: _fixed(along(equations, expression, self.times, states, constants)))

    def reduce(self, text: str) -> float:
        """One number for a quantity: ``max(abs(lambda_rod))``, ``rms(w_rod)``, ``final(x)``, ``first(tip.y)``, ..."""
        from holdfast.results.reductions import reduced

        return float(reduced(text, self.times, self.__getitem__, np.ones(len(self.times), dtype=bool)))

    @property
    def output_names(self) -> tuple[str, ...]:
        """The quantities that the problem's `output` asks for."""
        return () if self.problem is None else tuple(name for name in self.problem.output if name not in self.columns)

    @property
    def table(self) -> dict[str, Array]:
        """All columns by name, with those that the problem's `output` asks for."""
        return {**self.columns, **{name: self[name] for name in self.output_names}}

    @cached_property
    def _further_names(self) -> frozenset[str]:
        """Names that are no columns and can be computed: definitions, parameters, accelerations."""
        if self.problem is None:
            return frozenset()
        system = self.problem.system
        accelerations = (f"{c.name}_ddot" for c in system.coordinates)
        from holdfast.equations.dynamics.bodies.reactions import reaction_names

        passed = reaction_names(system)
        return frozenset(("t", *system.definitions, *system.parameters, *system.functions, *accelerations, *passed))

    def __contains__(self, name: object) -> bool:
        key = name_of(name)
        known = key in self.columns or key in self.output_names or key in self._further_names
        return known or self._computed_column(key) is not None

    def _computed_column(self, name: str) -> Array | None:
        """What is not kept but can be computed: ``lambda_rod[1]``, ``deviation_norm``; once for each name."""
        from holdfast.results.computed import computed

        return self._memo.once(name, lambda: computed(self, name, lambda: self._own_equations))

    @cached_property
    def _memo(self) -> Memo:
        return Memo()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def __iter__(self) -> Iterator[str]:
        """Over the names of its columns."""
        return iter(self.columns)

    # ── what SciPy users expect ───────────────────────────────────────────────────────────────────

    @property
    def t(self) -> Array:
        return self.times

    @cached_property
    def y(self) -> Array:
        """The state, one row per component."""
        return _fixed(np.array([self.columns[name] for name in self.state_names]))

    @cached_property
    def _judgement(self) -> Judgement:
        return self.judged()

    @property
    def outcome(self) -> Outcome:
        """How the run ended, in words; judged when first asked for."""
        return self._judgement.outcome

    @property
    def against(self) -> tuple[Finding, ...]:
        """What the run fails by."""
        return self._judgement.findings

    @property
    def success(self) -> bool:
        return self.outcome.success

    @property
    def message(self) -> str:
        return " ".join([self.outcome.value, *(found.text for found in self.against), self.note]).strip()

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Everything found against the run: what it fails by, then doubts (constraints that become dependent)."""
        from holdfast.results.judgement.along import condition_found
        from holdfast.results.judgement.limits import limits_found
        from holdfast.results.judgement.tracking import tracking_found

        equations = self._own_equations
        if equations is None:
            return self.against
        states = np.array([self.columns[name] for name in self.state_names]).T
        doubt = condition_found(equations, self.times, states, dict(self.parameters), self.interpolant)
        return (*self.against, *(() if doubt is None else (doubt,)), *limits_found(self), *tracking_found(self))

    @cached_property
    def state_error(self) -> StateError:
        """The error of the states, estimated by the same run with a halved step, or with a tighter tolerance."""
        from holdfast.results.runs.accuracy.refinement import refined_error

        return refined_error(self, self._own_equations)

    @property
    def equations_or_derived(self) -> Equations | None:
        """The equations of the run, derived anew where it was loaded; none where that cannot be done."""
        return self._own_equations

    @cached_property
    def _own_equations(self) -> Equations | None:
        """The equations of the run; of one that was loaded, derived anew."""
        if self.equations is not None or self.problem is None:
            return self.equations
        from holdfast.equations.derive import derive

        try:
            return derive(self.problem, second_order=self.second_order)
        except HoldfastError:
            return None

    def sol(self, times: Any) -> Array:
        """The state at any times within the run, by the scheme's own interpolant.

        A thinned or loaded run knows no more than its rows, and is not interpolated between them.
        """
        wanted = np.atleast_1d(np.asarray(times, dtype=float))
        if not (np.isfinite(wanted).all() and ((wanted >= self.times[0]) & (wanted <= self.times[-1])).all()):
            raise BadRequest(
                f"the run covers {self.times[0]:g} to {self.times[-1]:g}", where="sol(t)", fix="ask for times within it"
            )
        result = self._rows_at(wanted) if self.interpolant is None else self.interpolant(wanted)
        return result[:, 0] if np.ndim(times) == 0 else result

    def _rows_at(self, wanted: Array) -> Array:
        """The state at kept rows only."""
        rows = np.searchsorted(self.times, wanted)
        between = wanted[self.times[rows] != wanted]
        if len(between):
            kept = (
                f"only every {self.every}th step was kept"
                if self.every > 1
                else "it was loaded, or made at given times"
            )
            raise BadRequest(
                f"the run has no row at t = {between[0]:.10g}, and is not interpolated: {kept}",
                where="sol(t)",
                fix="run it again with every=1 and without at=, or ask for these times with at=",
            )
        return self.y[:, rows]

    def continued(self, duration: float | None = None, **options: Any) -> Trajectory:
        """The run carried on from its last row, joined to it: by its own scheme, step and parameters, for as long again
        unless a `duration` is given. `options` are those of `simulate`; with other ``equations=`` it goes on by those.
        """
        from holdfast.results.runs.continuation import continued

        return continued(self, duration, options)

    # ── deviations and energy ─────────────────────────────────────────────────────────────────────

    def _stack(self, start: str) -> Array:
        names = [name for name in self.columns if name.startswith(start) and name not in self.state_names]
        chosen = [self.columns[name] for name in names]  # a coordinate y has the rate y_dot, which is no deviation
        return _fixed(np.array(chosen).T if chosen else np.zeros((len(self.times), 0)))

    @cached_property
    def deviation(self) -> Array:
        """y, one column per holonomic constraint."""
        return self._stack("y_")

    @cached_property
    def deviation_rate(self) -> Array:
        """w, one column per constraint."""
        return self._stack("w_")

    @property
    def deviation_norm(self) -> Array:
        """‖z‖ = √(Σ y² + Σ w²) at each row: the deviation as the papers measure it, whatever its units."""
        return self["deviation_norm"]

    @property
    def initial_deviation(self) -> Mapping[str, float]:
        """y_ and w_ by name at the start."""
        return self.start.deviation

    @property
    def energy(self) -> Array:
        return self["energy"]

    @cached_property
    def energy_balance(self) -> EnergyBalance:
        """Where the energy went: work by cause, integrated over the rows kept."""
        return EnergyBalance.of(self)

    @property
    def energy_change(self) -> float:
        """The largest change of energy along the run."""
        return float(np.nanmax(np.abs(self.energy_balance.change)))

    # ── leaving ───────────────────────────────────────────────────────────────────────────────────

    def save(self, path: str | Path) -> tuple[Path, ...]:
        """Write the run to ``.npz``, ``.nc`` (with the xarray extra) or ``.csv``; nothing is half-written.

        The files that were written: of a joined run one for each part, ``run-1.npz`` and so on, unless it is ``.csv``.
        """
        from holdfast.results.store.runs import save

        return save(self, path)

    @staticmethod
    def load(path: str | Path) -> Trajectory:
        """A run that was saved as ``.npz`` or ``.nc``."""
        from holdfast.results.store.runs import load

        return load(path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Through the text of a run file, columns as arrays; between its rows a run is not interpolated there."""
        from holdfast.results.store.run_file import about, unpickled

        return unpickled, (self.problem, about(self, None), self.times, dict(self.columns), self.parameters)

    def to_pandas(self) -> Any:
        """A data frame with the times as index and a column per quantity."""
        from holdfast.results.store.runs import to_pandas

        return to_pandas(self)

    def to_csv(self, path: str | Path) -> None:
        """Write all columns as a table, with those that the problem's `output` asks for."""
        _require_csv(path)
        self.save(path)

    def to_xarray(self) -> Any:
        """A data set with the coordinate `time`."""
        from holdfast.results.store.runs import to_xarray

        return to_xarray(self)

    def plot(self, *names: Any) -> Any:
        """Draw quantities over time (the coordinates and the deviations if none are named); returns the axes."""
        from holdfast.results.plot import plot

        return plot(self, names)

    def plot_deviation(self) -> Any:
        """Draw the size of each deviation on a logarithmic scale; returns the axes."""
        from holdfast.results.plot import plot_deviation

        return plot_deviation(self)

    def phase(self, across: Any, up: Any = None) -> Any:
        """Draw one quantity against another (a coordinate against its rate if one is named); returns the axes."""
        from holdfast.results.plot import phase

        return phase(self, across, up)

    def animate(self, path: str | Path, *, frames: int = 150, seconds: float | None = None) -> Path:
        """Write a moving picture of the problem's points and links as a GIF; `seconds` is how long one round lasts."""
        from holdfast.results.animate import animate

        return animate(self, path, frames=frames, seconds=seconds)

    def __repr__(self) -> str:
        reached = f" to t = {self.times[-1]:g}" if len(self.times) else ""
        return f"<Trajectory {self.scheme}, {len(self.times)} rows{reached}: {self.message}>"


@dataclass(frozen=True, eq=False)
class EnergyBalance:
    """energy(t) − energy(0) = work of forces + dissipation + held forces + explicit + a residual.

    `explicit` is what comes through time itself, first-order states and changing masses.
    `correction` is the part of `held` that drives deviations away: what the law pumps in or takes out.
    """

    change: Array
    forces: Array
    dissipation: Array
    held: Array
    explicit: Array
    correction: Array
    quadrature: Array  # what summing over the rows may have missed: an estimate, from every second row

    def __repr__(self) -> str:
        names = ("change", "forces", "dissipation", "held", "explicit", "correction", "residual")
        ends = ", ".join(f"{name} = {getattr(self, name)[-1]:.6g}" for name in names)
        return f"<EnergyBalance over the whole run: {ends}>"

    @property
    def residual(self) -> Array:
        """What no cause explains: the error of the run and of the quadrature over its rows (see `quadrature`)."""
        return self.change - self.forces - self.dissipation - self.held - self.explicit

    @staticmethod
    def of(trajectory: Trajectory) -> EnergyBalance:
        causes = ("forces", "dissipation", "held", "explicit", "correction")
        with np.errstate(all="ignore"):
            work = {cause: _fixed(cumulative(trajectory.times, trajectory[f"power_{cause}"])) for cause in causes}
            total = sum(trajectory[f"power_{cause}"] for cause in causes[:-1])
            error = _quadrature_error(trajectory.times, np.asarray(total))
            return EnergyBalance(
                change=_fixed(trajectory.energy - trajectory.energy[0]), quadrature=_fixed(error), **work
            )


def _require_csv(path: str | Path) -> None:
    if not str(path).endswith(".csv"):
        raise BadRequest(f"{str(path)!r} is no name of a CSV file", where="to_csv", fix="end it in .csv")


def _refuse_number(asked: Any, where: str) -> None:
    """A number is no quantity; rows are those of its columns."""
    if isinstance(asked, (int, float, np.number)):
        raise BadRequest(
            f"{asked} is no quantity of a run",
            where=where,
            fix='name one: run["x"][0] is its first row, run.sol(t) the state at a time',
        )


def cumulative(times: Array, values: Array) -> Array:
    """The integral from the first time to each time, of third order in the spacing if there are three rows or more.

    Parabolas through three rows, but where neighbouring intervals differ by more than `UNEVEN` (rows that lie a
    rounding apart, where the order of elimination changed, or beside an event): there a parabola would extrapolate,
    and the trapezoid is taken.
    """
    steps = np.diff(times)
    flat = steps * (values[1:] + values[:-1]) / 2
    if len(times) < 3:
        return np.concatenate([[0.0], np.cumsum(flat)])
    curved = np.zeros((2, len(steps)))
    with np.errstate(all="ignore"):
        first, second = steps[:-1], steps[1:]
        even = (first <= UNEVEN * second) & (second <= UNEVEN * first)
        bend = ((values[2:] - values[1:-1]) / second - (values[1:-1] - values[:-2]) / first) / (first + second)
    for side, width in ((0, first), (1, second)):  # each interval from the parabola to its right, and to its left
        curved[side, side : len(steps) - 1 + side] = np.where(even, -bend * width**3 / 6, np.nan)
    curved[0, -1], curved[1, 0] = np.nan, np.nan
    both = np.where(np.isnan(curved), 0.0, curved).sum(axis=0) / np.maximum(1, (~np.isnan(curved)).sum(axis=0))
    return np.concatenate([[0.0], np.cumsum(flat + both)])


def _quadrature_error(times: Array, values: Array) -> Array:
    """How far the integral over every second row is from that over all, up to each time."""
    if len(times) < 5:
        return np.abs(cumulative(times, values))
    fine = cumulative(times, values)
    coarse = np.interp(times, times[::2], np.abs(cumulative(times[::2], values[::2]) - fine[::2]))
    return np.maximum.accumulate(coarse)


def _fixed(array: Array) -> Array:
    array.flags.writeable = False
    return array
