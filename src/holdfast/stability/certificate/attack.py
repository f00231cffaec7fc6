"""Attacks on a certificate that was re-checked: its run is made again, natively, and held against what is claimed.

Deviations come from the verifier's own derivation. The run must have finished; it must have stayed in the region if
that is said; every row must lie within the envelope that is proved, and no step may add more than the claimed defect.
Then native steps are taken from random states of the region within the tube. Rows are read in doubles; whatever
looks wrong there, and every step, is decided at 200 bits.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from holdfast.common.rounded import compared, rounded_up
from holdfast.engine.kernel import compiled
from holdfast.equations.derive import derive
from holdfast.equations.values import parameter_vector
from holdfast.errors import HoldfastError
from holdfast.graph.nodes import ancestors
from holdfast.problem.file.load_dump import loads
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.runs.simulate import simulate
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.kinds.embedded import Embedded
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.certificate.run_code import run_code
from holdfast.stability.sampling import Batch
from holdfast.stability.verifier.check import Reading, Shown
from holdfast.stability.verifier.numbers.evaluate import ball_values, double_values
from holdfast.stability.verifier.reading.file import Claims

BITS = 200
STEPS = 200  # of the run whose defect is looked at, evenly spread
SUSPECTS = 500  # rows that look wrong in doubles and are decided at 200 bits, evenly spread
SHORTER = 1e-6  # of a step: by so much the step by which an event is met is shorter, at least
RANDOM = 64  # native steps from random states
NEAR_BOUND = 1e-6  # of a bound: a row this near to it is looked at more closely


class NativeRun:
    """The run that a certificate speaks of, and the kernel that makes it."""

    def __init__(self, read: Reading) -> None:
        self._claims = read.claims
        self._equations = derive(loads(read.claims.problem, "the certificate's problem"))
        self._scheme = _scheme(read.claims)

    def other_code(self) -> str | None:
        """How what is run here differs from what the certificate lists, whose rounding was looked at."""
        strange = self._other_data()
        if strange is not None:
            return f"the pieces of {strange!r} that are run here are other doubles"
        stated, own = self._claims.code, run_code(self._equations)
        assert stated is not None
        listed = [[op, *(str(x) if isinstance(x, Fraction) else x for x in args)] for op, *args in stated.operations]
        found = [entry if not entry[0].startswith("table ") else ["table"] for entry in own["operations"]]
        listed = [entry if entry[0] != "table" else ["table"] for entry in listed]
        same = (list(stated.inputs), listed, list(stated.rates)) == (own["inputs"], found, own["rates"])
        return None if same else "the operations that are run here are others than it lists"

    def _other_data(self) -> str | None:
        """Of the data that are read, those whose pieces are other doubles here than the certificate's."""
        stated = {} if self._claims.code is None else self._claims.code.tables
        for table in (node.data.table for node in ancestors(self._equations.field.rates) if node.op == "table"):
            found = stated.get(table.name)
            if found is None or (found.ends, found.rows) != (table.ends, table.pieces):
                return str(table.name)
        return None

    @cached_property
    def trajectory(self) -> Any:
        claims = self._claims
        assert claims.step is not None
        return simulate(
            self._equations,
            self._scheme,
            step=claims.step,
            duration=math.ceil(claims.duration / claims.step - SHORTER) * claims.step,  # an event may end it earlier
            start=claims.start,
            start_policy="keep",
            parameters=claims.parameters,
            every=1,
        )

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray] | str:
        """Times and states of the run, or why it is not the one that is spoken of; one that chose its own steps is made
        again by these, one after the other.
        """
        claims = self._claims
        if claims.times is None:
            run = self.trajectory
            return self.unfinished(run) or (run.times, run.y.T)
        states = [np.array(claims.start)]
        for time, later in pairwise(claims.times):
            reached = self.step(time, states[-1], later - time)
            if reached is None:
                return f"the run it speaks of does not finish: the step from t = {time:g} does not arrive"
            states.append(reached[1])
        return np.array(claims.times), np.array(states)

    def unfinished(self, run: Any) -> str | None:
        """Why the run made again is not the one that is spoken of, or does not end well."""
        claims = self._claims
        if run.y[:, 0].tolist() != claims.start or float(run.times[0]) != claims.begin:
            return "the run it speaks of starts elsewhere"
        late = abs(run.times[-1] - claims.begin - claims.duration)
        ended = run.outcome.ran_out or run.outcome is Outcome.event
        if not (ended and run.outcome.holds_program):
            return f"the run it speaks of does not finish: {run.message}"
        return "the run it speaks of ends at another time" if late > 1e-6 * run.step else None

    def step(self, time: float, state: np.ndarray, length: float | None = None) -> tuple[float, np.ndarray] | None:
        """One step of the machine's own code, as long as is claimed or given; None where it does not arrive."""
        assert isinstance(self._scheme, RungeKutta)
        size = self._claims.step if length is None else length
        assert size is not None
        rows = self._kernel.run(state, self._constants, t0=time, step=size, steps=1)
        return None if len(rows.times) < 2 else (float(rows.times[-1]), rows.states[-1])

    def slopes(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """The rates of all states at rows: (rows, states)."""
        return Batch.of(self._equations, self._equations.field.rates, self._claims.parameters)(times, states)

    def beside(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Times, and the rows of runs from beside the start (runs, rows, states); None where one does not arrive."""
        claims, steps, found = self._claims, len(self.trajectory.times) - 1, []
        for offset in offsets:
            begin = np.array(claims.start) + offset
            rows = self._kernel.run(begin, self._constants, t0=claims.begin, step=claims.step, steps=steps)
            if not np.array_equal(rows.times, self.trajectory.times) or not np.isfinite(rows.states).all():
                return None
            found.append(rows.states)
        return np.asarray(self.trajectory.times), np.array(found)

    @cached_property
    def _kernel(self) -> Any:
        return compiled(self._equations.field, self._scheme)

    @cached_property
    def _constants(self) -> Any:
        return parameter_vector(self._equations, self._claims.parameters)


class Attack:
    """One block of a certificate against its own run and against random steps."""

    def __init__(self, read: Reading, shown: Shown, native: NativeRun) -> None:
        self.read, self.shown, self.native = read, shown, native
        proof = shown.block.proof
        assert proof is not None
        self.proof, self.told = proof, ""
        self._factor = np.array(proof.factor)
        self._names = shown.block.names
        known = {**read.equations.observables, **read.equations.psi}
        self._limits = {name: ends for name, ends in proof.limits.items() if name in known}
        self._watched = [read.equations.psi[name] for name in self._names] + [known[name] for name in self._limits]

    def contradiction(self) -> str | None:
        """What is wrong, or nothing."""
        import flint

        before, flint.ctx.prec = flint.ctx.prec, BITS
        try:
            return self._of_run() or self._of_steps()
        except HoldfastError as error:
            return f"the run it speaks of cannot be made again: {error.what}"
        finally:
            flint.ctx.prec = before

    def other_code(self) -> str | None:
        """How what is run here differs from what the certificate lists."""
        return self.native.other_code()

    # ── the run ───────────────────────────────────────────────────────────────────────────────────

    def _of_run(self) -> str | None:
        run = self.native.trajectory
        unfinished = self.native.unfinished(run)
        if unfinished is not None:
            return unfinished
        times, states = run.times, run.y.T
        inside, size = self._inside(times, states)
        entry = int(np.argmax(size <= self.proof.tube)) if (size <= self.proof.tube).any() else len(times)
        stayed = entry < len(times) and bool(inside[entry:].all())
        block = self.shown.block
        if block.start_size is not None:
            if block.from_step != entry:
                return "the certificate misstates from which step of its run on it holds"
            if entry < len(times) and self._size(times[entry], states[entry]) > block.start_size * (1 + 1e-12):
                return "the deviation at the first step that it covers is larger than stated"
        if bool(self.shown.block.stayed) != stayed:
            return "the certificate misstates whether its run stays in the region"
        whole = self._whole(times)
        if stayed and entry < whole:
            beyond = self._beyond(times[:whole], states[:whole], size[:whole], entry)
            if beyond is not None:
                return beyond
        added = self._added(times[:whole], states[:whole], inside[:whole])
        if isinstance(added, str):
            return added
        rows = "every row of its run, made again, is" if stayed else "its run, made again, leaves the region,"
        most = f"a step adds at most {rounded_up(added, 2)} of the defect"
        most = most if inside[: whole - 1].any() else "no row lies in it"
        self.told = f"{rows} as {'proved' if stayed else 'stated'} ({most})"
        return None

    def _whole(self, times: np.ndarray) -> int:
        """Rows up to the last whole step: of the one by which an event is met nothing is claimed."""
        short = len(times) > 1 and times[-1] - times[-2] < (1 - SHORTER) * (self.read.claims.step or 0.0)
        return len(times) - bool(short)

    def _inside(self, times: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which rows lie in the region within the tube, and the size of the deviation at each."""
        ends = np.array([self.proof.region[name] for name in self.read.equations.inputs])
        table = np.column_stack([times, states])
        inside = np.asarray(((table >= ends[:, 0]) & (table <= ends[:, 1])).all(axis=1))
        psi, others = self._doubles(times, states)
        size = np.linalg.norm(psi @ self._factor, axis=1)
        limits = np.array([*self._limits.values()]).reshape(-1, 2)
        doubtful = size > (1 - NEAR_BOUND) * self.proof.tube
        if len(limits):
            margin = NEAR_BOUND * (limits[:, 1] - limits[:, 0])
            doubtful |= ((others < limits[:, 0] + margin) | (others > limits[:, 1] - margin)).any(axis=1)
            inside &= ((others >= limits[:, 0]) & (others <= limits[:, 1])).all(axis=1)
        for k in _some(np.flatnonzero(doubtful & inside | doubtful & ~np.isfinite(size)), SUSPECTS):
            exact = [float(x.mid()) for x in self._balls(times[k], states[k])]
            size[k] = float(self.shown.contraction.norm(self._balls(times[k], states[k])[: len(self._names)]).mid())
            rest = exact[len(self._names) :]
            inside[k] = all(low <= x <= high for x, (low, high) in zip(rest, limits, strict=True))
        return inside & (size <= self.proof.tube), size

    def _beyond(self, times: np.ndarray, states: np.ndarray, size: np.ndarray, entry: int) -> str | None:
        """The first row beyond the envelope: settled bounds, and what is left of the deviation at the entry."""
        shown, psi = self.shown, self._doubles(times, states)[0]
        after = np.maximum(np.arange(len(times)) - entry, 0.0)
        bounds = np.broadcast_to(np.array(shown.block.bounds), psi.shape).copy()
        if shown.block.start_size is not None:
            bounds = shown.envelope(after) * (1 + 1e-12)
        elif shown.block.settles:
            bounds = bounds + (self.proof.gamma**after)[:, None] * size[entry] * np.array(shown.widths)
        suspects = np.flatnonzero((np.abs(psi) > (1 - NEAR_BOUND) * bounds).any(axis=1))
        for k in _some(suspects[suspects >= entry], SUSPECTS):
            for name, value, bound in zip(self._names, self._balls(times[k], states[k]), bounds[k], strict=False):
                if float(abs(value).mid()) > bound:
                    size_k = float(abs(value).mid())
                    seen, proved = compared(size_k, float(bound))
                    return f"|{name}| = {seen} in its own run at t = {times[k]:g}, beyond the proved {proved}"
        return None

    def _added(self, times: np.ndarray, states: np.ndarray, inside: np.ndarray) -> float | str:
        """The largest part of the claimed defect that a step of the run adds."""
        worst = 0.0
        for k in _some(np.flatnonzero(inside[:-1]), STEPS):
            share = self._share((times[k], states[k]), (times[k + 1], states[k + 1]))
            if share > 1:
                return f"a step of its own run adds {rounded_up(share)} times the claimed defect at t = {times[k]:g}"
            worst = max(worst, share)
        return worst

    # ── random steps ──────────────────────────────────────────────────────────────────────────────

    def _of_steps(self) -> str | None:
        """Native steps from random states of the region within the tube."""
        times, states = self._random()
        worst, count = 0.0, 0
        for time, state in zip(times, states, strict=True):
            after = self.native.step(float(time), state)
            if after is None:
                continue
            share, count = self._share((float(time), state), after), count + 1
            if share > 1:
                return f"a step from a random state adds {rounded_up(share)} times the claimed defect"
            worst = max(worst, share)
        self.told += f"; {count} random native steps add at most {rounded_up(worst, 2)} of it"
        return None

    def _random(self) -> tuple[np.ndarray, np.ndarray]:
        """Random states of the region, moved onto random deviations within the tube by Newton's method."""
        rng, made = np.random.default_rng(5), self.read.equations
        ends = np.array([self.proof.region[name] for name in made.inputs])
        table = rng.uniform(ends[:, 0], ends[:, 1], (RANDOM, len(ends)))
        run = self.native.trajectory
        rows = rng.integers(len(run.times), size=RANDOM // 2)  # and half of them near the run
        near = np.column_stack([run.times[rows], run.y.T[rows]])
        table[: len(near)] = np.clip(near + 0.1 * (table[: len(near)] - near), ends[:, 0], ends[:, 1])
        all_names = list(made.psi)
        wanted = np.zeros((RANDOM, len(all_names)))
        way = rng.normal(size=(RANDOM, len(self._names)))
        way *= (rng.uniform(0, 0.99, RANDOM) * self.proof.tube / np.linalg.norm(way, axis=1))[:, None]
        own = [all_names.index(name) for name in self._names]
        wanted[:, own] = way @ np.linalg.inv(self._factor)
        slopes = made.dag.partials(made.psi.values(), [made.dag.input(name) for name in made.inputs[1:]])
        flat, width = [node for row in slopes for node in row], ends[1:, 1] - ends[1:, 0]
        with np.errstate(all="ignore"):
            for _ in range(8):
                values = dict(zip(made.inputs, table.T, strict=True))
                lacking = wanted - np.array(double_values(list(made.psi.values()), values, RANDOM)).T
                rows = np.array(double_values(flat, values, RANDOM)).reshape(len(slopes), -1, RANDOM)
                scaled = np.nan_to_num(rows.transpose(2, 0, 1) * width)
                moved = np.einsum("nji,ni->nj", np.linalg.pinv(scaled), np.nan_to_num(lacking)) * width
                table[:, 1:] += moved
            inside, _ = self._inside(table[:, 0], table[:, 1:])
        return table[inside, 0], table[inside, 1:]

    # ── deviations ────────────────────────────────────────────────────────────────────────────────

    def _doubles(self, times: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Own deviations, and what else the region bounds, row by row."""
        values = dict(zip(self.read.equations.inputs, (times, *states.T), strict=True))
        with np.errstate(all="ignore"):
            found = np.array(double_values(self._watched, values, len(times))).T
        return found[:, : len(self._names)], found[:, len(self._names) :]

    def _balls(self, time: float, state: np.ndarray) -> list[Any]:
        import flint

        place = (flint.arb(float(x)) for x in (time, *state))
        return ball_values(self._watched, dict(zip(self.read.equations.inputs, place, strict=True)))

    def _size(self, time: float, state: np.ndarray) -> float:
        """‖Lᵀψ‖ at a state, at 200 bits: doubles do not read a deviation that is all rounding."""
        return float(self.shown.contraction.norm(self._balls(time, state)[: len(self._names)]).mid())

    def _share(self, before: tuple[float, np.ndarray], after: tuple[float, np.ndarray]) -> float:
        """‖Lᵀ(ψ⁺ − Rψ)‖ as a part of the claimed defect."""
        contraction, size = self.shown.contraction, len(self._names)
        here, there = self._balls(*before)[:size], self._balls(*after)[:size]
        matrix = contraction.step_matrix
        if matrix is None:  # a law that varies: what a step adds beyond γ times what there was
            grown = contraction.norm(there) - contraction.gamma * contraction.norm(here)
            return max(float(grown.mid()), 0.0) / self.shown.defect
        rest = [there[i] - sum((matrix[i, j] * here[j] for j in range(size)), here[0] * 0) for i in range(size)]
        return float(self.shown.contraction.norm(rest).mid()) / self.shown.defect


def _scheme(claims: Claims) -> Scheme:
    """The scheme of a name, or of a tableau that the certificate states: the one whose single steps are taken."""
    if claims.tableau is None:
        found = scheme_named(claims.scheme)
        return found.main if isinstance(found, Embedded) and claims.times is not None else found
    stages, weights, order = claims.tableau
    rows = tuple(tuple(row) for row in stages)
    return RungeKutta(name=claims.scheme, order=order, stages=rows, weights=tuple(weights))


def _some(rows: np.ndarray, most: int) -> list[int]:
    """At most so many of the rows, evenly spread."""
    chosen = rows if len(rows) <= most else rows[np.unique(np.linspace(0, len(rows) - 1, most).astype(int))]
    return [int(k) for k in chosen]
