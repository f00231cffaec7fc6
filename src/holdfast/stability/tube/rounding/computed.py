"""One step as it is computed, on a tape: where its results may lie, and how far they are from those of an exact one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction

from holdfast.engine.forms.rounding import OPERATION
from holdfast.engine.forms.tape import CARRIED, DIFFERENCE, RUNNING, SYMBOLS, Recorder, Value
from holdfast.graph.nodes import Node
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.tube.flow import TubeFlow
from holdfast.stability.tube.refinement import Refinement
from holdfast.stability.tube.step import Rates, Stages


class ComputedStep:
    """The stages of a scheme, the code of each followed from its own state to the residual it leaves in the system.

    From there on the computed step is an exact one with other residuals, and differs as these do. Errors within the
    code are added up, which is quick, or `fine`, with a symbol for each.
    """

    def __init__(
        self, flow: TubeFlow, scheme: RungeKutta, step: float, tape: Recorder, *, fine: bool = False,
        chosen: Sequence[list[int]] | None = None, varying: bool = False,
    ) -> None:  # fmt: skip
        """With `varying`, the length of the step is the first input, at most `step`."""
        self.flow, self._tape = flow, tape
        self._own = SYMBOLS if fine else RUNNING
        tape.rounds = DIFFERENCE
        self._step = Fraction(step)
        self.tau: Value = tape.input([len(flow.variables) + 1]) if varying else self._step
        taken = Stages(flow, scheme, tape, self.tau, chosen)
        self.start, self.stages = taken.state, list[list[Value]]()
        self.results: list[dict[int, Value]] = []  # of the code at each stage, by node
        for node, row in zip(scheme.nodes, scheme.stages, strict=True):
            place = self._advanced(taken, row, self.stages)
            self.stages.append(self._rates(taken, taken.moment(node), place))
        self.end = taken.moment(Fraction(1))
        self.after = self._advanced(taken, scheme.weights, self.stages)

    @contextmanager
    def _carried(self, how: int) -> Iterator[None]:
        """Within, rounding is carried in another way."""
        before, self._tape.rounds = self._tape.rounds, how
        yield
        self._tape.rounds = before

    def _rates(self, taken: Stages, moment: Value, place: Sequence[Value]) -> list[Value]:
        """The rates of a stage, as wrong as the code computes them."""
        tape, flow = self._tape, self.flow
        entries, right, direct = taken.system(moment, place)
        solved: list[Value]
        if flow.refinement is not None and entries:
            solved, computed = self._in_passes(flow.refinement, entries, right, [moment, *place])
        else:
            unknowns, computed = self._code([moment, *place])
            errors = self._left(entries, unknowns, len(right)) if entries else []
            solved = [*tape.solve(entries, right, errors)] if entries else []
        found: Rates = {i: tape.more(tape.number(x), computed[i]) for i, x in direct.items()}
        tape.forget_symbols()
        return taken.solved(solved, found)

    def _in_passes(
        self, refinement: Refinement, entries: Mapping[tuple[int, int], Value], right: Sequence[Value],
        place: Sequence[Value],
    ) -> tuple[list[Value], list[int]]:  # fmt: skip
        """Unknowns and rates where a system is solved in passes: each from what the one before has computed.

        A pass is exact in what it is given but for the errors of its own operations, which are added to its results:
        enclosures of all passes at once would multiply the errors of each by the weights of the next.
        """
        tape = self._tape
        solved: list[Value] = []
        computed: list[int] = []
        for k, nodes in enumerate(refinement.passes):
            known = dict(zip(refinement.passes[k - 1], self.wide(solved), strict=True)) if k else {}
            tape.forget_symbols()
            unknowns, computed = self._code(place, nodes, known)
            exact = refinement.solved_once(tape, entries, right, solved)
            solved = [tape.more(x, own) for x, own in zip(exact, unknowns, strict=True)]
        return solved, computed

    def wide(self, values: Sequence[Value]) -> list[int]:
        """The values of the computed step, without residuals and taken for exact."""
        return [self._tape.wide(self._tape.plain(x)) for x in values]

    def _code(
        self, place: Sequence[Value], wanted: Sequence[Node] | None = None, known: Mapping[Node, Value] | None = None
    ) -> tuple[list[int], list[int]]:
        """Unknowns (those of the system, or others) and rates as they are computed at a place, from what is known."""
        flow, tape = self.flow, self._tape
        moment, *state = self.wide(place)
        at = dict(zip(flow.variables, state, strict=True))
        before = known or {}
        inputs = flow.code_inputs[1 : len(flow.code_inputs) - len(flow.parameters)]
        with self._carried(self._own):
            numbers = [tape.number(Fraction(value)) for value in flow.parameters]
            values: list[Value] = [moment, *(at.get(node, Fraction(0)) for node in inputs), *numbers]
            wanted = wanted or (flow.code_unknowns if flow.unknowns else ())
            given, start = (*flow.code_inputs, *before), [*values, *before.values()]
            results = tape.whole_graph(given, start, (*wanted, *self._direct))
            found = [tape.number(results[node.index]) for node in (*wanted, *self._direct)]
        self.results.append(results)
        return found[: len(wanted)], found[len(wanted) :]

    @property
    def _direct(self) -> list[Node]:
        """The rates, nothing in the place of those that a system gives."""
        zero = self.flow.time.graph.zero
        return [zero if i in self.flow.unknowns else rate for i, rate in enumerate(self.flow.code_rates)]

    def _left(self, entries: Mapping[tuple[int, int], Value], unknowns: Sequence[int], size: int) -> list[int]:
        """The residual that computed unknowns leave: A times their errors, as the error of A times themselves."""
        tape = self._tape
        rows: list[Value] = [Fraction(0)] * size
        for (i, j), entry in zip(entries, self.wide(list(entries.values())), strict=True):
            with self._carried(CARRIED):
                rows[i] = tape.add(rows[i], tape.mul(entry, unknowns[j]))
        return [tape.number(row) for row in rows]

    def _advanced(self, taken: Stages, weights: Sequence[Fraction], stages: Sequence[list[Value]]) -> list[Value]:
        """x + step Σ b K with the rounding of a driver."""
        tape, own, shares = self._tape, *driver_units(weights[: len(stages)], self._step)
        result: list[Value] = []
        for i, x in enumerate(taken.advanced(weights, stages) if shares else taken.state):
            value = tape.number(x)
            if shares:
                value = tape.slack(value, tape.number(taken.state[i]), own)
            for k, share in shares.items():
                value = tape.slack(value, tape.number(stages[k][i]), share)
            result.append(value)
        return result


def driver_units(weights: Sequence[Fraction], step: Fraction) -> tuple[float, dict[int, float]]:
    """What x + step Σ b K may be wrong by beside |x|, and beside |K| of each stage that counts.

    A driver sums the n terms in any order, multiplies by the step, and adds that to x. So x takes part in one rounding,
    of a sum of at most |x| and all terms; of a term there are those of b, of its product, of n - 1 sums, of the step
    and of that last sum. The one more and a hundredth are for products of errors.
    """
    used = {k: Fraction(b) for k, b in enumerate(weights) if b}
    shares = {k: float(abs(b) * step) * (1 + OPERATION) for k, b in used.items()}
    return 1.01 * OPERATION, {k: 1.01 * (len(used) + 4) * OPERATION * x for k, x in shares.items()}
