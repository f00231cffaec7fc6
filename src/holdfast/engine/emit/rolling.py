"""Bodies of many like parts as loops: links of a chain, cells of a lattice, steps of a long elimination.

A body is a list of statements. Values that are used once stay within the expression that uses them; what is left are
expressions whose values go to memory. Those that are alike up to the names of what they read are instances of one
*template*. In the order of their *levels* (one more than the deepest value that is read) the templates follow each
other as a list of runs, so many instances each; and where that list repeats itself, as it does along an elimination, it
becomes a loop of runs:

    memory     t, x, p, then for each template the values of its instances, in the order in which they are computed
    site       a few runs, each of some instances of one template; all of them repeated
    places     of what an instance reads: by tables, or by a rule where they go up evenly

The statements are those of the body, operation by operation, so that rolled code computes the bits of straight code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from holdfast.engine.emit.body import CodeBody, Operand, Statement

ToldStatement = tuple[str, tuple[int | str, ...]]  # with the bits of constants

ROLLED_FROM = 3_000  # statements, and outputs of a stage between eliminations: from here on loops are no slower (0028)
LARGEST_EXPRESSION = 48  # statements of an expression, about: a sum of thousands of terms is cut
LONGEST_PERIOD = 256  # runs that repeat together: a step along a chain has 3, along a strip of three columns 47
SHORTER = 4  # times fewer statements than straight code, at least: otherwise there is little to roll
LONG, MOST_PARTS = 16, 40  # instances in a row that go up evenly, and as many parts of a run: worth loops of their own
MOST_KINDS, MOSTLY = 8, 0.9  # kinds of instances that take turns, and how much of a run must do so
EARLY, AHEAD = 3, 3  # statements of a part that is ready so many levels before the rest: computed by itself
AT_ONCE, AT_EACH_TURN = 4, 16  # instances of a run that are written out one by one: once, and in a loop of runs


@dataclass(frozen=True, slots=True)
class Template:
    """Statements over what is read (0, 1, ...) and over each other (−1 is the first); the last one is the value."""

    statements: tuple[Statement, ...]
    reads: int


@dataclass(frozen=True, slots=True)
class InstanceRun:
    """Instances of a template: from `first` on, `count` of them, and `advance` further each time it is repeated."""

    template: int
    first: int
    count: int
    advance: int


@dataclass(frozen=True, slots=True)
class Site:
    """Runs in order, all of them so many times."""

    runs: tuple[InstanceRun, ...]
    repeats: int


@dataclass(frozen=True, eq=False)
class RolledBody:
    """Templates, where their values lie, what their instances read, and the sites in order."""

    templates: tuple[Template, ...]
    begins: tuple[int, ...]  # of each template: the place of the value of its first instance
    reads: tuple[np.ndarray, ...]  # of each template: (instances, reads), places
    sites: tuple[Site, ...]
    outputs: tuple[tuple[int, int], ...]  # place in the result, place in memory
    constants: tuple[tuple[int, float], ...]  # place in the result, value
    size: int  # Reals of memory

    @property
    def written(self) -> int:
        """Statements of code."""
        length = [len(template.statements) for template in self.templates]
        return sum(
            length[run.template] * (run.count if run.count <= at_once(site.repeats) else 1)
            for site in self.sites
            for run in site.runs
        )


def at_once(repeats: int) -> int:
    """How many instances of a run are written out one by one, where it is repeated so often."""
    return AT_ONCE if repeats == 1 else AT_EACH_TURN


def rolled(body: CodeBody) -> RolledBody | None:
    """The body as loops; None where it is short, or has too little that is alike."""
    written = len(body.statements) + (len(body.outputs) if body.stage else 0)
    if written < ROLLED_FROM:
        return None
    found = _Rolling(body).result()
    return found if found.written * SHORTER <= written else None


@dataclass(frozen=True, eq=False)
class _Instances:
    """All instances in the order of computing: by level and template, then by slot."""

    slot: np.ndarray
    level: np.ndarray
    template: np.ndarray
    first: np.ndarray  # of the reads of each instance, among those of all
    width: np.ndarray  # how many it reads
    reads: np.ndarray  # slots

    @classmethod
    def of(cls, slots: list[int], levels: list[int], templates: list[int], reads: list[list[int]]) -> _Instances:
        """From what is known of each, by slots going up."""
        slot, level, template = (np.array(part, dtype=np.int64) for part in (slots, levels, templates))
        width = np.fromiter(map(len, reads), dtype=np.int64, count=len(reads))
        flat = np.fromiter(chain.from_iterable(reads), dtype=np.int64, count=int(width.sum()))
        order = np.lexsort((template, level))
        first = np.cumsum(width) - width
        return cls(slot[order], level[order], template[order], first[order], width[order], flat)

    def reads_of(self, instances: np.ndarray) -> np.ndarray:
        """What some instances of one template read, (instances, reads)."""
        width = int(self.width[instances[0]])
        return self.reads[self.first[instances][:, None] + np.arange(width)]

    def runs(self) -> list[tuple[int, int]]:
        """Where runs of one level and template begin and end."""
        changes = (np.diff(self.level) != 0) | (np.diff(self.template) != 0)
        ends = [*(np.nonzero(changes)[0] + 1).tolist(), len(self.slot)] if len(self.slot) else []
        return list(zip([0, *ends], ends, strict=False))


class _Rolling:
    """The bookkeeping of `rolled`."""

    def __init__(self, body: CodeBody) -> None:
        self.body, self.inputs = body, body.inputs
        self.kept, self.level = self._kept()
        self.templates: dict[tuple[ToldStatement, ...], int] = {}

    def _kept(self) -> tuple[bytearray, list[int]]:
        """Which slots are in memory: inputs, and values used more than once or not at all here, given out, or long; and
        the level of each.
        """
        body = self.body
        uses, size = [0] * (self.inputs + len(body.statements)), [1] * (self.inputs + len(body.statements))
        for _, operands in body.statements:
            for operand in operands:
                if isinstance(operand, int):
                    uses[operand] += 1
        kept = bytearray([count != 1 for count in uses])
        kept[: self.inputs] = b"\1" * self.inputs
        for _, operand in body.outputs:
            if isinstance(operand, int):
                kept[operand] = 1
        level = [0] * len(kept)  # of the deepest value that an expression reads; of one that is kept, its own
        for slot, (_, operands) in enumerate(body.statements, self.inputs):
            deepest, length = 0, 1
            for operand in operands:
                if isinstance(operand, int) and level[operand] > deepest:
                    deepest = level[operand]
            for operand in operands:
                if isinstance(operand, int) and not kept[operand]:
                    if size[operand] >= EARLY and level[operand] <= deepest - AHEAD:
                        kept[operand] = 1  # ready long before: it need not wait within a long chain
                        level[operand] += 1
                    else:
                        length += size[operand]
            size[slot] = length
            if length > LARGEST_EXPRESSION:
                kept[slot] = 1
            level[slot] = deepest + kept[slot]
        return kept, level

    def result(self) -> RolledBody:
        forms, reads_of = self._forms()
        known: dict[tuple[int, tuple[int, ...] | None], int] = {}
        slots = list(compress(range(self.inputs, len(self.kept)), self.kept[self.inputs :]))
        templates, reads = list[int](), list[list[int]]()
        for slot in slots:
            every = reads_of[slot]
            own = list(dict.fromkeys(every)) if len(every) > 1 else every
            key = forms[slot], None if len(own) == len(every) else tuple([own.index(read) for read in every])
            template = known.get(key)
            if template is None:
                template = known[key] = self._template(slot)
            templates.append(template)
            reads.append(own)
        return self._placed(_Instances.of(slots, [self.level[slot] for slot in slots], templates, reads))

    def _forms(self) -> tuple[list[int], list[list[int]]]:
        """Of each slot: the number of its form, without what it reads, and the slots that are read, in order."""
        known: dict[tuple[object, ...], int] = {}
        kept = self.kept
        forms, reads_of = [0] * self.inputs, [list[int]()] * self.inputs  # those of inputs are never asked for
        for op, operands in self.body.statements:
            form: list[object] = [op]
            reads: list[int] = []
            for operand in operands:
                if isinstance(operand, float):
                    form.append(operand.hex())  # which tells 0.0 from -0.0, and nan from nothing
                elif kept[operand]:
                    form.append(None)
                    reads.append(operand)
                else:
                    form.append(forms[operand])
                    reads += reads_of[operand]
            forms.append(known.setdefault(tuple(form), len(known)))
            reads_of.append(reads)
        return forms, reads_of

    def _template(self, slot: int) -> int:
        """The template of an expression."""
        reads: dict[int, int] = {}
        code: list[ToldStatement] = []
        statements, kept, inputs = self.body.statements, self.kept, self.inputs

        def written(slot: int) -> int:
            op, operands = statements[slot - inputs]
            named: list[int | str] = []
            for operand in operands:
                if isinstance(operand, float):
                    named.append(operand.hex())  # which tells 0.0 from -0.0, and nan from nothing
                elif kept[operand]:
                    named.append(reads.setdefault(operand, len(reads)))
                else:
                    named.append(written(operand))
            code.append((op, tuple(named)))
            return -len(code)

        written(slot)
        return self.templates.setdefault(tuple(code), len(self.templates))

    def _placed(self, found: _Instances) -> RolledBody:
        counts = np.bincount(found.template, minlength=len(self.templates))
        ends = (self.inputs + np.cumsum(counts)).tolist()
        begins, size = [self.inputs, *ends][: len(ends)], max(ends, default=self.inputs)
        runs = found.runs()
        place = self._places(found, runs)
        by_place = np.argsort(place[found.slot])
        of_each = [by_place[begin - self.inputs : end - self.inputs] for begin, end in zip(begins, ends, strict=True)]
        reads = tuple(place[found.reads_of(instances)] for instances in of_each)
        outputs = tuple((k, int(place[o])) for k, o in self.body.outputs if isinstance(o, int))
        constants = tuple((k, o) for k, o in self.body.outputs if isinstance(o, float))
        templates = tuple(
            Template(tuple((op, tuple(map(_value, o))) for op, o in code), table.shape[1])
            for code, table in zip(self.templates, reads, strict=True)
        )
        sites = tuple(self._sites([(int(found.template[begin]), end - begin) for begin, end in runs]))
        return RolledBody(templates, tuple(begins), reads, sites, outputs, constants, size)

    def _places(self, found: _Instances, runs: Sequence[tuple[int, int]]) -> np.ndarray:
        """Where the value of each slot lies: by template, in the order of computing but for an even order of reads."""
        place = np.arange(len(self.kept))
        by_template = np.argsort(found.template, kind="stable")
        place[found.slot[by_template]] = self.inputs + np.arange(len(by_template))
        for begin, end in runs:
            if end - begin >= LONG:
                slots = found.slot[begin:end]
                order = even_order(place[found.reads_of(np.arange(begin, end))])
                place[slots[order]] = place[slots]
        return place

    def _sites(self, runs: Sequence[tuple[int, int]]) -> Iterator[Site]:
        """The runs of all levels, as templates and counts, and what repeats of them."""
        taken = [0] * len(self.templates)
        at = 0
        while at < len(runs):
            period, repeats = _repetition(runs, at)
            pattern = runs[at : at + period]
            advance = [0] * len(self.templates)
            made = []
            for template, count in pattern:
                made.append((template, taken[template] + advance[template], count))
                advance[template] += count
            yield Site(tuple(InstanceRun(t, first, count, advance[t]) for t, first, count in made), repeats)
            for template, each in enumerate(advance):
                taken[template] += each * repeats
            at += period * repeats


def _repetition(runs: Sequence[tuple[int, int]], at: int) -> tuple[int, int]:
    """The period from here on that covers most by being repeated, and how often; one run, once, where none repeats."""
    best = (1, 1)
    for period in range(1, min(LONGEST_PERIOD, (len(runs) - at) // 2) + 1):
        if runs[at] != runs[at + period]:
            continue
        repeats = 1
        while runs[at + repeats * period : at + (repeats + 1) * period] == runs[at : at + period]:
            repeats += 1
        if repeats > 2 and repeats * period > best[0] * best[1]:
            best = (period, repeats)
    return best


def _value(operand: int | str) -> Operand:
    return float.fromhex(operand) if isinstance(operand, str) else operand


def evenly(places: np.ndarray) -> tuple[int, int] | None:
    """By how much places (turns, instances) go up with each turn and with each instance, where they do so evenly."""
    turn = int(places[1, 0] - places[0, 0]) if len(places) > 1 else 0
    each = int(places[0, 1] - places[0, 0]) if places.shape[1] > 1 else 0
    rule = places[0, 0] + turn * np.arange(len(places))[:, None] + each * np.arange(places.shape[1])
    return (turn, each) if np.array_equal(places, rule) else None


def even_order(reads: np.ndarray) -> np.ndarray:
    """An order of instances in which what they read goes up evenly for long: those of one kind together, where several
    kinds take turns.
    """
    count = len(reads)
    for kinds in range(1, min(MOST_KINDS, count // LONG) + 1):
        steps = reads[kinds:] - reads[:-kinds]
        even = (steps[kinds:] == steps[:-kinds]).all(axis=1)
        if even.mean() > MOSTLY:
            return np.argsort(np.arange(count) % kinds, kind="stable")
    return np.arange(count)


def even_parts(reads: np.ndarray) -> list[tuple[int, int]]:
    """A run cut where what it reads does not go up evenly; the whole of it where that gives too many parts."""
    count = len(reads)
    steps = np.diff(reads, axis=0)
    breaks = np.nonzero((steps[1:] != steps[:-1]).any(axis=1))[0] + 1  # instances whose step from the last one is new
    ends, begin = list[int](), 0
    for place in [*breaks.tolist(), count - 1]:
        if place - begin + 1 >= LONG:
            if begin and (not ends or ends[-1] != begin):
                ends.append(begin)
            ends.append(place + 1)
            begin = place + 1
        elif place > begin:
            begin = place
    cuts = [0, *(end for end in dict.fromkeys(ends) if 0 < end < count), count]
    return list(pairwise(cuts)) if len(cuts) <= MOST_PARTS + 1 else [(0, count)]
