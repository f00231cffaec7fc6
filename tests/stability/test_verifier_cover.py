"""The verifier's covering: remainders never round down, cells lose no state even at the level of rounding, and boxes
are cut where it helps until the claim is shown, contradicted, or the budget is spent."""

import time
from fractions import Fraction

import flint
import numpy as np
import pytest

from holdfast.stability.verifier.numbers.dag import Dag
from holdfast.stability.verifier.numbers.forms import UNIT, Form, combination, space
from holdfast.stability.verifier.refusal import Refused, Unconfirmed
from holdfast.stability.verifier.steps.cells import Cells, Cutter, Limit, boxes
from holdfast.stability.verifier.steps.cover import SLENDER, SMALL, Budget, _cuts, _halves, covered, small
from holdfast.stability.verifier.steps.defect import _shares, judged

# ── remainders ────────────────────────────────────────────────────────────────────────────────────

COUNT = 300
PLAIN = space((), 0, 1)


def known(rng, value=0.0):
    """Numbers a cell with remainders of 53 random bits."""
    return Form.constant(PLAIN, value * rng.uniform(0.5, 1, COUNT), rng.uniform(0.5, 1, COUNT) / 3)


def exactly(values):
    return [Fraction(float(x)) for x in np.asarray(values).reshape(-1)]


REMAINDERS = {
    "a sum": (lambda a, b: a + b, lambda x, y: x + y),
    "a difference": (lambda a, b: a - b, lambda x, y: x + y),
    "a product": (lambda a, b: a * b, lambda x, y: x * y),
    "a multiple": (lambda a, b: a.scaled(np.full(COUNT, 1 / 3)), lambda x, y: x * Fraction(1 / 3)),
    "a multiple that is not known": (
        lambda a, b: a.scaled(np.zeros(COUNT), np.full(COUNT, 1 / 3)), lambda x, y: x * Fraction(1 / 3)
    ),
    "a shift": (lambda a, b: a.shifted(np.zeros(COUNT), b.r[:, 0]), lambda x, y: x + y),
    "a combination": (
        lambda a, b: combination(np.full((COUNT, 1, 2), 1 / 3), [a, b])[0], lambda x, y: (x + y) * Fraction(1 / 3)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REMAINDERS)
def test_a_remainder_is_never_rounded_down(name):
    make, truth = REMAINDERS[name]
    rng = np.random.default_rng(3)
    a, b = known(rng), known(rng)
    made = exactly(make(a, b).r[:, 0])
    for found, x, y in zip(made, exactly(a.r), exactly(b.r), strict=True):
        assert truth(x, y) <= found <= truth(x, y) * (1 + Fraction(1, 10**9))


def test_bounds_and_ranges_are_never_rounded_inwards():
    rng = np.random.default_rng(4)
    form = known(rng, value=7.0)
    bounds, (low, high) = exactly(form.bound()), (exactly(end) for end in form.range())
    for bound, least, most, c, r in zip(bounds, low, high, exactly(form.c), exactly(form.r), strict=True):
        assert least <= c - r < c + r <= most
        assert abs(c) + r <= bound <= (abs(c) + r) * (1 + Fraction(1, 10**9))


def test_the_norm_of_forms_is_between_its_bounds():
    rng = np.random.default_rng(5)
    forms = [known(rng, value=v) for v in (7.0, -5.0, 0.1)]
    cells = boxes(["x"], np.zeros((COUNT, 1)), np.ones((COUNT, 1)))
    plain = [Form.constant(space((1,), 1, 1), form.c[:, 0, 0], form.r[:, 0]) for form in forms]
    most, least, _ = judged(plain, cells)
    for k in range(COUNT):
        sizes = [(abs(Fraction(f.c[k, 0, 0])), Fraction(f.r[k, 0])) for f in forms]
        upper = sum((c + r) ** 2 for c, r in sizes)
        lower = sum(max(c - r, Fraction(0)) ** 2 for c, r in sizes)
        assert upper <= Fraction(most[k]) ** 2 <= upper * (1 + Fraction(1, 10**9))
        assert lower * (1 - Fraction(1, 10**9)) <= Fraction(least[k]) ** 2 <= lower
    nowhere = Form.constant(space((1,), 1, 1), np.full(COUNT, np.nan))
    most, least, _ = judged([nowhere], cells)
    assert np.isinf(most).all()
    assert (least == 0).all()


# ── cells ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def many_bits():
    before, flint.ctx.prec = flint.ctx.prec, 300
    yield
    flint.ctx.prec = before


def assert_held(cells, at, point):
    """x = centre + basis·e ± slack with e in [−1, 1]ⁿ: e by 300 bits, cut to its range, leaves at most the slack."""
    centre, basis, slack = cells.centre[at], cells.basis[at], cells.slack[at]
    off = [[flint.arb(float(x)) - flint.arb(float(c))] for x, c in zip(point, centre, strict=True)]
    table = flint.arb_mat([[flint.arb(float(b)) for b in row] for row in basis])
    e = [float(x.mid()) for x in table.solve(flint.arb_mat(off)).entries()]
    near = flint.arb_mat([[flint.arb(min(1.0, max(-1.0, x)))] for x in e])
    left = flint.arb_mat(off) - table * near
    for rest, room in zip(left.entries(), slack, strict=True):
        assert abs(rest.mid()) <= flint.arb(float(room)), (e, slack)


@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize(("middle", "width"), [(0.0, 1.0), (1.0, 1e-3), (1e6, 1e-6), (-3.0, 1e-12)])
def test_no_state_is_lost_even_at_the_level_of_rounding(middle, width, turned, many_bits, monkeypatch):
    """Points on the very border of a strip x + 2y − c across a box that may be tiny beside its place."""
    rows, on_the_way = Cutter._rows, []
    monkeypatch.setattr(Cutter, "_rows", lambda self, cells: (on_the_way.append(cells.slack), rows(self, cells))[1])
    dag = Dag()
    x, y = dag.input("x"), dag.input("y")
    rng = np.random.default_rng(6)
    centre = np.array([middle, middle / 3])
    c = Fraction(float(centre[0])) + 2 * Fraction(float(centre[1]))
    strip = dag.sub(dag.add(x, dag.mul(dag.const(2), y)), dag.const(c))
    half = width / 50
    limits = [Limit(strip, -half, half, across=True)]
    low, high = centre - width * rng.uniform(0.3, 1, (30, 2)), centre + width * rng.uniform(0.3, 1, (30, 2))
    alive, cells = Cutter(["x", "y"], limits, turned=turned).cells(low, high)
    assert all((slack >= 0).all() for slack in (*on_the_way, cells.slack))
    size = np.abs(cells.centre) + np.abs(cells.low) + np.abs(cells.high) + 10 * np.abs(cells.basis).sum(axis=2)
    assert (cells.slack <= 200 * UNIT * size).all()  # it is there for rounding alone
    seen = 0
    for k in range(30):
        for _ in range(40):
            ends = np.where(
                rng.random(2) < 0.3, np.where(rng.random(2) < 0.5, low[k], high[k]), rng.uniform(low[k], high[k])
            )
            edge = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)])
            y_exact = (c + Fraction(half) * Fraction(edge) - Fraction(float(ends[0]))) / 2
            for y_near in (float(y_exact), np.nextafter(float(y_exact), -np.inf), np.nextafter(float(y_exact), np.inf)):
                off = Fraction(float(ends[0])) + 2 * Fraction(y_near) - c
                if abs(off) <= Fraction(half) and low[k, 1] <= y_near <= high[k, 1]:
                    assert k in alive
                    assert_held(cells, int(np.flatnonzero(alive == k)[0]), (float(ends[0]), y_near))
                    seen += 1
    assert seen > 100
    if turned and width > 1e-4:  # thin across the strip
        assert cells.across == 1
        assert np.abs(cells.basis[:, :, 0]).max() < 0.2 * width


def test_boxes_that_hold_no_state_are_left_out():
    dag = Dag()
    x = dag.input("x")
    cutter = Cutter(["x", "y"], [Limit(x, 2.0, 3.0, across=False)])
    low, high = np.array([[0.0, 0.0], [1.5, 0.0], [3.1, 0.0]]), np.array([[1.9, 1.0], [2.5, 1.0], [4.0, 1.0]])
    alive, cells = cutter.cells(low, high)
    assert alive.tolist() == [1]
    assert cells.low[0] == pytest.approx([2.0, 0.0])
    assert cells.high[0] == pytest.approx([2.5, 1.0])


def test_a_limit_that_says_nothing_cuts_nothing():
    dag = Dag()
    low, high = np.zeros((2, 2)), np.ones((2, 2))
    for limits in ([], [Limit(dag.input("x"), -9.0, 9.0, across=True)]):
        alive, cells = Cutter(["x", "y"], limits).cells(low, high)
        assert alive.tolist() == [0, 1]
        assert cells.low == pytest.approx(low, abs=1e-12)
        assert cells.high == pytest.approx(high, abs=1e-12)
        assert cells.across == 0


def test_directions_across_count_twice_where_most_cells_are_thin():
    thin = np.tile(np.diag([0.01, 1.0]), (3, 1, 1))
    ends = (np.full((3, 2), -1.0), np.full((3, 2), 1.0))
    cells = Cells(["x", "y"], *ends, np.zeros((3, 2)), thin, np.zeros((3, 2)), 1)
    assert cells.weights() == (2, 1)
    fat = thin.copy()
    fat[:2, 0, 0] = 0.5
    assert Cells(["x", "y"], *ends, np.zeros((3, 2)), fat, np.zeros((3, 2)), 1).weights() == (1, 1)
    assert Cells(["x", "y"], *ends, np.zeros((3, 2)), thin, np.zeros((3, 2)), 0).weights() == (1, 1)


def test_a_part_of_the_cells_is_the_same_cells():
    rng = np.random.default_rng(2)
    low = rng.uniform(-1, 0, (5, 2))
    cells = boxes(["x", "y"], low, low + 1)
    some = cells.chosen(np.array([True, False, True, False, False]))
    assert len(some) == 2
    for name in ("low", "high", "centre", "basis", "slack"):
        assert getattr(some, name).tolist() == getattr(cells, name)[[0, 2]].tolist()
    values = some.values(space((1, 1), 1, 1))
    assert set(values) == {"x", "y", "t"}
    assert values["t"].range() == (pytest.approx([0, 0]), pytest.approx([0, 0]))
    ends = values["x"].range()
    assert ends[0] == pytest.approx(some.low[:, 0])
    assert ends[1] == pytest.approx(some.high[:, 0])


# ── covering ──────────────────────────────────────────────────────────────────────────────────────

REGION = np.array([[0.0, 4.0], [0.0, 1.0]])


def slope_judge(seen=None):
    """f = x, bounded over a cell by its highest value and from below by its lowest; only x adds."""

    def judge(cells):
        if seen is not None:
            seen.append(len(cells))
        shares = np.column_stack([cells.high[:, 0] - cells.low[:, 0], np.zeros(len(cells))])
        return 1.5 * cells.high[:, 0] - 0.5 * cells.low[:, 0], cells.low[:, 0], shares

    return judge


def budget(**given):
    return Budget(**({"seconds": 60.0, "cells": 10_000} | given))


def nothing_to_cut():
    return Cutter(["x", "y"], [])


def test_a_claim_that_holds_is_shown():
    spent = budget()
    found = covered(REGION, nothing_to_cut(), slope_judge(), 4.3, "size", spent)
    assert 4.0 <= found.largest <= 4.3
    assert len(found.points) == found.cells > 1
    assert spent.spent >= found.cells
    points = np.array(found.points)
    assert (points[:, 1] == 0.5).all()  # only x was cut
    assert points[:, 0].min() < 1
    assert points[:, 0].max() > 3.7


def test_a_claim_that_does_not_hold_is_refused_with_both_numbers():
    with pytest.raises(Refused, match=r"the size is larger than stated: (3\.\d+) all over a cell, 3 is claimed"):
        covered(REGION, nothing_to_cut(), slope_judge(), 3.0, "size", budget())


def test_a_claim_of_the_whole_region_is_shown_by_one_look():
    seen = []
    found = covered(REGION, nothing_to_cut(), slope_judge(seen), 6.0, "size", budget())
    assert (found.cells, seen) == (1, [1])
    assert found.largest == 6.0
    assert found.points[0].tolist() == [2.0, 0.5]


def test_a_region_without_states_needs_no_cell():
    dag = Dag()
    cutter = Cutter(["x", "y"], [Limit(dag.input("x"), 9.0, 10.0, across=False)])
    assert covered(REGION, cutter, slope_judge(), 1.0, "size", budget()).cells == 0


def test_what_a_budget_cannot_hold_is_not_begun():
    some = budget(cells=10)
    some.spend(4)
    some.require_room(6)
    with pytest.raises(Unconfirmed, match="10 cells where about 11 or more are needed"):
        some.require_room(7)
    assert some.spent == 4


def test_the_budget_ends_the_search():
    with pytest.raises(Unconfirmed, match="not verified within the budget: 5 cells; a larger one may do it"):
        covered(REGION, nothing_to_cut(), slope_judge(), 4.01, "size", budget(cells=5))
    spent = budget(cells=7)
    spent.spend(7)
    with pytest.raises(Unconfirmed, match="7 cells"):
        spent.spend(1)
    assert spent.spent == 8
    late = Budget(seconds=2.5, cells=10, started=time.perf_counter() - 3)
    with pytest.raises(Unconfirmed, match=r"not verified within the budget: 2\.5 s"):
        late.spend(1)


@pytest.mark.parametrize(("excess", "cuts"), [(1.0, 1), (1.99, 1), (2.0, 2), (15.9, 2), (16.0, 3), (1e9, 3)])
def test_a_box_is_halved_the_more_the_further_it_exceeds(excess, cuts):
    assert _cuts(excess) == cuts


def halved(share, low=(0.0, 0.0), high=(4.0, 1.0), region=REGION):
    first, second = _halves(*(np.array(x, float) for x in (low, high, share)), region, "size")
    (j,) = np.flatnonzero(first[1] != second[1])
    middle = (low[j] + high[j]) / 2
    assert first[1][j] == second[0][j] == middle
    assert first[0].tolist() == list(low)
    assert second[1].tolist() == list(high)
    assert first[2].tolist() == second[2].tolist() == [s / 2 if k == j else s for k, s in enumerate(share)]
    return j


def test_a_box_is_cut_in_what_adds_most():
    assert halved([1.0, 2.0]) == 1
    assert halved([2.0, 1.0]) == 0


def test_where_nothing_is_known_the_relatively_longest_side_is_cut():
    assert halved([0.0, 0.0], high=(4.0, 0.5)) == 0
    assert halved([0.0, 0.0], high=(1.0, 0.9)) == 1
    first, _ = _halves(np.zeros(2), np.array([1.0, 0.9]), np.array([5.0, np.inf]), REGION, "size")
    assert first[1].tolist() == [1.0, 0.45]


def test_a_slender_side_is_not_cut_whatever_it_adds():
    assert halved([0.1, 9.0], high=(4.0, 0.9 * SLENDER)) == 0
    assert halved([0.1, 9.0], high=(4.0, 1.1 * SLENDER)) == 1


def test_a_side_that_doubles_cannot_halve_is_not_cut():
    tiny = 1e-14
    assert halved([0.1, 9.0], low=(0.0, 1.0), high=(4.0, 1.0), region=np.array([[0.0, 4.0], [0.0, tiny]])) == 0
    with pytest.raises(Unconfirmed, match="may be larger than stated"):
        _halves(np.ones(2), np.ones(2) + tiny, np.ones(2), REGION, "size")
    with pytest.raises(Unconfirmed, match="may be larger than stated"):
        _halves(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros((0, 2)), "size")
    assert halved([9.0, 0.1], low=(1e-200, 0.0), high=(3e-200, 1e-199), region=REGION * 1e-199) == 0


def test_a_cell_is_small_only_if_it_is_so_in_every_variable():
    low = np.zeros((3, 2))
    high = np.array([[4 * SMALL, SMALL], [4.1 * SMALL, SMALL], [4 * SMALL, 1.1 * SMALL]])
    assert small(boxes(["x", "y"], low, high), REGION).tolist() == [True, False, False]


# ── where to cut ──────────────────────────────────────────────────────────────────────────────────


def shares(basis, terms, remainder=0.0):
    """Of one cell over [−1, 1]², for a form with these coefficients of (e1, e2, e1², e1 e2, e2²)."""
    chosen = space((1, 1), 2, 1)
    c = np.zeros((1, chosen.size, 1))
    for exponents, value in terms.items():
        c[0, chosen.place[exponents], 0] = value
    ends, zero = (-np.ones((1, 2)), np.ones((1, 2))), np.zeros((1, 2))
    cells = Cells(["x", "y"], *ends, zero, np.array([basis], float), zero, 0)
    return _shares([Form(chosen, c, np.full((1, 1), remainder))], cells)[0]


def test_a_variable_adds_what_the_directions_add_that_move_it():
    straight = np.eye(2)
    assert shares(straight, {(1, 0): 3.0, (0, 1): -1.0}) == pytest.approx([3.0, 1.0])
    assert shares(straight, {(2, 0): 3.0, (1, 1): 1.0}) == pytest.approx([7.0, 1.0])
    assert shares(straight, {(2, 0): 3.0}, remainder=2.0) == pytest.approx([8.0, 0.0])
    assert shares(straight, {(1, 0): 3.0, (2, 0): 1.0, (0, 2): 1.0}, remainder=2.0) == pytest.approx([6.0, 3.0])
    crossed = shares([[0.0, 1.0], [1.0, 0.0]], {(1, 0): 3.0, (0, 1): 1.0})
    assert crossed == pytest.approx([1.0, 3.0])
