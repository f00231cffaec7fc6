"""The search for the rate at which controls follow best: its grid, its golden section and what it says."""

from types import SimpleNamespace

import numpy as np
import pytest

import holdfast as hf
from holdfast.stability.tuning.tracking import GRID, SECTIONS, Followed, _cost, _RateSearch
from tests.results.test_controller import cart


class Known(_RateSearch):
    """A search whose runs are known: deviations least at a rate of its own, none beyond another."""

    def __init__(self, best, breaks=np.inf, progress=None):
        super().__init__(hf.derive(cart()), SimpleNamespace(duration=2.0, step=0.001), None, {}, progress)
        self.best, self.breaks = best, breaks

    def _measured(self, equations, rate):
        if rate > self.breaks:
            return Followed(rate, {}, {}, "ran away")
        off = 0.0 if np.isnan(rate) else np.log(rate / self.best) ** 2
        return Followed(rate, {"y_home": 0.01 * (1 + off)}, {"F": 1.0})


def test_the_grid_goes_from_the_duration_to_the_step():
    rates = Known(10)._grid()
    assert len(rates) == GRID
    assert (rates[0], rates[-1]) == (pytest.approx(1), pytest.approx(500))
    assert np.ptp(np.diff(np.log(rates))) < 1e-9


@pytest.mark.parametrize("best", [1.0, 3.0, 40.0, 333.0, 500.0])
def test_the_least_cost_is_found_between_its_neighbours(best):
    """Eight golden sections of two cells of the grid: to within 2 % of the way from one rate to the next."""
    search = Known(best)
    found = search.tuning()
    cell = np.log(500) / (GRID - 1)
    assert abs(np.log(found.rate / best)) < 0.05 * cell
    further = sorted(set(search.tried) - set(search._grid()))
    assert len(further) <= 2 * SECTIONS
    assert max(abs(np.log(rate / best)) for rate in further) < 2 * cell  # nowhere else


def test_progress_rises_to_the_end():
    told = []
    Known(40, progress=told.append).tuning()
    assert told == sorted(told)
    assert told[0] == 0
    assert told[-1] == (GRID + SECTIONS - 1) / (GRID + SECTIONS)


def test_rates_that_fail_are_counted_and_never_chosen():
    found = Known(400, breaks=100).tuning()
    assert found.rate <= 100
    assert any("rates do not keep the program" in note for note in found.notes)
    with pytest.raises(hf.BadRequest, match="no rate keeps the program: ran away"):
        Known(400, breaks=0).tuning()


@pytest.mark.parametrize(("best", "word"), [(1e-3, "slowest"), (1e6, "fastest"), (30.0, None)])
def test_a_rate_at_the_end_of_what_was_tried_is_told(best, word):
    notes = Known(best).tuning().notes
    assert (word is None and notes == ()) or word in notes[0]


def test_a_cost_is_the_mean_square_of_shares():
    found = Followed(1.0, {"a": 3.0, "b": 8.0}, {})
    assert _cost(found, {"a": 3.0, "b": 4.0}) == pytest.approx(np.sqrt(5 / 2))
    assert _cost(found, {"a": 0.0, "b": 8.0}) == 1
    assert _cost(Followed(1.0, {"a": 0.0}, {}), {"a": 0.0}) == 0
    assert _cost(Followed(1.0, {}, {}, "no"), {}) == np.inf
    assert found.deviation == 8
    assert Followed(1.0, {"a": 1.0}, {}, "no").deviation == np.inf
