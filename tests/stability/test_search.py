"""Best-first bisection of the prover: the worst cell is cut until the bound is as wanted, or the work is done."""

from types import SimpleNamespace

import pytest

from holdfast.stability.proof import search
from holdfast.stability.proof.prove import _narrowed
from holdfast.stability.proof.search import NEAR_ATTAINED, CellJudgement, Piece, cover, longest
from holdfast.stability.proof.work import SearchWork

REGION = ((0.0, 4.0), (-1.0, 1.0))


def rising(box, reached=0.0):
    """x², bounded over a box by its right end and half its width more; nothing of the region is below x = 1."""
    (low, high), other = box
    if high <= 1:
        return None
    return CellJudgement(high**2 + (high - low) / 2, 0, ((max(low, 1.0), high), other), reached)


def area(boxes):
    return sum((b - a) * (d - c) for (a, b), (c, d) in boxes)


def test_the_worst_cell_is_cut_until_the_bound_is_as_wanted():
    found = cover(rising, REGION, wanted=16.2, work=SearchWork(1e9))
    leaves = found.root.leaves()
    assert 16 < found.bound <= 16.2
    assert found.cells == len(leaves) < 12
    assert area(leaves) == pytest.approx(2 * 3)  # what is empty is left out, nothing else is
    assert found.bound == max(rising(box).bound for box in leaves)
    widths = {b - a for (a, b), _ in leaves}
    assert max(widths) >= 4 * min(widths)  # only where it helps


def test_one_look_is_enough_where_the_first_bound_is():
    found = cover(rising, REGION, wanted=18.0, work=SearchWork(1e9))
    assert (found.cells, found.bound) == (1, 18.0)
    assert found.root.leaves() == [((1.0, 4.0), (-1.0, 1.0))]


def test_a_bound_near_a_value_that_is_attained_is_not_bettered():
    found = cover(lambda box: rising(box, reached=16.3 / NEAR_ATTAINED), REGION, wanted=0.0, work=SearchWork(1e9))
    assert found.bound == 16.1875  # of 18, 16.75, 16.375 and so on, the first below


def test_a_region_without_states_has_the_bound_zero():
    found = cover(lambda box: None, REGION, wanted=1.0, work=SearchWork(1e9))
    assert (found.cells, found.bound, found.root.leaves()) == (0, 0.0, [])


def test_the_search_ends_with_its_work_or_its_cells(monkeypatch):
    assert cover(rising, REGION, wanted=0.0, work=SearchWork(0)).cells == 1
    monkeypatch.setattr(search, "MOST_CELLS", 7)
    assert cover(rising, REGION, wanted=0.0, work=SearchWork(1e9)).cells == 7


def test_a_region_of_no_variables_is_one_cell():
    found = cover(lambda box: CellJudgement(3.0, 0, box), (), wanted=1.0, work=SearchWork(1e9))
    assert (found.cells, found.bound) == (1, 3.0)


def test_leaves_stand_in_the_order_of_the_region():
    first, second = Piece(((0.0, 1.0),)), Piece(((1.0, 2.0),), kind=search.EMPTY)
    third = Piece(((2.0, 3.0),))
    inner = Piece(((1.0, 3.0),), parts=(second, third))
    assert Piece(((0.0, 3.0),), parts=(first, inner)).leaves() == [((0.0, 1.0),), ((2.0, 3.0),)]


def test_the_longest_side_is_measured_by_the_region():
    assert longest(((0.0, 2.0), (-1.0, 1.0)), REGION) == 1
    assert longest(((0.0, 2.0), (-0.4, 0.5)), REGION) == 0
    assert longest(((0.0, 0.0), (-1e-9, 1e-9)), ((0.0, 0.0), (-1.0, 1.0))) == 1
    assert longest((), ()) == 0


def test_a_tube_that_a_narrower_one_asks_for_is_tried_when_nothing_is_left():
    """An attempt may take more than its part; the wider tube that it says to be enough takes one cell."""

    class Greedy:
        gamma, tried = 0.9, ()
        motion = SimpleNamespace(affine=False)

        def attempt(self, tube, expected, work, enough):
            work.charge(10 * work.limit)
            self.tried += (tube,)
            return SimpleNamespace(radius=2.0)

    work, trial = SearchWork(1e6), Greedy()
    assert _narrowed(trial, 1.0, False, 1.0, work).radius == 2.0
    assert trial.tried == (1.0, 3.0)
