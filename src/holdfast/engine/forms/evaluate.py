"""A recorded tape, laid out for the kernel and evaluated over cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.engine.forms import dispatch
from holdfast.engine.forms.cutting import SPACE
from holdfast.engine.forms.kernel import LANES, kernel
from holdfast.engine.forms.tape import BINARY, LinearSystem, Recorder
from holdfast.engine.run.memory import reals

VALUES, LOOSE = 8, 64  # of work space for functions: values, and Reals beside them
MOST_MEMORY = 2**31  # bytes


@dataclass(frozen=True, eq=False)
class Forms:
    """Outputs of a tape over cells: polynomials [cell, output, monomial], remainders, and rounding of the run."""

    polynomials: np.ndarray
    remainders: np.ndarray
    rounding: np.ndarray

    def sizes(self) -> np.ndarray:
        """The largest value of each output over each cell, at most; infinite where there is no bound."""
        found = (np.abs(self.polynomials).sum(axis=-1) + self.remainders) * (1 + 2.0**-36)
        return np.where(np.isfinite(found), found, np.inf)


class FormTape:
    """Evaluates a recorder's code; memory is its own, so one call at a time."""

    def __init__(self, recorder: Recorder, outputs: Sequence[int]) -> None:
        self.terms, self.monomials = recorder.terms, recorder.monomials
        self._kernel = kernel(self.terms)
        self._inputs, self._outputs = recorder.inputs, list(outputs)
        self._slots, count = _allocated(recorder, self._outputs)
        self.length = len(recorder.code)
        self.products = _products(recorder)
        symbols = sum(len(system.unknowns) for system in recorder.systems)
        rows = len(self.monomials) + self.monomials.order + 5
        recorder.forget_symbols()
        size = (rows + max(symbols, recorder.most_symbols)) * self.terms
        self._shape = np.array(
            [len(self.monomials), self.monomials.order, rows, size, *self.monomials.degrees], np.int64
        )
        self._code, self._systems = self._laid_out(recorder)
        self._input_slots = np.array([self._slots[v] for v in self._inputs], np.int64)
        self._output_slots = np.array([self._slots[v] for v in self._outputs], np.int64)
        self._constants = np.array(recorder.constants or [(0.0, 0.0)])
        self._pairs = recorder.array()
        self._memory, self._bounds = reals(count * size, LANES), reals(max(1, symbols) * self.terms, LANES)
        self._betas, self._differences = reals(max(1, recorder.most_symbols), LANES), reals(max(1, symbols), LANES)
        self._work = reals(max(VALUES * size + LOOSE, *map(self._work_of, recorder.systems), 0), LANES)

    def _work_of(self, system: LinearSystem) -> int:
        n, terms = len(system.right), self.terms
        own = n * n + len(system.entries) * terms + 2 * n * terms + n * n * terms
        monomials = len(self.monomials)
        return own + max(n * n, n * monomials, (monomials + 2) * terms, (3 * n + 2) * terms + n) + LOOSE

    def _laid_out(self, recorder: Recorder) -> tuple[np.ndarray, np.ndarray]:
        slots, starts, flat = self._slots, list[int](), list[int]()
        for system in recorder.systems:
            starts.append(len(flat))
            flat += [len(system.right), len(system.entries), system.first]
            for (i, j), v in zip(system.places, system.entries, strict=True):
                flat += [i, j, slots[v], recorder.registers[v].residuals]
            for b in system.right:
                flat += [slots[b], recorder.registers[b].residuals] if b >= 0 else [-1, 0]
            flat += [slots[v] for v in system.unknowns] + [slots[v] if v >= 0 else -1 for v in system.errors]
        code = []
        for op, result, other, a, b, *rest, last, fresh in recorder.code:
            solves = op == dispatch.SOLVE
            operands = (
                slots[result],
                0 if solves else slots[other],
                0 if solves else slots[a],
                0 if solves else slots[b],
            )
            code.append((op, *operands, *rest, starts[last] if solves else last, fresh))
        return np.array(code or [(0,) * 13], np.int64), np.array(flat or [0], np.int64)

    @cached_property
    def _places(self) -> tuple[list[int], list[int], tuple[tuple[int, int], tuple[int, int]]]:
        """Where the kernel finds what is the same in every call; the arrays live as long as the tape does."""
        at: Any = lambda array: array.ctypes.data  # noqa: E731
        own = [self._memory, self._pairs, self._systems, self._bounds, self._betas, self._differences, self._work]
        ends = (at(self._input_slots), len(self._input_slots)), (at(self._output_slots), len(self._output_slots))
        return [at(self._shape), at(self._code), at(self._constants)], [at(array) for array in own], ends

    def __call__(self, cells: np.ndarray, degree: int = 0) -> Forms:
        """cells [cell, input, monomials + 3]: the polynomial, the coefficient of s, the remainder, the rounding."""
        count, width = len(cells), len(self.monomials)
        data, out = _in_lanes(cells), self._room(count, width + 2)
        first, rest, last = self._places
        self._kernel["forms"](
            *first, self.length, *rest, len(out), data.ctypes.data, *last[0], out.ctypes.data, *last[1], degree
        )
        found = _of_lanes(out, count)
        return Forms(found[..., :width].copy(), found[..., width], found[..., width + 1])

    def cut(self, low: np.ndarray, high: np.ndarray, limits: np.ndarray) -> tuple[np.ndarray, np.ndarray, Forms]:
        """Boxes [box, variable] drawn in to where all outputs lie between limits [2, output]; see `cutting`.

        Their ends [2, box, variable], of which boxes nothing is left, and the outputs over the others; the inputs are
        the variables themselves, and the forms of second order.
        """
        (count, variables), width = low.shape, len(self.monomials)
        boxes = _in_lanes(np.concatenate([low, high, np.ones((count, 1))], axis=1)[:, None])
        out, ends = self._room(count, width + 1), reals(limits.size, LANES)
        ends[:] = limits.reshape(-1, 1)
        space, (first, rest, last) = reals(2 * variables + SPACE, LANES), self._places
        self._kernel["cut"](
            *first, self.length, *rest, len(out), boxes.ctypes.data, *last[0], out.ctypes.data, *last[1],
            ends.ctypes.data, space.ctypes.data,
        )  # fmt: skip
        left, found = _of_lanes(boxes, count)[:, 0], _of_lanes(out, count)
        alive = left[:, -1] > 0
        both = np.stack([left[:, :variables], left[:, variables:-1]])
        found = found[alive]
        return both, alive, Forms(found[..., :width], found[..., width], np.zeros(found.shape[:-1]))

    def _room(self, count: int, width: int) -> np.ndarray:
        """For the outputs over so many cells."""
        return reals(-(-count // LANES), len(self._outputs), width, LANES)


def _in_lanes(cells: np.ndarray) -> np.ndarray:
    """Cells [cell, ...] as the kernel reads them, [block, ..., lane]; the last is repeated."""
    count, *inner = cells.shape
    blocks = -(-count // LANES)
    data = reals(blocks, *inner, LANES)
    if count < blocks * LANES:
        cells = cells.take(np.minimum(np.arange(blocks * LANES), count - 1), axis=0)
    data[:] = cells.reshape(blocks, LANES, *inner).transpose(0, *range(2, cells.ndim + 1), 1)
    return data


def _of_lanes(data: np.ndarray, count: int) -> np.ndarray:
    """The first so many cells of [block, ..., lane]."""
    blocks, *inner, lanes = data.shape
    return data.transpose(0, -1, *range(1, data.ndim - 1)).reshape(blocks * lanes, *inner)[:count]


def _products(recorder: Recorder) -> int:
    """How many products of two terms a cell takes, roughly: what the work of a search is counted in."""
    total = sum(20 + code[10] for code in recorder.code if code[0] != dispatch.SOLVE)
    total += sum(max(0, recorder.registers[code[1]].residuals) for code in recorder.code)
    for system, code in zip(recorder.systems, (c for c in recorder.code if c[0] == dispatch.SOLVE), strict=True):
        n, residuals = len(system.right), system.first + len(system.right)
        total += 3 * len(system.entries) * code[10] + residuals * (n * n + 2 * len(system.entries)) + 10 * n**3
    return total


def _allocated(recorder: Recorder, outputs: Sequence[int]) -> tuple[dict[int, int], int]:
    """A slot for each register, used again once its value is read for the last time; and how many there are."""
    reads = [_reads(recorder, code) for code in recorder.code]
    last = {v: i for i, read in enumerate(reads) for v in read}
    kept, slot, free, top = {*outputs, *recorder.inputs}, dict[int, int](), list[int](), 0
    for v in recorder.inputs:
        slot[v], top = top, top + 1
    for i, code in enumerate(recorder.code):
        written = _writes(recorder, code)
        for v in written:
            if free:
                slot[v] = free.pop()
            else:
                slot[v], top = top, top + 1
        for v in {*reads[i], *written}:
            if last.get(v, -1) <= i and v not in kept:
                free.append(slot[v])
    return slot, top


def _reads(recorder: Recorder, code: tuple[int, ...]) -> list[int]:
    op, _, _, a, b, *_ = code
    if op == dispatch.SOLVE:
        system = recorder.systems[code[11]]
        return [*system.entries, *(v for v in (*system.right, *system.errors) if v >= 0)]
    if op == dispatch.NUMBER:
        return []
    if op == dispatch.TALLY:
        return [a, b, code[2]]
    return [a, b] if op in BINARY else [a]


def _writes(recorder: Recorder, code: tuple[int, ...]) -> list[int]:
    if code[0] == dispatch.SOLVE:
        return list(recorder.systems[code[11]].unknowns)
    return [code[1]] if code[0] == dispatch.TALLY or code[1] == code[2] else [code[1], code[2]]
