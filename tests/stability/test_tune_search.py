"""The search for gains on landscapes whose best point is known, and the picture of what it found."""

import math
from dataclasses import replace
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import holdfast as hf
from holdfast.stability.tuning.candidates import RATES, RATIOS, largest_stable_rate, swept_rates, textbook
from holdfast.stability.tuning.plot import _edges
from holdfast.stability.tuning.trials import MeasuredGains, Trials
from holdfast.stability.tuning.tune import COST, MARGIN, TWICE, WORTH, _Search
from tests.stability.held import pendulum


class Landscape:
    """Trials of a model of which only the landscape is known: each constraint has its own best rate and ratio."""

    law, must_attract, attracting_rate = Trials.law, Trials.must_attract, Trials.attracting_rate

    def __init__(self, best, *, step=0.01, least=1e-6, none=1.0, errors=None, cliff=math.inf, velocity=()):
        self.best, self.least, self.none, self.cliff = best, least, none, cliff
        self.errors = errors or (lambda rate: 1.0)
        self.constraints = tuple(best)
        self.holonomic = tuple(name for name in best if name not in velocity)
        self.request = SimpleNamespace(scheme=hf.RK4 if step else hf.DOPRI5, step=step, duration=10.0, tolerance=1e-7)
        self.reference = SimpleNamespace(doubt=0.0, energy_doubt=0.0)
        self.motion_rate, self.deviates, self.held_by_controls = 3.0, False, False
        self.with_ratios = bool(self.holonomic)
        self.seen = []

    def gains(self, rates, ratios):
        rate, ratio = (np.asarray(x, float).reshape(len(x), -1) for x in (rates, ratios))
        held = np.array([name in self.holonomic for name in self.constraints], dtype=float)
        return rate**2 * held, rate * (2 * ratio * held + 1 - held)

    def measure(self, rates, ratios):
        return self.measure_gains(*self.gains(rates, ratios))

    def measure_gains(self, stiffness, damping):
        count = len(self.constraints)
        stiffness, damping = (np.broadcast_to(x, (len(x), count)) for x in (stiffness, damping))
        deviation, states, energies, cost = [], [], [], []
        for k, b in zip(stiffness, damping, strict=True):
            total = self.least
            for name, spring, damper in zip(self.constraints, k, b, strict=True):
                rate = math.sqrt(spring) if name in self.holonomic else damper
                ratio = damper / (2 * rate) if rate and name in self.holonomic else 1.0
                self.seen.append((rate, ratio))
                best_rate, best_ratio = self.best[name]
                off = math.log(rate / best_rate) ** 2 + math.log(ratio / best_ratio) ** 2 if rate else math.inf
                total = max(total, self.least * (1 + off)) if rate else self.none
            deviation.append(math.inf if rate > self.cliff else total)
            error = self.errors(rate)
            states.append(error[0] if isinstance(error, tuple) else error)
            energies.append(error[1] if isinstance(error, tuple) else error)
            cost.append(error[2] if isinstance(error, tuple) else 1000)
        deviation = np.array(deviation)
        found = (deviation, np.array(states), np.array(energies), np.array(cost))
        return MeasuredGains(*found, np.isfinite(deviation))


def chosen(landscape, *, each=False):
    search = _Search(landscape)
    search._sweep()
    search._refine()
    if each:
        search._refine_each()
    return search, *search._choice(each)


@pytest.mark.parametrize("rate", [0.4, 3.3, 47.0])
@pytest.mark.parametrize("ratio", [0.3, 0.85, 2.4])
def test_the_best_point_is_found_to_a_few_percent(rate, ratio):
    landscape = Landscape({"rod": (rate, ratio)})
    _, law, found_rate, found_ratio, numbers = chosen(landscape)
    assert found_rate == pytest.approx(rate, rel=0.04)
    assert found_ratio == pytest.approx(ratio, rel=0.04)
    assert law.stiffness["rod"] == pytest.approx(found_rate**2, rel=1e-3)
    assert law.damping["rod"] == pytest.approx(2 * found_ratio * found_rate, rel=1e-3)
    assert numbers.deviation == pytest.approx(landscape.least, rel=0.01)


def test_a_velocity_constraint_has_a_rate_alone():
    landscape = Landscape({"roll": (7.0, 1.0)}, velocity=("roll",))
    _, law, rate, ratio, _ = chosen(landscape)
    assert rate == pytest.approx(7.0, rel=0.04)
    assert ratio == 1.0
    assert dict(law.stiffness) == {}
    assert law.damping["roll"] == pytest.approx(rate, rel=1e-3)
    assert {tried for _, tried in landscape.seen} == {1.0}


def test_each_constraint_is_refined_by_itself():
    best = {"upper": (4.0, 0.8), "lower": (9.0, 1.1)}
    _, _, common, _, together = chosen(Landscape(best))
    _, law, rate, ratio, apart = chosen(Landscape(best), each=True)
    assert 4 < common < 9
    assert (rate, ratio) == (None, None)
    assert apart.deviation < together.deviation
    found = {name: math.sqrt(law.stiffness[name]) for name in best}
    for name, (wanted, _) in best.items():
        assert found[name] == pytest.approx(wanted, rel=0.2)
    assert _ratio(law, "upper") == pytest.approx(0.8, rel=0.25)
    assert _ratio(law, "lower") == pytest.approx(1.1, rel=0.25)


def _ratio(law, name):
    return law.damping[name] / 2 / math.sqrt(law.stiffness[name])


def test_gains_are_written_with_four_digits():
    _, law, *_ = chosen(Landscape({"rod": (3.3, 0.7)}))
    for gain in map(float, (law.stiffness["rod"], law.damping["rod"])):
        assert float(f"{gain:.4g}") == gain


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_law_beyond_twice_the_errors_is_passed_over(which):
    """The best rate is 20, but beyond 8 an error is three times that without gains: the search stops at the fence."""

    def errors(rate):
        found = [1.0, 1.0, 1000]
        if rate > 8:
            found[which] *= 3
        return tuple(found)

    landscape = Landscape({"rod": (20.0, 1.0)}, step=None, errors=errors)
    search, _, rate, _, numbers = chosen(landscape)
    assert 7 < rate <= 8
    assert search.limits == {"state_error": TWICE, "energy_error": TWICE, "evaluations": COST * 1000}
    assert numbers.deviation > 1.5 * landscape.least
    tight = search._tightest()
    assert tight.rate == pytest.approx(20.0, rel=0.3)
    assert not tight.allowed


def test_exactly_twice_the_errors_are_allowed():
    _, _, rate, *_ = chosen(Landscape({"rod": (20.0, 1.0)}, errors=lambda rate: TWICE if rate else 1.0))
    assert rate == pytest.approx(20.0, rel=0.04)


def test_errors_that_are_not_known_better_are_no_limit():
    landscape = Landscape({"rod": (20.0, 1.0)}, errors=lambda rate: 5.0 if rate else 1.0)
    landscape.reference = SimpleNamespace(doubt=4.0, energy_doubt=3.0)
    search, _, rate, *_ = chosen(landscape)
    assert search.limits == {"state_error": 8.0, "energy_error": 6.0}
    assert rate == pytest.approx(20.0, rel=0.04)


def test_a_law_at_the_edge_of_divergence_is_not_chosen():
    """Beyond a rate of 20.2 runs diverge: the best rate of 20 has no margin, the one chosen has."""
    landscape = Landscape({"rod": (20.0, 1.0)}, cliff=20.2)
    _, _, rate, *_ = chosen(landscape)
    assert rate * MARGIN <= 20.2 * (1 + 1e-3)
    assert rate > 15


@pytest.mark.parametrize(("least", "taken"), [(0.99 * WORTH, True), (1.01 * WORTH, False)])
def test_gains_that_hardly_help_are_not_taken(least, taken):
    _, law, rate, ratio, numbers = chosen(Landscape({"rod": (3.0, 1.0)}, least=least))
    assert isinstance(law, hf.SpringDamper) == taken
    if not taken:
        assert law == hf.Unstabilised()
        assert (rate, ratio, numbers.deviation) == (None, None, 1.0)


def test_where_everything_diverges_a_smaller_step_is_asked_for():
    landscape = Landscape({"rod": (3.0, 1.0)}, cliff=-1.0)
    with pytest.raises(hf.BadRequest, match="every law that was tried diverges") as refused:
        chosen(landscape)
    assert refused.value.fix == "use a smaller step"
    assert "10" in refused.value.where


@pytest.mark.parametrize(("step", "rate"), [(0.01, 2.0), (0.2, 1.0), (None, 2.0)])
def test_a_start_off_the_program_gets_a_law_that_brings_it_back(step, rate):
    """20/duration, but no more than a fifth of what a step resolves."""
    landscape = Landscape({"rod": (3.0, 1.0)}, least=1.0, step=step)
    landscape.deviates = True
    _, law, found, ratio, _ = chosen(landscape)
    assert (found, ratio) == (rate, 1.0)
    assert [float(law.stiffness["rod"]), float(law.damping["rod"])] == [rate**2, 2 * rate]


# ── candidates ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("holonomic", [True, False])
@pytest.mark.parametrize("step", [0.01, 0.5, None])
def test_rates_are_swept_from_below_the_motion_to_the_fence(step, holonomic):
    rates = swept_rates(hf.RK4, step, 10.0, 3.0, holonomic=holonomic)
    assert len(rates) == RATES
    assert np.diff(np.log(rates)) == pytest.approx(np.log(rates[-1] / rates[0]) / (RATES - 1))
    assert rates[0] <= 0.1
    if step is None:
        assert rates[-1] == pytest.approx(300.0)
    else:
        fence = [largest_stable_rate(hf.RK4, step, ratio, holonomic=holonomic) for ratio in RATIOS]
        assert rates[-1] == pytest.approx(max(fence))
        assert rates[0] <= 0.01 * max(fence)


def test_the_fence_of_a_single_root_is_that_of_the_scheme():
    assert largest_stable_rate(hf.RK4, 0.1, 1.0, holonomic=False) == pytest.approx(27.85, rel=1e-3)
    assert largest_stable_rate(hf.Euler, 0.1, 1.0, holonomic=False) == pytest.approx(20.0, rel=1e-6)
    assert largest_stable_rate(hf.Euler, 0.1, 1.0, holonomic=True) == pytest.approx(20.0, rel=1e-3)
    assert largest_stable_rate(hf.ImplicitMidpoint, 0.1, 1.0, holonomic=True) == pytest.approx(100.0)


def test_the_rules_of_the_books_are_those_that_are_printed():
    rules = {rule.name: (rule.rate, rule.ratio) for rule in textbook(hf.Euler, 0.01)}
    assert rules["alpha = beta = 1"] == (1.0, 1.0)
    assert rules["alpha = beta = 5"] == (5.0, 1.0)
    assert rules["alpha = beta = 20"] == (20.0, 1.0)
    assert rules["alpha = beta = 1/step"] == (pytest.approx(100.0), 1.0)
    # α = 1/h, β = √2/h: 2ζω = 2α and ω = β
    rate, ratio = rules["alpha = 1/step, beta = √2/step"]
    assert (rate, ratio * rate) == (pytest.approx(math.sqrt(2) * 100), pytest.approx(100))
    assert rules["zero of R at -1"] == (pytest.approx(100.0), pytest.approx(1.0))
    assert len(textbook(hf.Euler, None)) == 3


# ── the picture ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def tuning():
    return hf.tune(hf.derive(pendulum()), hf.RK4, step=0.01, duration=0.5)


@pytest.fixture
def drawn(tuning):
    def axes(**changed):
        return replace(tuning, **changed).plot()

    yield axes
    plt.close("all")


def marks(axes):
    """Where each point of the legend stands."""
    return {
        line.get_label(): (line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines if len(line.get_xdata())
    }


def test_a_cell_lies_around_its_centre():
    centres = np.geomspace(0.3, 40, 7)
    edges = _edges(centres)
    assert np.sqrt(edges[1:] * edges[:-1]) == pytest.approx(centres)
    assert np.diff(np.log(edges)) == pytest.approx(np.log(40 / 0.3) / 6)


def test_the_choice_stands_at_its_rate_and_ratio(drawn, tuning):
    found = marks(drawn(rate=float(tuning.map.rates[3]), ratio=0.5))
    assert found[f"chosen: {tuning.numbers.deviation:.2g}"] == (tuning.map.rates[3], 0.5)


@pytest.mark.parametrize("changed", [{"rate": None}, {"ratio": None}, {"rate": None, "ratio": None}])
def test_a_law_without_a_common_pair_has_no_star(drawn, changed):
    assert not any(label.startswith("chosen") for label in marks(drawn(**changed)))


def test_ratios_beyond_the_map_are_drawn_at_its_border(drawn, tuning):
    low, high = _edges(tuning.map.ratios)[[0, -1]]
    rate = float(tuning.map.rates[5])
    far = [replace(tuning.textbook[0], name=name, rate=rate, ratio=ratio) for name, ratio in (("a", 1e-3), ("b", 1e3))]
    axes = drawn(textbook=tuple(far), rate=rate, ratio=1e3)
    heights = {label[0]: place[1] for label, place in marks(axes).items()}
    assert heights == {"a": low, "b": high, "c": high}
    assert axes.get_ylim() == (low, high)
    assert axes.get_xlim() == tuple(_edges(tuning.map.rates)[[0, -1]])


def test_cells_are_hatched_where_errors_are_beyond_their_limits_and_grey_where_runs_diverge(drawn, tuning):
    deviation, allowed = tuning.map.deviation.copy(), np.ones_like(tuning.map.allowed)
    deviation[:] = 1e-3
    deviation[0, 0], deviation[1, 1], deviation[2, 2] = np.inf, 0.0, 1e-5
    allowed[0, 0] = allowed[3, 4] = False
    axes = drawn(map=replace(tuning.map, deviation=deviation, allowed=allowed))
    mesh, hatched = axes.collections
    assert np.argwhere(np.ma.getmaskarray(mesh.get_array())).tolist() == [[0, 0], [1, 1]]
    (cell,) = hatched.get_paths()
    x, y = _edges(tuning.map.rates), _edges(tuning.map.ratios)
    corners = cell.vertices[:4]
    assert (corners.min(axis=0).tolist(), corners.max(axis=0).tolist()) == ([x[4], y[3]], [x[5], y[4]])
    assert mesh.norm.vmin == 1e-5


@pytest.mark.parametrize(("none", "top"), [(1e-4, 1e-3), (1e-9, 2e-5), (np.inf, 1e-2)])
def test_colours_end_at_ten_times_the_deviation_without_gains(drawn, tuning, none, top):
    deviation = np.full_like(tuning.map.deviation, 1e-2)
    deviation[2, 2] = 1e-5
    unstabilised = replace(tuning.unstabilised, deviation=none)
    axes = drawn(map=replace(tuning.map, deviation=deviation), unstabilised=unstabilised)
    assert axes.collections[0].norm.vmax == pytest.approx(top)
    told = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any(text.startswith("no gains") for text in told) == np.isfinite(none)


def test_a_map_of_rates_alone_is_a_curve(drawn, tuning):
    deviation = np.array([[1e-3, 1e-4, 1e-5, np.inf]])
    allowed = np.array([[True, True, False, False]])
    small = replace(tuning.map, rates=np.geomspace(1, 8, 4), ratios=np.ones(1), deviation=deviation, allowed=allowed)
    dead = replace(tuning.textbook[0], name="dead", numbers=replace(tuning.numbers, deviation=np.inf))
    kept = replace(tuning.textbook[0], name="kept", rate=2.0, numbers=replace(tuning.numbers, deviation=0.5))
    axes = drawn(map=small, textbook=(dead, kept), rate=4.0, numbers=replace(tuning.numbers, deviation=2e-5))
    lines = {line.get_label(): np.asarray(line.get_ydata(), float) for line in axes.lines}
    assert lines["errors within twice"] == pytest.approx([1e-3, 1e-4, np.nan, np.nan], nan_ok=True)
    assert lines["errors beyond twice"] == pytest.approx([np.nan, np.nan, 1e-5, np.nan], nan_ok=True)
    assert marks(axes)["kept: 0.5"] == (2.0, 0.5)
    assert marks(axes)["chosen: 2e-05"] == (4.0, 2e-5)
    assert "dead: diverges" not in lines
    assert any(label.startswith("no gains: ") for label in lines)
    assert axes.get_xlabel() == "rate (damping)"
    none = drawn(map=small, rate=None, unstabilised=replace(tuning.unstabilised, deviation=np.inf))
    assert not any(line.get_label().startswith(("chosen", "no gains")) for line in none.lines)


@pytest.mark.parametrize(
    ("changed", "words"), [({}, "step 0.01"), ({"step": None, "tolerance": 1e-7}, "tolerance 1e-07")]
)
def test_the_title_tells_the_step_or_the_tolerance(drawn, changed, words):
    assert drawn(**changed).get_title(loc="left") == f"Worst scaled deviation over 0.5: rk4, {words}"
