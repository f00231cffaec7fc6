"""Rolled bodies as LLVM IR: loops over instances, what they read by rule or by table.

A loop of runs hands values on in registers. Along an elimination each turn needs at once what the one before it made;
through memory it would wait for the store, in every link of the longest chain of the body.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.engine.emit.body import CodeBody, Operand
from holdfast.engine.emit.code_piece import CodePiece, body_arguments, unless_in_place
from holdfast.engine.emit.llvm_writer import LLVMWriter
from holdfast.engine.emit.rolling import InstanceRun, RolledBody, Site, at_once, even_parts, evenly
from holdfast.engine.emit.target import Value

MEMORY = Value("pr", "%scratch")

Rule = tuple[int, int]  # a place that goes up with the turns of a site: where it begins, and by how much it goes up


def write_rolled(writer: LLVMWriter, name: str, body: CodeBody, rolled: RolledBody, *, fused: bool) -> None:
    """The body as a function of the module."""
    _RolledCode(writer, name, body, rolled, fused).write()


class _RolledCode:
    def __init__(self, writer: LLVMWriter, name: str, body: CodeBody, rolled: RolledBody, fused: bool) -> None:
        self.writer, self.name, self.body, self.rolled, self.fused = writer, name, body, rolled, fused
        self.tables: dict[str, np.ndarray] = {}
        self.at_hand: dict[Rule, str] = {}  # values that this turn has in registers, by their places

    def write(self) -> None:
        writer, body = self.writer, self.body
        writer.begin(self.name, body_arguments(), "", "noinline")
        for counter in ("turn", "each"):
            writer.declare(counter, "i")
        writer.store(MEMORY, _integer(0), writer.widen(Value("d", "%t")))
        self._copied("x", 1, body.states)
        self._copied("p", 1 + body.states, body.parameters)
        for site in self.rolled.sites:
            self._site(site)
        self._outputs()
        writer.end()
        for table, places in self.tables.items():
            listed = ", ".join(f"i32 {place}" for place in places.ravel().tolist())
            writer.functions.append(f"@{table} = private unnamed_addr constant [{places.size} x i32] [{listed}]")

    def _copied(self, array: str, begin: int, count: int) -> None:
        writer = self.writer
        with writer.loop("each", _integer(0), _integer(count)):
            place = writer.read("each", "i")
            value = writer.load(Value("pr", f"%{array}"), place)
            writer.store(MEMORY, writer.binary("+", place, _integer(begin)), value)

    def _outputs(self) -> None:
        writer, out = self.writer, Value("pr", "%out")
        for place, constant in self.rolled.constants:
            writer.store(out, _integer(place), Value("r", writer.splat(constant)))
        repeated = set(self.body.repeated)
        self._from_memory("outputs", [output for output in self.rolled.outputs if output not in repeated])
        unless_in_place(writer, self.body, lambda: self._from_memory("repeated", self.body.repeated))

    def _from_memory(self, name: str, outputs: Sequence[tuple[int, int]]) -> None:
        """Put values from memory into their places in the result."""
        writer, out = self.writer, Value("pr", "%out")
        if not outputs:
            return
        places = np.array(outputs)
        for first, last in even_parts(places):
            rules = [evenly(column[None, first:last]) for column in places.T]
            with writer.loop("each", _integer(first), _integer(last)):
                into, value = (self._listed(name, places, first, k, rule) for k, rule in enumerate(rules))
                writer.store(out, into, writer.load(MEMORY, value))

    def _listed(self, name: str, places: np.ndarray, first: int, column: int, rule: Rule | None) -> Value:
        """One of the two places of an output, by its rule from the first one on or by the table of all."""
        writer = self.writer
        if rule is not None:
            return self._ruled(int(places[first, column]) - first * rule[1], {"each": rule[1]})
        row = writer.binary("*", writer.read("each", "i"), _integer(2))
        return self._entry(self._table(name, places), writer.binary("+", row, _integer(column)))

    # ── sites ─────────────────────────────────────────────────────────────────────────────────────

    def _site(self, site: Site) -> None:
        """The runs of a site, all of them so many times; what a turn reads of the one before waits in a variable."""
        writer, self.at_hand = self.writer, {}
        if site.repeats == 1:
            for run in site.runs:
                self._run(run, 1)
            return
        waiting = {rule: f"last{len(writer.entry) + k}" for k, rule in enumerate(self._handed_on(site))}
        for (begin, _), name in waiting.items():
            writer.declare(name, "r")
            writer.assign(name, writer.load(MEMORY, _integer(begin)))
        with writer.loop("turn", _integer(0), _integer(site.repeats)):
            self.at_hand = {rule: writer.read(name, "r").text for rule, name in waiting.items()}
            for run in site.runs:
                self._run(run, site.repeats)
            for (begin, step), name in waiting.items():
                writer.assign(name, Value("r", self.at_hand[begin + step, step]))

    def _handed_on(self, site: Site) -> list[Rule]:
        """Places that a turn reads and the turn before it wrote; what the first turn reads is not of this site."""
        rolled, found = self.rolled, dict[Rule, None]()
        made = {self._written(run, number) for run in site.runs for number in range(run.count)}
        single = [(run, number) for run in site.runs for number in range(run.count) if _by_one(run, site.repeats)]
        written = {self._written(run, number) for run, number in single}
        for run, number in single:
            for read in range(rolled.templates[run.template].reads):
                begin, rule = self._read_rule(run, site.repeats, number, read)
                if rule and (begin + rule[0], rule[0]) in written and not _among(begin, made, site.repeats):
                    found[begin, rule[0]] = None
        return list(found)

    def _written(self, run: InstanceRun, number: int) -> Rule:
        """Where an instance of a run puts its value, turn by turn."""
        return self.rolled.begins[run.template] + run.first + number, run.advance

    def _read_rule(self, run: InstanceRun, repeats: int, number: int | None, read: int) -> tuple[int, Rule | None]:
        """The first place that instances read, and by how much it goes up with each turn and instance, if evenly."""
        each = np.arange(run.count) if number is None else np.array([number])
        which = run.first + np.arange(repeats)[:, None] * run.advance + each
        places = self.rolled.reads[run.template][which, read]
        return int(places[0, 0]), evenly(places)

    # ── runs ──────────────────────────────────────────────────────────────────────────────────────

    def _run(self, run: InstanceRun, repeats: int) -> None:
        if _by_one(run, repeats):
            for k in range(run.count):
                self._instance(run, repeats, k)
        else:
            for first, last in even_parts(self.rolled.reads[run.template][run.first : run.first + run.count]):
                self._loop(InstanceRun(run.template, run.first + first, last - first, run.advance), repeats)

    def _loop(self, run: InstanceRun, repeats: int) -> None:
        """Instances of one level do not read each other: several of them may be computed at once."""
        writer, begin = self.writer, len(self.writer.lines)
        with writer.loop("each", _integer(0), _integer(run.count)):
            self._instance(run, repeats, None)
        group = writer.mark("")
        for k in range(begin, len(writer.lines)):
            line = writer.lines[k]
            if (" load " in line or "  store " in line) and "%at." not in line:
                writer.lines[k] = f"{line}, !llvm.access.group {group}"
        inner = writer.mark(f'!"llvm.loop.parallel_accesses", {group}')
        writer.lines[-2] += f", !llvm.loop {writer.mark(f'@, {inner}')}"  # the way back to the head

    def _instance(self, run: InstanceRun, repeats: int, number: int | None) -> None:
        """One instance: of the number given, or of the loop over all of the run."""
        writer, rolled = self.writer, self.rolled
        template = rolled.templates[run.template]
        instance = self._number(run, repeats, number)
        texts: dict[int, str] = {}
        for read in range(template.reads):
            begin, rule = self._read_rule(run, repeats, number, read)
            if rule is None:
                name = self._table(f"t{run.template}", rolled.reads[run.template])
                row = writer.binary("*", instance, _integer(template.reads))
                place = self._entry(name, writer.binary("+", row, _integer(read)))
            elif number is not None and (begin, rule[0]) in self.at_hand:
                texts[read] = self.at_hand[begin, rule[0]]
                continue
            else:
                place = self._ruled(begin, dict(zip(("turn", "each"), rule, strict=True)))
            texts[read] = writer.load(MEMORY, place).text
        piece = _InstanceCode(writer, self.body, texts, fused=self.fused)
        for k, (op, operands) in enumerate(template.statements, start=1):
            texts[-k] = piece.statement(op, operands)
        value = texts[-len(template.statements)]
        place = writer.binary("+", instance, _integer(rolled.begins[run.template]))
        writer.store(MEMORY, place, Value("r", value))
        if number is not None:
            self.at_hand[self._written(run, number)] = value

    def _number(self, run: InstanceRun, repeats: int, number: int | None) -> Value:
        """The number of the instance."""
        writer, found = self.writer, _integer(run.first + (number or 0))
        if repeats > 1:
            found = writer.binary("+", writer.binary("*", writer.read("turn", "i"), _integer(run.advance)), found)
        return found if number is not None else writer.binary("+", found, writer.read("each", "i"))

    def _ruled(self, begin: int, steps: dict[str, int]) -> Value:
        writer, place = self.writer, _integer(begin)
        for counter, step in steps.items():
            if step:
                place = writer.binary("+", writer.binary("*", writer.read(counter, "i"), _integer(step)), place)
        return place

    def _table(self, kind: str, places: np.ndarray) -> str:
        name = f"{self.name}.{kind}"
        self.tables.setdefault(name, places)
        return name

    def _entry(self, table: str, place: Value) -> Value:
        writer = self.writer
        at = writer.let(f"getelementptr i32, ptr @{table}, i64 {place.text}")
        short = writer.let(f"load i32, ptr {at}, align 4")
        return Value("i", writer.let(f"sext i32 {short} to i64"))


class _InstanceCode(CodePiece):
    """The statements of a template, over values that are there already."""

    def __init__(self, writer: LLVMWriter, body: CodeBody, values: dict[int, str], *, fused: bool) -> None:
        super().__init__(writer, body, {}, fused=fused)
        self.texts = values

    def text(self, operand: Operand) -> str:
        return self.writer.splat(operand) if isinstance(operand, float) else self.texts[operand]


def _by_one(run: InstanceRun, repeats: int) -> bool:
    """Whether the instances of a run are written out one by one."""
    return run.count <= at_once(repeats)


def _among(place: int, made: set[Rule], repeats: int) -> bool:
    """Whether a place is one of those that go by some rules."""
    return any(0 <= place - begin < step * repeats and not (place - begin) % step for begin, step in made)


def _integer(value: int) -> Value:
    return Value("i", str(value))
