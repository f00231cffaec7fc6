"""Proofs in a tube, re-checked: cells as forms, the coefficient of a step, and certificates that were altered."""

import copy
import json
from fractions import Fraction
from itertools import pairwise

import flint
import mpmath
import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

import holdfast as hf
from holdfast.stability.certificate.tube_attack import rows_outside
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.numbers.evaluate import ball_values
from holdfast.stability.verifier.reading.file import claims, digest
from holdfast.stability.verifier.reading.tubes import tubes
from holdfast.stability.verifier.refusal import Refused
from holdfast.stability.verifier.steps.contraction import Contraction, top
from holdfast.stability.verifier.tube.cells import TubeCells
from holdfast.stability.verifier.tube.groups import grouped, groups
from holdfast.stability.verifier.tube.solving import response_of, series_product
from holdfast.stability.verifier.tube.space import LONG, TubeSpace
from holdfast.stability.verifier.tube.step import TubeStep
from tests.stability.held import pendulum

STEP, DURATION, WIDTH = 0.01, 0.4, 1e-3


def stated_tube(run, pieces=8, width=WIDTH):
    """Cubics through the run, with a box around them."""
    names = list(run.state_names)
    curve = CubicHermiteSpline(run.times, run.y.T, np.gradient(run.y, run.times, axis=1, edge_order=2).T)
    ends = np.linspace(run.times[0], run.times[-1], pieces + 1)
    s = np.linspace(0, 1, 33)
    powers, scales = np.vander(s, 4, increasing=True), np.ptp(run.y, axis=1)
    cells = []
    for first, last in pairwise(ends):
        places = curve(first + s * (last - first))
        cubic = np.linalg.lstsq(powers, places, rcond=None)[0]
        half = width * scales + 1.2 * np.abs(powers @ cubic - places).max(axis=0) + 1e-12
        cells.append([first, last, cubic.T.tolist(), half.tolist()])
    return {"width": width, "scales": dict(zip(names, scales.tolist(), strict=True)), "cells": cells}


@pytest.fixture(scope="module")
def made():
    """A certificate in a tube, made from the numbers of a proof in a region and from what the tube itself shows."""
    equations = hf.derive(pendulum(0.3))
    run = hf.simulate(equations, hf.RK4, step=STEP, duration=DURATION)
    data = hf.certify(equations, hf.RK4, trajectory=run, step=STEP, effort=2).to_dict()
    block = data["blocks"][0]
    assert block["label"] == "proved"
    for name in ("start_size", "from_step"):
        block.pop(name, None)
    old, tube = block["proof"], stated_tube(run)
    read = reading(claims({**data, "digest": digest(data)}))
    factor = np.array(old["factor"])
    step = TubeStep(read.equations, [block["names"]], read.tableau, STEP)
    cells = cells_of(tube)
    coefficient = 1.1 * float(step.judged(cells, [factor])[0].max())
    with_bits = flint.ctx.prec
    flint.ctx.prec = 160
    matrix = [[Fraction(x) for x in row] for row in block["matrix"]]
    contraction = Contraction(matrix, read.tableau, STEP, old["factor"], old["gamma"])
    defect = flint.arb(coefficient) * flint.arb(STEP) ** 5 + flint.arb(old["rounding"])
    place = dict(zip(read.equations.inputs, map(flint.arb, (0.0, *data["start"])), strict=True))
    start = top(contraction.norm(ball_values([read.equations.psi[name] for name in block["names"]], place)))
    settled, widths = contraction.settled(defect), contraction.widths()
    bounds = [top(a + flint.arb(start) * b) for a, b in zip(settled, widths, strict=True)]
    radius = top(contraction.radius(defect))
    flint.ctx.prec = with_bits
    proof = {name: old[name] for name in ("factor", "gamma", "rounding")}
    proof |= {"kind": "tube", "tube": 0, "coefficient": coefficient, "radius": 1.0000001 * radius}
    block |= {"label": "tube", "proof": proof, "defect": top(defect), "epsilon": proof["radius"], "bounds": bounds}
    block |= {"settles": start > proof["radius"], "stayed": True}
    data["tubes"] = [tube]
    return data, run


def cells_of(tube):
    (stated,) = tubes([tube], "tubes")
    return TubeCells.whole(list(stated.scales), stated.spans, stated.curves, stated.halves)


def verified(data, tmp_path, **more):
    signed = {**data, "digest": digest(data)}
    (tmp_path / "c.json").write_text(json.dumps(signed))
    return hf.verify(tmp_path / "c.json", **more)


def test_a_tube_is_verified(made, tmp_path):
    told = []
    found = verified(made[0], tmp_path, progress=told.append)
    assert found.holds, found.findings
    assert "holds in the tube" in found.findings[0]
    assert told[-1] == 1


ALTERED = {
    "a gap between cells": (lambda d: d["tubes"][0]["cells"][3].__setitem__(0, 0.1501), "do not meet"),
    "a cell left out": (lambda d: d["tubes"][0]["cells"].pop(3), "do not meet"),
    "the last cell left out": (lambda d: d["tubes"][0]["cells"].pop(), "ends before the run"),
    "the first cell left out": (lambda d: d["tubes"][0]["cells"].pop(0), "begins elsewhere"),
    "a cell turned round": (lambda d: d["tubes"][0]["cells"].reverse(), "do not meet"),
    "a wider tube said": (lambda d: d["tubes"][0].__setitem__("width", 0.01), "narrower than stated"),
    "a curve moved": (lambda d: moved(d, 2, 0.5), "leaves the tube"),
    "a box made thin": (lambda d: thin(d), "narrower than stated"),
    "ranges made small": (lambda d: small(d), "moves further in its run"),
    "a smaller coefficient": (lambda d: scaled(d, "coefficient", 0.2), "not confirmed"),
    "a smaller radius": (lambda d: scaled(d, "radius", 0.5), "radius is smaller"),
    "a smaller rounding": (lambda d: scaled(d, "rounding", 1e-3), "rounding is not confirmed"),
    "no rounding": (lambda d: scaled(d, "rounding", 0.0), "rounding is stated smaller"),
    "a better contraction": (lambda d: better(d), "one step does not contract as stated"),
    "smaller bounds": (
        lambda d: block(d).__setitem__("bounds", [b / 2 for b in block(d)["bounds"]]),
        "is smaller than",
    ),
    "a run that left": (lambda d: block(d).__setitem__("stayed", False), "a run that stays in it"),
    "called proved": (lambda d: block(d).__setitem__("label", "proved"), "is called otherwise"),
    "another tube": (lambda d: block(d)["proof"].__setitem__("tube", 1), "its tube is not in the certificate"),
    "no tubes": (lambda d: d.pop("tubes"), "its tube is not in the certificate"),
    "states in another order": (lambda d: swapped(d), "not one of the states"),
    "another law": (lambda d: block(d)["matrix"][1].__setitem__(0, -24.0), "the law is not the one"),
    "not a number": (lambda d: d["tubes"][0]["cells"][0][3].__setitem__(0, "x"), "what is no number"),
    "a negative width": (lambda d: d["tubes"][0]["cells"][0][3].__setitem__(0, -1.0), "what is no number"),
    "three numbers of a cubic": (lambda d: d["tubes"][0]["cells"][0][2][0].pop(), "no shape"),
    "more than is known": (lambda d: d["tubes"][0].__setitem__("more", 1), "lacks a field or has more"),
    "another kind": (lambda d: block(d)["proof"].__setitem__("kind", "sphere"), "unknown kind"),
}


def block(data):
    return data["blocks"][0]


def scaled(data, name, share):
    block(data)["proof"][name] *= share


def better(data):
    block(data)["gamma"] = block(data)["proof"]["gamma"] = 1 - 2 * (1 - block(data)["gamma"])
    block(data)["proof"]["radius"] *= 0.6


def moved(data, cell, share):
    entry = data["tubes"][0]["cells"][cell]
    entry[2][0][0] += 3 * entry[3][0]


def thin(data):
    for entry in data["tubes"][0]["cells"]:
        entry[3] = [0.5 * x for x in entry[3]]


def small(data):
    tube = data["tubes"][0]
    tube["scales"] = {name: 0.1 * x for name, x in tube["scales"].items()}
    tube["width"] *= 10


def swapped(data):
    scales = data["tubes"][0]["scales"]
    data["tubes"][0]["scales"] = dict(reversed(scales.items()))


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_tube_is_refused(made, tmp_path, name):
    data = copy.deepcopy(made[0])
    change, words = ALTERED[name]
    change(data)
    found = verified(data, tmp_path, cells=400)
    assert not found.holds
    assert words in found.findings[0] or (words == "not confirmed" and "budget" in found.findings[0]), found.findings


# ── the coefficient ───────────────────────────────────────────────────────────────────────────────


def rates(z):
    """The pendulum of `held` by hand: x'' = λ x, y'' = λ y − g, with w' = −25 y − 10 w."""
    x, y, u, v = z
    deviation, rate = (x * x + y * y - 1) / 2, x * u + y * v
    push = (-25 * deviation - 10 * rate - u * u - v * v + mpmath.mpf(9.81) * y) / (x * x + y * y)
    return [u, v, push * x, push * y - mpmath.mpf(9.81)]


def deviations_after(z, tau):
    k1 = rates(z)
    k2 = rates([a + tau / 2 * b for a, b in zip(z, k1, strict=True)])
    k3 = rates([a + tau / 2 * b for a, b in zip(z, k2, strict=True)])
    k4 = rates([a + tau * b for a, b in zip(z, k3, strict=True)])
    x, y, u, v = (a + tau / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(z, k1, k2, k3, k4, strict=True))
    return [(x * x + y * y - 1) / 2, x * u + y * v]


def test_the_coefficient_encloses_that_of_random_states_in_sixty_digits(made):
    """d⁵/dτ⁵ of the deviations after a step of length τ, by another derivation, anywhere in a cell."""
    data, _ = made
    read, tube = reading(claims({**data, "digest": digest(data)})), data["tubes"][0]
    cells = cells_of(tube)
    step = TubeStep(read.equations, [["y_rod", "w_rod"]], read.tableau, STEP)
    forms = step.coefficients(cells)
    ends = [form.range() for form in forms]
    shake = np.random.default_rng(4)
    with mpmath.workdps(60):
        for k in range(len(cells)):
            for _ in range(3):
                s, xi = shake.choice([0, shake.uniform(), 1]), shake.choice([0, shake.uniform(), 1]) * STEP
                offset = shake.choice([-1, 1], 4) * shake.uniform(0.5, 1)
                z = cells.curves[k] @ np.array([1, s, s**2, s**3]) + offset * cells.halves[k] * (1 - 1e-9)
                place = [mpmath.mpf(float(x)) for x in z]
                for i in (0, 1):
                    exact = mpmath.diff(lambda tau, place=place, i=i: deviations_after(place, tau)[i], xi, 5) / 120
                    low, high = ends[i][0][k], ends[i][1][k]
                    assert low - 1e-9 * abs(low) <= exact <= high + 1e-9 * abs(high)
    spread = [(high - low) / np.abs(high + low).max() for low, high in ends]
    assert np.max(spread) < 1  # which says something


# ── parts ─────────────────────────────────────────────────────────────────────────────────────────


def test_cells_as_forms_hold_their_states(made):
    tube = made[0]["tubes"][0]
    cells = cells_of(tube)
    halved = cells.halved(np.arange(len(cells)) % 6)
    shake, space = np.random.default_rng(2), TubeSpace(4, 5, 2)
    for part in (cells, halved):
        values = part.values(space)
        share = shake.uniform(0, 1, part.low.shape)
        place = part.low + share * (part.high - part.low)
        e = 2 * share - 1
        s = place[:, 0]
        time = part.spans[:, 0] + s * (part.spans[:, 1] - part.spans[:, 0])
        held(values["t"], space, e, time)
        for i, name in enumerate(part.names):
            state = np.einsum("nk,nk->n", part.curves[:, i], np.stack([s**k for k in range(4)], axis=1))
            held(values[name], space, e, state + place[:, 2 + i] * part.halves[:, i])


def held(form, space, e, wanted):
    """The polynomial at e is what is wanted, within the remainder."""
    total = np.zeros(len(e))
    for place, (a, b) in enumerate(LONG):
        total += form.c[:, place, 0] * e[:, 0] ** a * e[:, 1] ** b
    for j in range(space.others):
        total += form.c[:, space.across(j), 0] * e[:, 2 + j]
    assert (np.abs(total - wanted) <= form.r[:, 0] + 1e-15 * np.abs(wanted)).all()


def test_halves_cover_the_whole(made):
    cells = cells_of(made[0]["tubes"][0])
    parts = cells.halved(np.full(len(cells), 2))
    count = len(cells)
    assert (parts.low[:count] == cells.low).all()
    assert (parts.high[count:] == cells.high).all()
    assert (parts.high[:count, 2] == parts.low[count:, 2]).all()


def test_products_of_monomials_are_products():
    space = TubeSpace(3, 4, 1)
    left, right, starts, _ = space.pairs
    target = np.repeat(np.arange(space.size), np.diff([*starts, len(left)]))
    shake = np.random.default_rng(0).uniform(-1, 1, 2 + 3 + 4)

    def value(k):
        if k < len(LONG):
            return shake[0] ** LONG[k][0] * shake[1] ** LONG[k][1]
        if k < space.square(0):
            times, j = divmod(k - len(LONG), 3)
            return shake[2 + j] * (1, shake[0], shake[1])[times]
        if k < space.first_symbol:
            i, j = space.squares[k - space.square(0)]
            return shake[2 + i] * shake[2 + j]
        return shake[5 + k - space.first_symbol]

    for a, b, c in zip(left, right, target, strict=True):
        assert value(a) * value(b) == pytest.approx(value(c))
    assert len(set(zip(left, right, strict=True))) == len(left)
    assert kept_by_weight(space) == set(zip(left.tolist(), right.tolist(), strict=True))


def kept_by_weight(space):
    """Pairs of monomials that the remainder of a product does not count, because their product is kept."""
    weight = np.arange(space.order + 1) @ space.by_degree
    places = range(space.size)
    return {(a, b) for a in places for b in places if weight[a] + weight[b] <= space.order}


def test_what_many_states_keep_is_what_their_weights_say():
    space = TubeSpace(14, 2, 1)
    left, right, _, _ = space.pairs
    assert kept_by_weight(space) == set(zip(left.tolist(), right.tolist(), strict=True))


def test_the_response_solves_its_series():
    shake = np.random.default_rng(3)
    mid = shake.normal(size=(2, 3, 3, 4))
    found = response_of(mid, np.linalg.inv(mid[..., 0]))
    product = series_product(mid, found)
    assert product[..., 0] == pytest.approx(np.broadcast_to(np.eye(3), (2, 3, 3)), abs=1e-9)
    assert np.abs(product[..., 1:]).max() < 1e-6 * np.abs(found).max()


def test_rows_outside_are_told_exactly(made):
    data, run = made
    (tube,) = tubes(data["tubes"], "tubes")
    assert rows_outside(tube, run.times, run.y.T) == []
    states = run.y.T.copy()
    states[7, 1] += 10
    states[9, 0] = np.nan
    assert rows_outside(tube, run.times, states) == [7, 9]
    edge = tube.curves[0, :, 0] + tube.halves[0]
    first = tube.spans[:1, 0]
    ends = zip(edge, tube.curves[0, :, 0], tube.halves[0], strict=True)
    exact = [abs(Fraction(float(x)) - Fraction(float(p))) <= Fraction(float(h)) for x, p, h in ends]
    assert (rows_outside(tube, first, edge[None]) == []) == all(exact)  # decided exactly, whichever it is


def test_tubes_of_no_shape_are_refused():
    for wrong in ([], {}, [1], [{}], [{"width": 1, "scales": {}, "cells": []}], "tubes"):
        if wrong == []:
            continue
        with pytest.raises(Refused):
            tubes(wrong, "tubes")


# ── several cells as one ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("late", [0.0, 1e6])
@pytest.mark.parametrize("size", [1.0, 1e-9, 1e9])
def test_a_group_holds_every_state_of_its_cells(size, late):
    """Cells of unequal lengths whose cubics do not fit each other well, at random and at their borders."""
    rng = np.random.default_rng(4)
    ends = late + np.cumsum(rng.uniform(0.01, 0.05, 9))
    spans = np.stack([ends[:-1], ends[1:]], axis=1)
    curves = size * rng.normal(size=(8, 2, 4)) * [1.0, 0.3, 0.1, 0.1]
    halves = size * rng.uniform(1e-4, 1e-2, (8, 2))
    one = grouped(TubeCells.whole(["x", "v"], spans, curves, halves))
    assert (one.spans[0] == [spans[0, 0], spans[-1, 1]]).all()
    for k in range(8):
        for s in (0.0, 1.0, *rng.uniform(0, 1, 30)):
            moment = Fraction(spans[k, 0]) + Fraction(s) * (Fraction(spans[k, 1]) - Fraction(spans[k, 0]))
            sigma = (moment - Fraction(spans[0, 0])) / (Fraction(spans[-1, 1]) - Fraction(spans[0, 0]))
            for i in range(2):
                at = sum(Fraction(c) * Fraction(s) ** n for n, c in enumerate(curves[k, i]))
                middle = sum(Fraction(c) * sigma**n for n, c in enumerate(one.curves[0, i]))
                far = max(abs(at + sign * Fraction(halves[k, i]) - middle) for sign in (-1, 1))
                assert far <= Fraction(one.halves[0, i])


def test_a_group_along_one_curve_is_hardly_wider_than_its_cells():
    ends = np.linspace(0, 1, 9)
    spans = np.stack([ends[:-1], ends[1:]], axis=1)
    length = 1 / 8
    curves = np.array([[[np.sin(t), length * np.cos(t), -(length**2) * np.sin(t) / 2, -(length**3) * np.cos(t) / 6]]
                       for t in ends[:-1]])  # fmt: skip
    one = grouped(TubeCells.whole(["x"], spans, curves, np.full((8, 1), 1e-3)))
    assert 1e-3 <= one.halves[0, 0] < 1.5e-3


def test_groups_have_every_cell_once():
    for count in (1, 8, 9, 30):
        assert np.concatenate(groups(count)).tolist() == list(range(count))
