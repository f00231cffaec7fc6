"""How near are proofs to what happens?  Every block of every shipped example: its bounds beside the largest seen.

    python -m benchmarks.proofs                 all of them; writes results/proofs-... and the table
    python -m benchmarks.proofs crane bennett   some of them, which are only shown

From each of up to ROWS rows of a run one exact step is taken, in balls of so many bits that they decide:

    truncation   ‖Lᵀ(ψ(Φ(x)) − Rψ(x))‖            rounding   ‖Lᵀ(ψ(x̂) − ψ(Φ(x)))‖            x̂ the next row

A bound speaks of more than the rows of one run, so it is beside the largest of other states that it holds for, too:
random ones of Omega, with all deviations that are limited there within their limits, or of the cells of a tube, and
more around the one whose step, taken by the kernel that runs, is rounded most.
Where steps are followed in the order of time (theory 8.14) there is no such bound of one step, but one of each
deviation along the run: that is shown as the total, beside the largest deviation, and of rounding the worst component.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import resources
from time import process_time
from typing import Any

import flint
import numpy as np

import holdfast as hf
from benchmarks.pages import keep_records, keep_section
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector
from holdfast.graph.arithmetics.arithmetic import Arithmetic
from holdfast.graph.arithmetics.balls import ball, balls, precision
from holdfast.graph.arithmetics.tables import horner
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.derivatives import jacobian
from holdfast.graph.table import TablePart
from holdfast.schemes.by_name import scheme_named
from holdfast.stability.certificate.tube_proof import OrderedProof
from holdfast.stability.proof.contraction import propagator

EXAMPLES = resources.files("holdfast") / "examples"
TITLE = "## Proofs beside what is seen"
ROWS = 400  # of a run, evenly spread
PLACES = 400  # random states of Omega, or of a tube
LEAST = 40  # of them that must be met: fewer show nothing
BESIDE, AWAY = 0.5, 0.1  # so many of them beside rows of the run, so far away as parts of the region
CLIMBED, NEARBY = 400, 0.01  # more of them around the one that is rounded most, so far away as parts of its sides
TURNS = 128  # as often, where a bound is far from what that shows: the worst of many roundings is rare
LEADERS = 16  # cells of a tube, those in which steps are rounded most: half of the states lie in one of them then
INSIDE = 1 - 1e-9  # of the width of a cell: rounding does not leave it
NEWTON = 5  # steps by which one is moved into the tube
EDGE, DEPTH, SHALLOW = 0.1, (0.005, 3.0), (0.005, 0.1)  # to tube · EDGE^DEPTH; where one climbs, nearer to the edge
BITS = (300, 3000)  # of balls; the second where the first do not decide
DECIDED = 1e-30  # a radius that decides
NOTHING = 1e-40  # of a bound
AS_GOOD_AS_NONE = 2.0**-30  # of what a tube lets a deviation be that its run never shows: no bound is made smaller
UNDERFLOW = 1e-140  # squares of less underflow: no bound is smaller
WITHIN = 5.0  # times what is seen: the aim
MEASURED = ("truncation", "rounding", "total")
Place = tuple[float, list[float]]  # a time, and the state then


@dataclass(frozen=True)
class Line:
    """One block: what is proved of a step, and the largest that was seen of it."""

    problem: str
    block: str
    label: str
    cells: int
    seconds: float  # of the processor, for all blocks of the problem together
    truncation: float | None
    truncation_seen: float | None
    rounding: float | None
    rounding_seen: float | None
    total: float | None
    total_seen: float | None
    least: float = UNDERFLOW  # what a bound is as good as none below

    def ratio(self, what: str) -> float | None:
        """None where nothing was seen: what balls leave of a zero is nothing; and where nothing is stated."""
        bound, seen = getattr(self, what), getattr(self, f"{what}_seen")
        if bound is None or seen is None or seen < NOTHING * bound:
            return None
        return bound / seen if bound > self.least or seen > bound else None

    def beyond(self, what: str) -> bool:
        """Whether more was seen than is proved."""
        ratio = self.ratio(what)
        return ratio is not None and not ratio >= 1


def at_points() -> Arithmetic:
    """Balls that hold one point each, so that data are read from one piece, at a knot too."""
    base = balls()

    def read(x: Any, part: TablePart) -> Any:
        place = part.place(float(x.mid()))
        return horner(tuple(ball(c) for c in part.exact(place)), x - ball(part.table.ends[place]))

    return Arithmetic("points", base.functions | {"table": read}, base.constant, base.pi)


class ExactSteps:
    """One step in balls from rows of a run, by the rates as they are derived."""

    def __init__(self, equations: Any, run: Any, parameters: Mapping[str, float]) -> None:
        self.equations, self.run, self.scheme = equations, run, scheme_named(run.scheme)
        self._numbers = parameter_vector(equations, parameters)
        whole = len(run.times) - 1
        if whole > 1 and run.times[-1] - run.times[-2] < (1 - 1e-6) * run.step:
            whole -= 1  # an event ended the last step
        self.rows = np.unique(np.linspace(0, whole - 1, min(ROWS, whole)).astype(int))

    @property
    def found(self) -> list[tuple[list[Any], list[Any], list[Any]]]:
        """(ψ, ψ after an exact step, ψ after the computed one) of each row."""
        return self._decided[1]

    @cached_property
    def _decided(self) -> tuple[int, list[tuple[list[Any], list[Any], list[Any]]]]:
        """The bits of balls that decide what steps are, and what they find."""
        for bits in BITS:
            with precision(bits):
                rates, psi = self._in_balls()
                found = [self._from(k, rates, psi) for k in self.rows]
                if all(_decide(*row) for row in found):
                    return bits, found
        raise RuntimeError("balls do not decide what a step is")

    def _in_balls(self) -> tuple[Evaluator, Evaluator]:
        """The rates and ψ."""
        field, deviations = self.equations.field, self.equations.deviations
        outputs = field.rates, (*deviations.y, *deviations.w)
        rates, psi = (Tape(field.inputs, some).compiled(at_points()) for some in outputs)
        return rates, psi

    @cached_property
    def _evaluators(self) -> tuple[Evaluator, Evaluator]:
        """The same with balls that decide."""
        with precision(self._decided[0]):
            return self._in_balls()

    @cached_property
    def _kernel(self) -> Any:
        return compiled(self.equations.field, self.scheme)

    def _from(self, k: int, rates: Evaluator, psi: Evaluator) -> tuple[list[Any], list[Any], list[Any]]:
        run = self.run
        later = [flint.arb(float(x)) for x in (run.times[k + 1], *run.y[:, k + 1], *self._numbers)]
        return *self._step(run.times[k], run.y[:, k], rates, psi), psi(later)

    def _step(
        self, moment: float, place: Sequence[float], rates: Evaluator, psi: Evaluator
    ) -> tuple[list[Any], list[Any]]:
        """ψ at a state, and after an exact step from it."""
        step, stages, time = flint.arb(float(self.run.step)), list[list[Any]](), flint.arb(float(moment))
        state, numbers = ([flint.arb(float(x)) for x in some] for some in (place, self._numbers))

        def moved(weights: Sequence[Any]) -> list[Any]:
            used = [(ball(b) * step, stage) for b, stage in zip(weights, stages, strict=False) if b]
            return [x + sum((b * stage[i] for b, stage in used), flint.arb(0)) for i, x in enumerate(state)]

        for node, row in zip(self.scheme.nodes, self.scheme.stages, strict=True):
            stages.append(rates([time + ball(node) * step, *moved(row), *numbers]))
        exact = psi([time + step, *moved(self.scheme.weights), *numbers])
        return psi([time, *state, *numbers]), exact

    def elsewhere(self, block: Any, along: float) -> tuple[float, float, float]:
        """The largest truncation, rounding and sum of both of one block at other states that its proof speaks of;
        `along` is the largest sum at rows of the run.
        """
        names, factor = list(self.equations.deviation_names), np.array(block.proof.factor)
        places = [names.index(name) for name in block.names]
        with precision(BITS[0]):
            matrix = propagator(self.scheme, np.array(block.matrix), self.run.step)

        def sizes(before: list[Any], exact: list[Any], lost: np.ndarray) -> np.ndarray:
            left = np.array(self._left(matrix, before, exact, places))
            return np.linalg.norm(np.array([left, lost[places], left + lost[places]]) @ factor, axis=1)

        found = self._largest(block, sizes, climbed=1, far=lambda most: block.defect > WITHIN * max(most[2], along))
        truncation, rounding, total = map(float, found)
        return truncation, rounding, total

    def _largest(
        self, block: Any, sizes: Callable[[list[Any], list[Any], np.ndarray], np.ndarray], climbed: int,
        far: Callable[[np.ndarray], bool],
    ) -> np.ndarray:  # fmt: skip
        """The largest of some sizes of a step, by ψ before and after an exact one and what doubles add to that.

        After random states, each at which the climbed one is larger than at all before is where the next are sought;
        all over again, half of it in the cells of a tube where it is large, while a bound is `far` from the largest.
        """
        rng, most, met = np.random.default_rng(1), None, 0
        squares: dict[int, list[float]] = defaultdict(list)  # by the cell
        with precision(self._decided[0]):
            for turn in range(TURNS):
                if turn and (most is None or not far(most)):
                    break
                worst, highest = None, -np.inf
                leaders = sorted(squares, key=lambda cell: -float(np.mean(squares[cell])))[:LEADERS]
                for k in range(PLACES + CLIMBED):
                    about = leaders[rng.integers(len(leaders))] if leaders else None
                    place = self._place(block, rng, worst if k >= PLACES else None, about)
                    found = None if place is None else self._sizes_from(place, block, sizes)
                    if place is None or found is None:
                        continue
                    if found[climbed] > highest:
                        worst, highest = place, found[climbed]
                    most, met = found if most is None else np.maximum(most, found), met + 1
                    squares[_cell_at(block, place[0])].append(float(found[climbed]) ** 2)
        if most is None or met < LEAST:
            raise RuntimeError(f"{block.names}: only {met} states were met")
        return most

    def _sizes_from(
        self, place: Place, block: Any,
        sizes: Callable[[list[Any], list[Any], np.ndarray], np.ndarray],
    ) -> np.ndarray | None:  # fmt: skip
        """The sizes of the step from one place; None where it is no step that the proof speaks of."""
        proof, along = block.proof, hasattr(block.proof.tube, "cells")
        places = [self.equations.deviation_names.index(name) for name in block.names]
        before, exact = self._step(*place, *self._evaluators)
        rows = self._kernel.run(place[1], self._numbers, t0=place[0], step=self.run.step, steps=1)
        if len(rows.times) < 2 or not (along or _norm(before, places, np.array(proof.factor)) <= proof.tube):
            return None
        done = self._evaluators[1]([flint.arb(float(x)) for x in (rows.times[1], *rows.states[1], *self._numbers)])
        if not _decide(before, exact, done):
            return None
        return sizes(before, exact, np.array([float((a - b).mid()) for a, b in zip(done, exact, strict=True)]))

    def _place(self, block: Any, rng: np.random.Generator, near: Place | None, about: int | None) -> Place | None:
        """A random state that a proof speaks of, or one near another; None where none was met."""
        along = hasattr(block.proof.tube, "cells")
        return self._in_tube(block, rng, near, about) if along else self._in_omega(block, rng, near)

    def _in_tube(self, block: Any, rng: np.random.Generator, near: Place | None, about: int | None) -> Place:
        """A random state of a random cell of a tube, or of a certain one; or one near another in its cell."""
        cells = block.proof.tube.cells
        place = rng.integers(len(cells)) if near is None else _cell_at(block, near[0])
        if near is None and about is not None and rng.random() < BESIDE:
            place = about
        begin, end, curves, halves = cells[place]
        s = rng.uniform() if near is None else (near[0] - begin) / (end - begin)
        middle = np.array(curves) @ s ** np.arange(4)
        away = rng.uniform(-1, 1, len(halves)) if near is None else (np.array(near[1]) - middle) / halves
        away += 0 if near is None else _nearby(rng, len(halves))
        state = middle + INSIDE * np.clip(away, -1, 1) * halves
        return begin + s * (end - begin), state.tolist()

    def _in_omega(self, block: Any, rng: np.random.Generator, near: Place | None) -> Place | None:
        """A random state of the region of a block, or one near another: within its tube, from the edge to a thousandth
        of its width, and so within the limits of other deviations; None where that is not met.
        """
        proof = block.proof
        region = {name: ends for name, *ends in proof.region}
        ends = np.array([region[name] for name in self.run.state_names])
        if near is None and rng.random() < BESIDE:
            row = rng.integers(len(self.run.times))
            moment, state = float(self.run.times[row]), self.run.y[:, row]
            state = np.clip(state + AWAY * (rng.uniform(*ends.T) - state), *ends.T)
        elif near is None:
            moment, state = float(rng.uniform(*region["t"])), rng.uniform(*ends.T)
        else:
            moment, state = (
                near[0],
                np.clip(near[1] + np.ptp(ends, axis=1) * _nearby(rng, len(ends)), *ends.T),
            )
        depth = DEPTH if near is None else SHALLOW
        way = rng.normal(size=len(block.names))
        size = proof.tube * EDGE ** rng.uniform(*depth)
        own = np.linalg.solve(np.array(proof.factor).T, size * way / np.linalg.norm(way))
        names, psi = self.equations.deviation_names, self._slopes[0]
        there = dict(zip(names, psi([moment, *state.tolist(), *self._numbers]), strict=True))
        others = {
            name: rng.uniform(low, high) * EDGE ** rng.uniform(*depth)
            for name, low, high in proof.limits
            if name in there and not low <= there[name] <= high
        }
        values = self._moved(moment, state, np.ptp(ends, axis=1), others | dict(zip(block.names, own, strict=True)))
        known = [] if values is None else [(float(values[name]), *limits) for name, *limits in proof.limits]
        known += zip(state, *ends.T, strict=True)
        inside = values is not None and all(low <= value <= high for value, low, high in known)
        return (moment, state.tolist()) if inside else None

    def _moved(self, moment: float, state: np.ndarray, sides: np.ndarray, wanted: Mapping[str, float]) -> Any:
        """Moves a state to where deviations have these values, by the least change as parts of a region's sides; what
        there is, or None.
        """
        places = [self.equations.deviation_names.index(name) for name in wanted]
        psi, slopes, columns = self._slopes
        for _ in range(NEWTON):
            known = [moment, *state.tolist(), *self._numbers]
            rates, row = np.zeros((len(columns), len(state))), iter(slopes(known))
            for i, used in enumerate(columns):
                rates[i, used] = [next(row) for _ in used]
            off = np.array(psi(known))[places] - list(wanted.values())
            if not np.isfinite(rates).all() or not np.isfinite(off).all():
                return None
            state -= sides * np.linalg.lstsq(rates[places] * sides, off)[0]
        off = np.array(psi([moment, *state.tolist(), *self._numbers]))[places] - list(wanted.values())
        for row, rest in zip(rates[places], off, strict=True):
            if np.count_nonzero(row) == 1:  # a state by itself is met exactly, as where limits are 0
                state[np.flatnonzero(row)] -= rest / row[row != 0]
        try:
            return self.equations.evaluate(state, moment, parameters=self.run.parameters)
        except hf.HoldfastError:
            return None

    @cached_property
    def _slopes(self) -> tuple[Tape, Tape, list[list[int]]]:
        """The deviations, their slopes by the state, and which states those are."""
        inputs, deviations = self.equations.field.inputs, self.equations.deviations
        psi, states = (*deviations.y, *deviations.w), inputs[1 : 1 + len(self.run.state_names)]
        rows = jacobian(psi, states)
        return Tape(inputs, psi), Tape(inputs, tuple(x for row in rows for x in row.values())), [*map(list, rows)]

    def sizes(self, block: Any) -> tuple[float | None, float, float | None]:
        """The largest truncation, rounding and sum of both of one block, in its norm, at rows that its proof covers."""
        names = list(self.equations.deviation_names)
        places, factor = [names.index(name) for name in block.names], np.array(block.proof.factor)
        covered = self.found
        if not hasattr(block.proof.tube, "cells"):  # the entry of a deviating start is not in Omega
            covered = [row for row in covered if _norm(row[0], places, factor) <= block.proof.tube]
        lost = np.array([[float((done[i] - exact[i]).mid()) for i in places] for _, exact, done in covered])
        rounding = float(np.linalg.norm(lost @ factor, axis=1).max())
        if not block.matrix:
            return None, rounding, None  # a law that varies has no R
        with precision(BITS[0]):
            matrix = propagator(self.scheme, np.array(block.matrix), self.run.step)
            one = np.array([self._left(matrix, before, exact, places) for before, exact, _ in covered])
        sums = np.linalg.norm((one + lost) @ factor, axis=1)
        return float(np.linalg.norm(one @ factor, axis=1).max()), rounding, float(sums.max())

    @staticmethod
    def _left(matrix: Any, before: list[Any], after: list[Any], places: list[int]) -> list[float]:
        """ψ after a step without Rψ."""
        size = range(len(places))
        taken = [sum((matrix[i, j] * before[places[j]] for j in size), flint.arb(0)) for i in size]
        return [float((after[places[i]] - taken[i]).mid()) for i in size]

    def worst_rounding(self, block: Any, again: bool) -> tuple[float, float]:
        """Of the components of a block that is followed in the order of time: bound and largest seen of the worst,
        sought `again` and again while the bound is far from that.
        """
        names, proof = list(self.equations.deviation_names), block.proof
        places = [names.index(name) for name in block.names]
        bounds = np.array([proof.rounding[proof.names.index(name)] for name in block.names])
        seen = np.max(
            [[abs(float((done[i] - exact[i]).mid())) for i in places] for _, exact, done in self.found], axis=0
        )
        climbed = set[int]()
        while (k := int(np.argmax(bounds / seen))) not in climbed:
            climbed.add(k)
            beside = self._largest(
                block, lambda before, exact, lost: np.abs(lost[places]), climbed=k,
                far=lambda most, k=k: again and bounds[k] > WITHIN * most[k],
            )  # fmt: skip
            seen = np.maximum(seen, beside)
        return float(bounds[k]), float(seen[k])


def _cell_at(block: Any, moment: float) -> int:
    """The cell of a tube that a time lies in; 0 where there is none."""
    begins = [cell[0] for cell in getattr(block.proof.tube, "cells", [])]
    return max(0, bisect_right(begins, moment) - 1)


def _nearby(rng: np.random.Generator, size: int) -> np.ndarray:
    """A way to a state nearby, as parts of its sides: all move, or one alone, by which other roundings stay."""
    found = NEARBY * rng.normal(size=size)
    return found if rng.random() < 1 / 2 else found * (np.arange(size) == rng.integers(size))


def _decide(*parts: Sequence[Any]) -> bool:
    """Whether balls tell their values; one without an end does not."""
    return all(float(x.rad()) < DECIDED for part in parts for x in part)


def _norm(psi: Sequence[Any], places: list[int], factor: np.ndarray) -> float:
    return float(np.linalg.norm([float(psi[i].mid()) for i in places] @ factor))


def certificates(name: str) -> tuple[float, dict[str, Any]]:
    """Processor seconds, and what is certified: the whole run, its phases, or the stretches that can be proved."""
    equations = hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))
    began = process_time()
    if equations.problem.phases:
        made = hf.certify_phases(equations)
    else:
        made = {"": hf.certify(equations)}
        if any(block.label is hf.Label.checked for block in made[""].blocks):
            made = hf.certify_stretches(equations)
    return process_time() - began, made


def lines(name: str) -> Iterator[Line]:
    """All blocks of one example that the law attracts."""
    try:
        seconds, made = certificates(name)
    except hf.BadRequest as error:
        print(f"{name}: {error.what}", file=sys.stderr)
        return
    for part, certificate in made.items():
        run = certificate.trajectory
        if run is None:
            continue  # there is nothing to hold
        steps = ExactSteps(hf.derive(run.problem), run, run.parameters)
        for block in certificate.blocks:
            if block.label is not hf.Label.neutral:
                yield line(f"{name} {part}".strip(), seconds, certificate, block, steps)


def line(name: str, seconds: float, certificate: Any, block: Any, steps: ExactSteps) -> Line:
    proof, told = block.proof, (name, ", ".join(block.constraints), block.label.value)
    if proof is None:
        return Line(*told, 0, seconds, *[None] * 6)
    cells = len(proof.tube.cells) if hasattr(proof.tube, "cells") else proof.cells
    if isinstance(proof, OrderedProof):
        ratios = [bound / seen for bound, seen in zip(block.bounds, block.observed, strict=True)]
        k = int(np.argmax(ratios))
        rounding = steps.worst_rounding(block, again=ratios[k] > WITHIN)
        return Line(*told, cells, seconds, None, None, *rounding, block.bounds[k], block.observed[k])
    truncation, rounding, total = steps.sizes(block)
    if truncation is not None and total is not None:
        beside = steps.elsewhere(block, total)
        truncation, rounding, total = map(max, (truncation, rounding, total), beside)
    bound = proof.coefficient * certificate.step ** (steps.scheme.order + 1)
    reaches = [] if any(block.observed) else getattr(proof, "reaches", [])
    least = UNDERFLOW
    if len(reaches):
        least = AS_GOOD_AS_NONE * float(np.linalg.norm(np.abs(proof.factor).T @ np.array(reaches)))
    return Line(*told, cells, seconds, bound, truncation, proof.rounding, rounding, block.defect, total, least)


def table(found: Sequence[Line]) -> str:
    """The part of docs/benchmarks.md about proofs."""
    rows = [
        "Written by `python -m benchmarks.proofs`: bounds of one step beside the largest that up to "
        f"{ROWS} rows of the run show and {PLACES + CLIMBED} other states of Omega or of the tube, in exact steps "
        f"of {BITS[0]} bits and more; the aim is {WITHIN:g} times. A dash: nothing was seen, or what is stated is as "
        "good as nothing, below what underflow takes, or for a deviation that is 0 all along the run a billionth of "
        "what the tube lets it be. *Total* "
        "is the defect, truncation with rounding; of steps that are followed in the order of time, the deviation. "
        "Seconds of the processor are for all blocks of an example together.", "",
        "| example | block | proved | cells | s | truncation | / seen | rounding | / seen | total / seen |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for one in found:
        kind = one.label.removeprefix("proved ").replace("along this run", "").strip()
        what = [f"{_number(getattr(one, w))} | {_number(one.ratio(w))}" for w in ("truncation", "rounding")]
        rows.append(
            f"| {one.problem} | {one.block} | {kind} | {one.cells} | {one.seconds:.2g} | {what[0]} | {what[1]} | "
            f"{_number(one.ratio('total'))} |"
        )
    return "\n".join(rows) + "\n"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"


def main() -> None:
    """Measure the examples that are named, or all."""
    chosen = sys.argv[1:] or sorted(file.name[:-5] for file in EXAMPLES.iterdir() if file.name.endswith(".toml"))
    found = list[Line]()
    for name in chosen:
        for one in lines(name):
            print(one, *map(one.ratio, MEASURED), file=sys.stderr, flush=True)
            found.append(one)
    beyond = [f"{one.problem}, {one.block}: {what}" for one in found for what in MEASURED if one.beyond(what)]
    if beyond:
        raise SystemExit("seen beyond what is proved:\n" + "\n".join(beyond))
    if sys.argv[1:]:
        print(table(found))
        return
    keep_records("proofs", records=list(map(asdict, found)))
    keep_section(TITLE, table(found))


if __name__ == "__main__":
    main()
