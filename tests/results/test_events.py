"""Events: named, directed, noted or terminal, and found to 1e-10."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf
from tests.results.problems import falling, oscillator, pendulum, x, z

LANDING = (2 + np.sqrt(24)) / 10  # 1 + 2t − 5t² = 0
HOWS = {
    "rk4": {"scheme": hf.RK4, "step": 0.01},
    "rk4 thinned": {"scheme": hf.RK4, "step": 0.01, "every": 25},
    "radau5": {"scheme": hf.Radau5, "step": 0.01},
    "dopri5": {"scheme": hf.DOPRI5, "tolerance": 1e-12},
    "radau": {"scheme": hf.Radau, "tolerance": 1e-12},
    "dop853": {"scheme": hf.DOP853, "tolerance": 1e-12},
}


@pytest.fixture(params=HOWS)
def how(request):
    return HOWS[request.param]


def test_a_terminal_event_ends_the_run_where_it_happens(how):
    run = hf.simulate(falling(), **how, duration=2, events={"landing": hf.Event(x, terminal=True)})
    assert run.outcome is hf.Outcome.event
    assert run.success
    assert run.times[-1] == pytest.approx(LANDING, abs=1e-10)
    assert run["x"][-1] == pytest.approx(0, abs=1e-10)
    assert_allclose(run.events["landing"], [LANDING], rtol=0, atol=1e-10)
    assert "landing" in run.message


def test_noted_events_are_all_found(how):
    """x = cos t: rising through 0 at 3π/2, 7π/2; falling at π/2, 5π/2."""
    if how["scheme"] is hf.RK4:
        how = {**how, "step": 0.001}
    events = {"up": hf.Event(x, "rising"), "down": hf.Event(x, "falling"), "either": x}
    run = hf.simulate(oscillator(), **how, duration=12, events=events)
    up, down = np.pi * np.array([1.5, 3.5]), np.pi * np.array([0.5, 2.5])
    assert_allclose(run.events["up"], up, rtol=0, atol=1e-10)
    assert_allclose(run.events["down"], down, rtol=0, atol=1e-10)
    assert_allclose(run.events["either"], np.sort([*up, *down]), rtol=0, atol=1e-10)
    assert run.outcome is hf.Outcome.completed
    assert list(run.events) == ["up", "down", "either"]


def test_noted_and_terminal_events_in_one_run(how):
    events = {"top": hf.Event(x.rate, "falling"), "landing": hf.Event(x, "falling", terminal=True)}
    run = hf.simulate(falling(), **how, duration=2, events=events)
    assert_allclose(run.events["top"], [0.2], rtol=0, atol=1e-10)
    assert_allclose(run.events["landing"], [LANDING], rtol=0, atol=1e-10)


def test_a_terminal_event_in_the_other_direction_does_not_end_the_run():
    run = hf.simulate(falling(), hf.RK4, step=0.01, duration=2, events={"up": hf.Event(x, "rising", terminal=True)})
    assert run.outcome is hf.Outcome.completed
    assert len(run.events["up"]) == 0


def test_wanted_times_after_the_end_are_left_out():
    run = hf.simulate(falling(), hf.RK4, step=0.01, at=[0.5, 0.6, 1.0], events={"landing": hf.Event(x, terminal=True)})
    assert_allclose(run.times, [0.5, 0.6])


@pytest.mark.parametrize("every", [1, 10])
def test_events_of_a_projected_run_are_located_with_its_projection(every):
    exact = hf.simulate(pendulum(), hf.DOP853, tolerance=1e-13, duration=1, events={"bottom": x}).events["bottom"]
    run = hf.simulate(
        pendulum(),
        hf.RK4,
        step=0.001,
        duration=1,
        law=hf.Unstabilised(),
        project=True,
        every=every,
        events={"bottom": x},
    )
    assert_allclose(run.events["bottom"], exact, rtol=0, atol=1e-10)
    ended = hf.simulate(
        pendulum(),
        hf.RK4,
        step=0.001,
        duration=1,
        project=True,
        every=every,
        events={"bottom": hf.Event(x, terminal=True)},
    )
    assert ended.times[-1] == pytest.approx(exact[0], abs=1e-10)


def test_directions_and_expressions_that_mean_nothing_are_refused():
    with pytest.raises(hf.BadRequest, match="direction 'up' is not known"):
        hf.simulate(falling(), hf.RK4, step=0.1, duration=1, events={"e": hf.Event(x, "up")})
    with pytest.raises(hf.HoldfastError):
        hf.simulate(falling(), hf.RK4, step=0.1, duration=1, events={"e": "lambda_rod"})


def test_a_terminal_event_does_not_hide_that_the_run_is_off_its_program():
    """Neither law nor event brings it back: the end is said, and is not called good."""
    asked = {"scheme": hf.RK4, "step": 0.01, "duration": 3, "start": {x: 0.3, z: -1.1}, "start_policy": "keep"}
    asked["events"] = {"low": hf.Event(x, terminal=True)}
    run = hf.simulate(pendulum(), law=hf.Unstabilised(), **asked)
    assert run.outcome is hf.Outcome.off_program
    assert not run.success
    assert "low" in run.message
    assert run["x"][-1] == pytest.approx(0, abs=1e-9)
    assert hf.simulate(pendulum(), **asked).outcome is hf.Outcome.event  # a law that attracts


@pytest.mark.parametrize("kept", [{"every": 700}, {"at": [0, 10, 20]}, {"every": 7, "at": None}], ids=str)
def test_thinned_runs_note_the_events_of_all_steps(kept):
    x = hf.coordinates("x")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=x**2 / 2)
    equations = hf.derive(hf.Problem(system, start={x: 1}))
    asked = {"step": 0.01, "duration": 20, "events": {"zero": x, "down": hf.Event(x, direction="falling")}}
    whole = hf.simulate(equations, hf.RK4, **asked)
    thinned = hf.simulate(equations, hf.RK4, **asked, **kept)
    assert len(whole.events["zero"]) == 6
    assert np.allclose(whole.events["zero"], np.pi / 2 + np.pi * np.arange(6), atol=1e-7)
    for name in ("zero", "down"):
        assert np.allclose(thinned.events[name], whole.events[name], rtol=0, atol=1e-12)


def test_a_terminal_event_of_the_other_direction_does_not_disturb_the_noted_ones():
    x = hf.coordinates("x")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=x**2 / 2)
    equations = hf.derive(hf.Problem(system, start={x: 1}))
    events = {"end": hf.Event(x, direction="rising", terminal=True), "low": x + 0.5, "high": x - 0.5}
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=20, every=100, events=events)
    assert run.outcome is hf.Outcome.event
    assert run.events["end"] == pytest.approx([1.5 * np.pi], abs=1e-8)
    assert run.events["high"] == pytest.approx([np.pi / 3], abs=1e-8)
    assert run.events["low"] == pytest.approx([2 * np.pi / 3, 4 * np.pi / 3], abs=1e-8)
