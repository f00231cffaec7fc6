"""A law that varies or is not linear, over one step: how the step contracts, by the variation of its own equations.

    dz/dt = F(z, X(t), t),  z(0) = z₀        dZ/dt = ∂F/∂z Z,  Z(0) = I         A = Σ_{k≤p} τᵏ Z_k

X(s) is the motion itself, as a power series in s over a cell, found by repeated integration of its rates; z and Z
follow along it. A scheme of order p gives ψ⁺ = A ψ + c τ^(p+1), with A a mean over z₀ between 0 and ψ, because F
vanishes with the deviations of the block. ‖Lᵀ A L⁻ᵀ‖ ≤ γ is shown over every cell of the region.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers.dag import Node, inputs_of, ordered
from holdfast.stability.verifier.numbers.evaluate import Forms
from holdfast.stability.verifier.numbers.forms import GROWTH, UNIT, Array, Form, Space, combination, space
from holdfast.stability.verifier.reading.equations import KINKS, Equations
from holdfast.stability.verifier.refusal import Unconfirmed, require
from holdfast.stability.verifier.steps.cells import Cells
from holdfast.stability.verifier.steps.contraction import Norm
from holdfast.stability.verifier.steps.motion import WholeMotion

ORDER = 1  # of the forms: what varies within a cell is small beside γ already
SPREAD = 1e-9  # relative, beyond what doubles say of the norm of a small matrix of doubles


def varies(equations: Equations, names: Sequence[str]) -> bool:
    """Whether the law of a block is other than linear with constant coefficients; refused where it jumps or bends."""
    dag = equations.dag
    deviations = [dag.input(name) for name in equations.psi]
    demands = [equations.demand[name[2:]] for name in names if name[0] == "w"]
    slopes = [slope for row in dag.partials(demands, deviations) for slope in row]
    if all(slope.op == "const" for slope in slopes):
        return False
    beneath = {node.index for node in deviations}
    for node in ordered(demands):
        if any(arg.index in beneath for arg in node.args):
            require(node.op not in KINKS, "the law jumps or bends, so its slopes say nothing of it")
            beneath.add(node.index)
    return True


class UniformContraction(Norm):
    """‖A‖ ≤ γ at every state: of powers nothing is known but γ."""

    step_matrix = None

    def settled(self, defect: Any) -> list[Any]:
        radius = self.radius(defect)
        return [radius * width for width in self.widths()]


class VaryingLaw:
    """Judges ‖A‖ over cells of the region."""

    def __init__(
        self, equations: Equations, names: list[str], order: int, step: float, factor: list[list[float]],
        sizes: Mapping[str, tuple[float, float]],
    ) -> None:  # fmt: skip
        dag = equations.dag
        self.motion, self.names, self.order, self.step = WholeMotion(equations, names), names, order, step
        self.all_names = list(equations.psi)
        flow = {name: self._flow(equations, name) for name in self.all_names}
        own = [flow[name] for name in names]
        still = dag.substituted(own, {dag.input(name): dag.zero for name in names})
        require(all(node is dag.zero for node in still), "the law does not vanish on the program")
        self._slopes = dag.partials(own, [dag.input(name) for name in names])
        self._followed = self._closure(flow)
        missing = [name for name in self._followed if name not in sizes]
        if missing:
            raise Unconfirmed(f"the law depends on {missing[0]}, of which the region says nothing")
        self._flow_nodes, self._sizes = {name: flow[name] for name in self._followed}, sizes
        used = inputs_of([*self._flow_nodes.values(), *(node for row in self._slopes for node in row)])
        self.used = {name for name in used if name in self.motion.variables}
        strange = used - set(self.all_names) - set(equations.inputs)
        require(not strange, "the law depends on what is not known here")
        lacking = used - set(self.all_names) - {"t"} - set(self.motion.variables)
        require(not lacking, f"the law depends on {', '.join(sorted(lacking))}, which the deviations do not")
        self._turned = np.array(factor).T
        self._back = np.linalg.inv(self._turned)
        off = np.abs(np.eye(len(factor)) - self._turned @ self._back).sum() + 4 * len(factor) ** 2 * UNIT * float(
            (np.abs(self._turned) @ np.abs(self._back)).sum()
        )
        require(off < 1e-3, "the norm is nearly singular")
        self._inexact = 1 / (1 - off * GROWTH)

    @staticmethod
    def _flow(equations: Equations, name: str) -> Node:
        return equations.dag.input(f"w_{name[2:]}") if name[0] == "y" else equations.demand[name[2:]]

    def _closure(self, flow: Mapping[str, Node]) -> list[str]:
        """The deviations of the block, and those that their law depends on."""
        found, waiting = set(self.names), list(self.names)
        while waiting:
            new = inputs_of([flow[waiting.pop()]]) & set(self.all_names) - found
            found |= new
            waiting += new
        return [name for name in self.all_names if name in found]

    def judge(self, cells: Cells) -> tuple[Array, Array, Array]:
        chosen = space((1,) * cells.basis.shape[2], ORDER, self.order + 1)
        with np.errstate(all="ignore"):
            bounds = self._bounds(chosen, cells)
        width = cells.high - cells.low
        relevant = np.array([name in self.used for name in cells.variables], float)
        shares = width * relevant / np.maximum(width.max(axis=0, initial=0.0), 1e-300)
        return np.where(np.isnan(bounds), np.inf, bounds), np.zeros(len(cells)), shares

    def _bounds(self, chosen: Space, cells: Cells) -> Array:
        count = len(cells)
        motion = self._moved(chosen, count, cells.values(chosen))
        z = self._deviations(chosen, count, motion)
        forms = Forms(chosen, count, {**motion, **z})
        slopes = [forms.of(row) for row in self._slopes]
        rows = self._variation(chosen, count, slopes)
        total = [[_at(form, self.step) for form in row] for row in rows]
        return self._norm(total, count)

    def _moved(self, chosen: Space, count: int, begin: Mapping[str, Form]) -> dict[str, Form]:
        """Time and state along the motion, as series in s."""
        found = dict(begin)
        found["t"] = _shift(begin["t"])
        if not (self.used - {"t"}):
            return found
        for _ in range(self.order):
            rates = self.motion.rates(chosen, count, found)
            found |= {name: _integrated(begin[name], rates[name]) for name in self.motion.states}
        return found

    def _deviations(self, chosen: Space, count: int, motion: Mapping[str, Form]) -> dict[str, Form]:
        """z along the motion, from anywhere between 0 and the limits."""
        begin = {}
        for name in self._followed:
            low, high = min(self._sizes[name][0], 0.0), max(self._sizes[name][1], 0.0)
            middle = (low + high) / 2
            begin[name] = Form.constant(chosen, np.full(count, middle), (high - low) / 2 * GROWTH + UNIT * abs(middle))
        found = dict(begin)
        for _ in range(self.order):
            forms = Forms(chosen, count, {**motion, **found})
            flows = forms.of(list(self._flow_nodes.values()))
            found = {name: _integrated(begin[name], flow) for name, flow in zip(self._followed, flows, strict=True)}
        return found

    def _variation(self, chosen: Space, count: int, slopes: list[list[Form]]) -> list[list[Form]]:
        """Z along the motion, from the identity."""
        size = len(self.names)
        unit = [[Form.constant(chosen, np.full(count, float(i == j))) for j in range(size)] for i in range(size)]
        found = unit
        for _ in range(self.order):
            moved = [[_dot(slopes[i], [row[j] for row in found]) for j in range(size)] for i in range(size)]
            found = [[_integrated(unit[i][j], moved[i][j]) for j in range(size)] for i in range(size)]
        return found

    def _norm(self, rows: list[list[Form]], count: int) -> Array:
        """‖Lᵀ A L⁻ᵀ‖ over each cell: of the middle in doubles, and of what may be added to it."""
        size = len(self.names)
        turned = np.broadcast_to(self._turned, (count, size, size))
        back = np.broadcast_to(self._back.T, (count, size, size))
        columns = [combination(turned, [rows[i][j] for i in range(size)]) for j in range(size)]  # Lᵀ A, by column
        image = [combination(back, [columns[j][i] for j in range(size)]) for i in range(size)]
        middle = np.array([[form.c[:, 0, 0] for form in row] for row in image]).transpose(2, 0, 1)
        reach = np.array([[_reach(form) for form in row] for row in image])
        bad = ~np.isfinite(middle).all(axis=(1, 2))
        sizes = np.linalg.norm(np.where(bad[:, None, None], 0.0, middle), ord=2, axis=(1, 2)) * (1 + SPREAD)
        total = (sizes + np.sqrt((reach**2).sum(axis=(0, 1)))) * GROWTH * self._inexact
        return np.where(bad, np.inf, total)


def _reach(form: Form) -> Array:
    """How far a form may be from its middle."""
    found: Array = (np.abs(form.c[:, 1:, 0]).sum(axis=1) + form.r[:, 0]) * GROWTH
    return found


def _shift(form: Form) -> Form:
    """t + s."""
    c = form.c.copy()
    if c.shape[2] > 1:
        c[:, 0, 1] += 1.0
    return Form(form.space, c, form.r.copy())


def _integrated(begin: Form, rate: Form) -> Form:
    """begin + ∫ rate ds, power by power."""
    c, r = np.zeros_like(rate.c), np.zeros_like(rate.r)
    powers = np.arange(1, c.shape[2])
    c[:, :, 1:] = rate.c[:, :, :-1] / powers
    r[:, 1:] = (rate.r[:, :-1] + UNIT * np.abs(rate.c[:, :, :-1]).sum(axis=1)) / powers * GROWTH
    c[:, :, 0], r[:, 0] = begin.c[:, :, 0], begin.r[:, 0]
    return Form(rate.space, c, r)


def _at(form: Form, step: float) -> Form:
    """The series at s = step, as a form without powers."""
    total: Form | None = None
    for power in reversed(range(form.c.shape[2])):
        c, r = np.zeros_like(form.c), np.zeros_like(form.r)
        c[:, :, 0], r[:, 0] = form.c[:, :, power], form.r[:, power]
        one = Form(form.space, c, r)
        total = one if total is None else one + total.scaled(step)
    assert total is not None
    return total


def _dot(row: Sequence[Form], column: Sequence[Form]) -> Form:
    total = row[0] * column[0]
    for a, b in zip(row[1:], column[1:], strict=True):
        total = total + a * b
    return total
