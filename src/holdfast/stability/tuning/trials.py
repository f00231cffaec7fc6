"""Measuring laws on the user's own model: three numbers for each, against a tight reference run.

    deviation       max |y|/sigma (|w|/sigma for nonholonomic constraints) over the rows kept
    state error     max |x - x_ref|/(size of x_ref), component by component
    energy error    max |E - E_ref|, of the state moved onto the program: off it the energy is that of another motion

sigma is what the constraint's function would change by if every coordinate (rate) moved by its own largest value along
the reference, so that constraints in different units are judged alike. The reference does not depend on the law: on
the program every law is silent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.engine.ensemble import run_ensemble, run_ensemble_adaptive
from holdfast.engine.kernel import Kernel, compiled
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.equations.solving.large import LARGE
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest
from holdfast.graph.derivatives import jacobian
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node
from holdfast.problem.laws.linear import Law, SpringDamper
from holdfast.results.judgement.judgement import FAR_OFF, grown
from holdfast.results.runs.request import Request
from holdfast.results.start.start import consistent_start
from holdfast.schemes.tableaus.dop853 import DOP853
from holdfast.stability.sampling import Batch
from holdfast.stability.tuning.spread import measured_on

ROWS = 1000  # kept of each run
TIGHT = 1e-12  # tolerance of the reference, and 100 times that for its check
LOOKED_AT = 25  # rows of the reference at which jacobians are taken, and of each run at which the energy is
DEPENDENT = 1e-12  # beside 1: constraints as parallel as this are moved onto together
AT_ONCE = 64  # states of large systems that are moved together
MOVES = 2  # of Newton's iteration onto the program: the first leaves what is of second order in the deviation


@dataclass(frozen=True, eq=False)
class MeasuredGains:
    """The three numbers of some laws, and what they cost; a run that did not reach its end has infinite ones."""

    deviation: np.ndarray
    state_error: np.ndarray
    energy_error: np.ndarray
    evaluations: np.ndarray
    steady: np.ndarray  # whether the deviations, y and w, are small or have stopped growing

    def __len__(self) -> int:
        return len(self.deviation)


@dataclass(frozen=True, eq=False)
class Reference:
    """The motion itself at the rows, its energy, and how well both are known."""

    times: np.ndarray
    states: np.ndarray
    energy: np.ndarray
    sizes: np.ndarray  # of each component of the state
    doubt: float  # of the state, in these sizes
    energy_doubt: float


class Trials:
    """Laws of one form on one model: compiled once, measured many at a time."""

    no_gains: Law = SpringDamper(stiffness=0, damping=0)

    def __init__(
        self, equations: Equations, request: Request, start: Any, parameters: Mapping[Any, Any], threads: int | None,
        client: Any = None,
    ) -> None:  # fmt: skip
        """`client`: of a cluster whose workers measure gains, instead of the threads of this process."""
        self._given, self._client = (equations, request, start, parameters, threads), client
        self.equations = equations.with_law(self.no_gains)
        self.request, self.threads = request, threads
        program = equations.problem.program
        self.holonomic, self.constraints = tuple(program.holonomic), program.constraints
        begun = consistent_start(self.equations, start, "project", parameters, request.begin)
        self.state, self.start = np.array(begun.state), begun
        kept = consistent_start(self.equations, start, None, parameters, request.begin)
        self.deviates = not kept.on_program  # what a run from this start would have to bring back
        self.constants = np.array(parameter_vector(self.equations, parameters))
        self._field = self.watch(self.equations)
        self.reference = self._reference()
        self.scales, self._rate_scales = self._scales()
        self._energies = EnergyOnProgram(self.equations, parameters, self.reference.sizes)

    def __reduce__(self) -> Any:
        return type(self), self._given  # what a worker makes of it is the same to the last bit

    @property
    def held_by_controls(self) -> bool:
        """Whether chosen controls hold every constraint, so that gains are those of a feedback."""
        program = self.equations.problem.program
        return bool(program.controls) and not set(program.reactions)

    @property
    def kernel(self) -> Kernel:
        return compiled(self._field, self.request.scheme)

    @property
    def every(self) -> int:
        return max(1, -(-self.request.steps // ROWS))

    # ── the reference ─────────────────────────────────────────────────────────────────────────────

    def _times(self) -> np.ndarray:
        request = self.request
        if request.step is None:
            return request.begin + np.linspace(0, request.duration, 201)
        times = request.begin + np.arange(0, request.steps + 1, self.every) * request.step
        return np.minimum(times, request.begin + request.duration)

    def _reference(self) -> Reference:
        kernel, times = compiled(self._field, DOP853), self._times()
        runs = []
        for tolerance in (TIGHT, 100 * TIGHT):
            rows = kernel.run_adaptive(
                self.state, self.constants, t0=self.request.begin, duration=self.request.duration, relative=tolerance,
                absolute=tolerance, at=times, dense=False,
            )  # fmt: skip
            if rows.status != Status.completed or len(rows.times) != len(times):
                raise BadRequest(
                    "no tight reference run reaches the end, so errors cannot be judged",
                    fix="shorten the duration; `hf.simulate` with hf.DOP853 tells what stops it",
                )
            runs.append(rows)
        tight, loose = runs
        sizes = self._sizes(tight.states)
        return Reference(
            times=times,
            states=tight.states,
            energy=tight.observables[:, -1],
            sizes=sizes,
            doubt=float((np.abs(tight.states - loose.states) / sizes).max()),
            energy_doubt=float(np.abs(tight.observables[:, -1] - loose.observables[:, -1]).max()),
        )

    def _sizes(self, states: np.ndarray) -> np.ndarray:
        """The largest value of each component, but not less than a thousandth of its kind's largest."""
        largest, count = np.abs(states).max(axis=0), self._field.positions
        sizes = largest.copy()
        for kind in (slice(0, count), slice(count, 2 * count), slice(2 * count, None)):
            if largest[kind].size:
                sizes[kind] = np.maximum(largest[kind], 1e-3 * largest[kind].max())
        return np.where(sizes > 0, sizes, 1.0)

    def _scales(self) -> tuple[dict[str, float], np.ndarray]:
        """sigma of each constraint, and of the rates of the holonomic ones."""
        reference, n, m = self.reference, self._field.positions, len(self.holonomic)
        parameters = dict(zip(self.equations.parameter_names, self.constants.tolist(), strict=True))
        places, rates = np.zeros(len(self.constraints)), np.zeros(len(self.constraints))
        for k in np.unique(np.linspace(0, len(reference.times) - 1, LOOKED_AT).astype(int)):
            values = self.equations.evaluate(
                reference.states[k].tolist(), float(reference.times[k]), parameters=parameters
            )
            slopes = np.abs(values.jacobian)
            places = np.maximum(places, slopes @ reference.sizes[:n])
            rates = np.maximum(rates, slopes @ reference.sizes[n : 2 * n])
        sigma = np.concatenate([places[:m], rates[m:]])
        named = {name: float(s) or 1.0 for name, s in zip(self.constraints, sigma, strict=True)}
        return named, np.where(rates[:m] > 0, rates[:m], 1.0)

    @property
    def motion_rate(self) -> float:
        """How fast the motion itself changes: its largest accelerations beside its rates, or rates beside places."""
        reference, n = self.reference, self._field.positions
        sizes = reference.sizes
        changes = np.abs(np.diff(reference.states, axis=0)).max(axis=0) / np.diff(reference.times).max()
        rates = changes[: 2 * n] / sizes[: 2 * n]
        return float(max(np.median(rates[rates > 0]), 1 / self.request.duration)) if (rates > 0).any() else 1.0

    # ── the form of the law ───────────────────────────────────────────────────────────────────────

    @property
    def with_ratios(self) -> bool:
        """Whether a damping ratio is chosen beside the rate."""
        return bool(self.holonomic)

    def watch(self, equations: Equations) -> Field:
        """What is measured: y, w of the nonholonomic constraints, the other w, the energy."""
        y, w = equations.deviations.y, equations.deviations.w
        return watched_field(equations, (*y, *w[len(y) :], *w[: len(y)]))

    def law(self, stiffness: np.ndarray, damping: np.ndarray) -> Law:
        """The law with these gains by constraint."""
        held = dict(zip(self.constraints, stiffness.tolist(), strict=True))
        return SpringDamper(
            stiffness={name: held[name] for name in self.holonomic},
            damping=dict(zip(self.constraints, damping.tolist(), strict=True)),
        )

    @property
    def must_attract(self) -> bool:
        """Whether the law is chosen to bring the start back, whatever drifts."""
        return False

    @property
    def attracting_rate(self) -> float:
        """A rate that brings a start off the program back within half the run."""
        return 20 / self.request.duration

    # ── measuring ─────────────────────────────────────────────────────────────────────────────────

    def gains(self, rates: Any, ratios: Any) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness and damping, (cases, constraints), for rates and ratios of (cases,) or (cases, constraints)."""
        rate, ratio = (np.asarray(x, float).reshape(len(x), -1) for x in (rates, ratios))
        held = np.array([name in self.holonomic for name in self.constraints], dtype=float)
        return rate**2 * held, rate * (2 * ratio * held + 1 - held)

    def measure(self, rates: Any, ratios: Any) -> MeasuredGains:
        """The three numbers for each rate and ratio."""
        return self.measure_gains(*self.gains(rates, ratios))

    def measure_gains(self, stiffness: np.ndarray, damping: np.ndarray) -> MeasuredGains:
        """The three numbers for each row of gains."""
        if self._client is not None:
            return measured_on(self._client, self, stiffness, damping)
        names = self.equations.parameter_names
        constants = np.tile(self.constants, (len(stiffness), 1))
        for k, name in enumerate(self.constraints):
            constants[:, names.index(f"law.damping.{name}")] = damping[:, k]
            if name in self.holonomic:
                constants[:, names.index(f"law.stiffness.{name}")] = stiffness[:, k]
        return self._measure(self.kernel, constants)

    def measure_law(self, equations: Equations, parameters: Mapping[Any, Any]) -> MeasuredGains:
        """The three numbers of the law that some equations have, whatever its form."""
        kernel = compiled(self.watch(equations), self.request.scheme)
        return self._measure(kernel, np.array([parameter_vector(equations, parameters)]))

    @property
    def watched(self) -> Field:
        """The field with what is measured for observables."""
        return self._field

    def measure_field(self, kernel: Kernel, constants: np.ndarray) -> MeasuredGains:
        """The three numbers of another field with these observables, from the same start, for rows of constants."""
        return self._measure(kernel, constants)

    def _measure(self, kernel: Kernel, constants: np.ndarray) -> MeasuredGains:
        states = np.tile(self.state, (len(constants), 1))
        if self.request.step is None:
            return self._adaptive(kernel, states, constants)
        rows = run_ensemble(
            kernel, states, constants, t0=self.request.begin, step=self.request.step, steps=self.request.steps,
            every=self.every, threads=self.threads,
        )  # fmt: skip
        done = rows.status == Status.completed
        evaluations = 1 + rows.steps * self.request.scheme.stage_count
        return self._judged(rows.states, rows.observables, done, evaluations)

    def _adaptive(self, kernel: Kernel, states: np.ndarray, constants: np.ndarray) -> MeasuredGains:
        found = run_ensemble_adaptive(
            kernel, states, constants, t0=self.request.begin, duration=self.request.duration,
            relative=self.request.tolerance or 0.0, absolute=self.request.tolerance or 0.0, at=self.reference.times,
            threads=self.threads,
        )  # fmt: skip
        count, length = len(states), len(self.reference.times)
        kept = np.full((count, length, states.shape[1]), np.nan)
        seen = np.full((count, length, len(self._field.observables)), np.nan)
        done, evaluations = np.zeros(count, dtype=bool), np.zeros(count, dtype=np.int64)
        for k, rows in enumerate(found):
            if rows is not None and rows.status == Status.completed and len(rows.times) == length:
                kept[k], seen[k], done[k], evaluations[k] = rows.states, rows.observables, True, rows.evaluations
        return self._judged(kept, seen, done, evaluations)

    def _judged(self, states: np.ndarray, seen: np.ndarray, done: np.ndarray, evaluations: np.ndarray) -> MeasuredGains:
        reference, count = self.reference, len(self.constraints)
        scales = np.array([self.scales[name] for name in self.constraints])
        with np.errstate(all="ignore"):
            sizes = np.abs(seen[:, :, :-1]) / np.concatenate([scales, self._rate_scales])
            deviation = sizes[:, :, :count].max(axis=(1, 2))
            state = (np.abs(states - reference.states) / reference.sizes).max(axis=(1, 2))
            rows = np.unique(np.linspace(0, len(reference.times) - 1, LOOKED_AT).astype(int))
            energies = self._energies(reference.times[rows], states[:, rows])
            energy = np.abs(energies - reference.energy[rows]).max(axis=1)
            steady = done & ~(grown(sizes) & (sizes[:, -1].max(axis=1) > FAR_OFF))
        ended = [np.where(done & np.isfinite(x), x, np.inf) for x in (deviation, state, energy)]
        return MeasuredGains(ended[0], ended[1], ended[2], evaluations, steady)


class EnergyOnProgram:
    """The energy of states moved onto the program, by the least change in the sizes of the state's components."""

    def __init__(self, equations: Equations, parameters: Mapping[Any, Any], sizes: np.ndarray) -> None:
        inputs, deviations = equations.inputs, equations.deviations
        extended = len(deviations.states)  # states of controls that have rates of their own
        z, moving = [*deviations.y, *deviations.w], (*inputs.q, *inputs.v, *inputs.s[len(inputs.s) - extended :])
        n, rows = len(inputs.q), jacobian(z, moving)
        self._moving = [*range(2 * n), *range(len(sizes) - extended, len(sizes))]
        slopes = [node for row in rows for node in row.values()]
        self._where = [i * len(moving) + j for i, row in enumerate(rows) for j in row]  # the others are 0
        self._shape, self._sizes = (len(z), len(moving)), sizes[self._moving]
        self._deviations, self._slopes, self._energy = (
            Batch.of(equations, nodes, parameters) for nodes in (z, slopes, [equations.observables["energy"]])
        )

    def __call__(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(cases, rows) from states of (cases, rows, components); infinite where there is no such state."""
        cases, rows, size = states.shape
        moments, places = np.tile(times, cases), states.reshape(-1, size).copy()
        good = np.isfinite(places).all(axis=1)
        for _ in range(MOVES):
            places[good] = self._moved(moments[good], places[good])
            good &= np.isfinite(places).all(axis=1)
        energy = np.full(len(places), np.inf)
        energy[good] = self._energy(moments[good], places[good])[:, 0]
        return np.where(np.isfinite(energy), energy, np.inf).reshape(cases, rows)

    def _moved(self, times: np.ndarray, places: np.ndarray) -> np.ndarray:
        """One step of Newton's iteration; directions in which no constraint moves are left alone."""
        if self._shape[1] > 2 * LARGE:
            return self._moved_sparsely(times, places)
        slopes = np.zeros((len(places), self._shape[0] * self._shape[1]))
        slopes[:, self._where] = self._slopes(times, places)
        scaled = slopes.reshape(-1, *self._shape) * self._sizes
        lacking = -self._deviations(times, places)
        usable = np.isfinite(scaled).all(axis=(1, 2)) & np.isfinite(lacking).all(axis=1)
        scaled, lacking = np.where(usable[:, None, None], scaled, 0.0), np.where(usable[:, None], lacking, 0.0)
        gram = scaled @ scaled.transpose(0, 2, 1)
        heights = np.sqrt(np.maximum(np.einsum("kii->ki", gram), np.finfo(float).tiny))
        gram /= heights[:, :, None] * heights[:, None, :]
        gram += DEPENDENT * np.eye(self._shape[0])
        shares = np.linalg.solve(gram, (lacking / heights)[:, :, None])[:, :, 0] / heights
        moved = places.copy()
        moved[:, self._moving] += np.einsum("kij,ki->kj", scaled, shares) * self._sizes
        return np.where(usable[:, None], moved, np.nan)

    def _moved_sparsely(self, times: np.ndarray, places: np.ndarray) -> np.ndarray:
        """The same by the entries that are there, many rows as the blocks of one matrix."""
        from scipy.sparse import csr_array, diags_array, eye_array
        from scipy.sparse.linalg import splu

        (r, n), where = self._shape, np.array(self._where)
        values, lacking = self._slopes(times, places) * self._sizes[where % n], -self._deviations(times, places)
        usable = np.flatnonzero(np.isfinite(values).all(axis=1) & np.isfinite(lacking).all(axis=1))
        moved = np.full_like(places, np.nan)
        moved[usable] = places[usable]
        for block in np.array_split(usable, len(usable) // AT_ONCE + 1):
            each, count = np.arange(len(block))[:, None], len(block)
            at = (where // n + r * each).ravel(), (where % n + n * each).ravel()
            scaled = csr_array((values[block].ravel(), at), shape=(r * count, n * count))
            heights = np.sqrt(np.maximum((scaled * scaled).sum(axis=1), np.finfo(float).tiny))
            rows = diags_array(1 / heights) @ scaled
            gram = (rows @ rows.T + DEPENDENT * eye_array(r * count)).tocsc()
            shares = splu(gram).solve(lacking[block].ravel() / heights)
            moved[np.ix_(block, self._moving)] += (rows.T @ shares).reshape(count, n) * self._sizes
        return moved


def watched_field(equations: Equations, deviations: Sequence[Node]) -> Field:
    """The field with what is measured for observables: deviations, and the energy."""
    return replace(equations.field, observables=(*deviations, equations.observables["energy"]))
