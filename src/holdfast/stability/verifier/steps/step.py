"""One step over a batch of cells: the coefficient of its defect.

    d(τ) = ψ(Φ_τ(x), t + τ) − R(τH) ψ(x, t) = τ^(p+1) (c₁ + c₂ τ + c₃(ξ) τ²),     ξ ∈ [0, step]

c₁, c₂ are Taylor coefficients of d at τ = 0, c₃ is one over the whole step. R is of degree p, so ψ(Φ_τ) has them alone;
that the coefficients up to p vanish is what M a = h + E μ, J a + γ = Y and the order of the scheme say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from holdfast.stability.verifier.numbers.evaluate import times
from holdfast.stability.verifier.numbers.forms import Array, Form, Space
from holdfast.stability.verifier.schemes import Tableau
from holdfast.stability.verifier.steps.motion import AffineMotion, WholeMotion

Motion = WholeMotion | AffineMotion
Place = Callable[[Space], Mapping[str, Form]]


def after(motion: Motion, tableau: Tableau, tau: Form, values: Mapping[str, Form]) -> list[Form]:
    """ψ(Φ_τ(x), t + τ) as series in s."""
    space, cells = tau.space, len(tau.c)
    begin = motion.begin(space, cells, values)
    stages: list[dict[str, Form]] = []
    for node, row in zip(tableau.nodes, tableau.stages, strict=True):
        place = _moved(motion, begin, tau, row, stages, node)
        stages.append(motion.rates(space, cells, place))
    return motion.psi(space, cells, _moved(motion, begin, tau, tableau.weights, stages, Fraction(1)))


def _moved(
    motion: Motion,
    begin: Mapping[str, Form],
    tau: Form,
    weights: tuple[Fraction, ...],
    stages: list[dict[str, Form]],
    node: Fraction,
) -> dict[str, Form]:
    found = dict(begin)
    if node and "t" in begin:
        found["t"] = begin["t"] + _scaled(node, tau)
    if any(weights):
        for name in motion.states:
            terms = [_scaled(b, stage[name]) for b, stage in zip(weights, stages, strict=False) if b]
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            found[name] = begin[name] + total * tau
    return found


def _scaled(factor: Fraction, form: Form) -> Form:
    found = times(factor, form)
    assert isinstance(found, Form)
    return found


def nearby(motion: Motion, tableau: Tableau, near: Mapping[str, Form]) -> list[Form]:
    """ψ after a step, as a series in its length about 0."""
    space = next(iter(near.values())).space
    cells = len(next(iter(near.values())).c)
    tau = Form.constant(space, np.zeros(cells))
    tau.c[:, 0, 1] = 1.0
    return after(motion, tableau, tau, near)


def without_rest(close: list[Form], order: int, step: float) -> list[Form]:
    """c over [0, step] less its remainder: no bound, but where this is too large already, so is the whole."""
    return [_alone(a, order + 1) + _within(_alone(a, order + 2), step) for a in close]


def coefficients(
    motion: Motion, tableau: Tableau, step: float, close: list[Form], far: Mapping[str, Form], pieces: int = 1
) -> list[Form]:
    """c over [0, step] for each deviation, as forms in the space of `close` (their power 0).

    c₃ is taken over so many pieces of the step: where much turns within one step, one piece says little.
    """
    order, space = tableau.order, close[0].space
    rough = next(iter(far.values())).space
    ends: list[tuple[Array, Array]] = []
    for k in range(pieces):
        middle, reach = step * (2 * k + 1) / (2 * pieces), step / (2 * pieces)
        part = Form.constant(rough, np.full(len(close[0].c), middle), step * 2.0**-50)
        part.c[:, rough.linear[-1], 0], part.c[:, 0, 1] = reach, 1.0
        found = [form.range(order + 3) for form in after(motion, tableau, part, far)]
        ends = (
            found
            if not ends
            else [(np.minimum(a, low), np.maximum(b, high)) for (a, b), (low, high) in zip(ends, found, strict=True)]
        )
    out = []
    for a, (low, high) in zip(close, ends, strict=True):
        total = Form.constant(space, (low + high) / 2, (high - low) / 2 * (1 + 1e-12) + 1e-290)
        for power in (order + 2, order + 1):
            total = _alone(a, power) + _within(total, step)
        out.append(total)
    return out


def _alone(form: Form, power: int) -> Form:
    """One power of s, as a form without powers."""
    c, r = np.zeros_like(form.c), np.zeros_like(form.r)
    c[:, :, 0], r[:, 0] = form.c[:, :, power], form.r[:, power]
    return Form(form.space, c, r)


def _within(form: Form, step: float) -> Form:
    """τ f for all τ in [0, step]: half of it, and as much to either side."""
    half = form.scaled(step / 2)
    half.r[:, 0] += half.bound()[:, 0] * (1 + 1e-12)
    return half
