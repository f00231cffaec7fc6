"""What a run may be asked: each limit at its border, and the sizes that tolerances follow."""

import math
from dataclasses import replace

import numpy as np
import pytest

import holdfast as hf
from holdfast.results.runs.request import (
    LEAST_STEPS,
    MOST_STEPS,
    RESIDUE,
    SMALL_PART,
    SMALLEST_TOLERANCE,
    request_of,
    resolved,
    rows_of_steps,
    whole_steps,
)

x, y = hf.coordinates("x y")


def equations(**run):
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    return hf.derive(hf.Problem(system, start={x: 1}, run=hf.Run(**run)))


FREE = equations()


def asked(scheme=hf.RK4, of=FREE, **options):
    return request_of(of, scheme, **({"duration": 1.0} | options))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"step": 0.1, "every": 0}, "every = 0"),
        ({"step": 0.1, "every": 1.5}, "every = 1.5"),
        ({"step": 0.1, "every": True}, "every = True"),
        ({"step": 0.1, "every": MOST_STEPS + 1}, "every = "),
        ({"step": 0}, "step = 0 is not positive"),
        ({"step": -0.1}, "step = -0.1 is not positive"),
        ({"step": math.inf}, "step = inf is not positive"),
        ({"step": 10**400}, "step = 100000000000... is beyond any double"),
        ({"step": "0.1"}, "step = '0.1' is a text, not a number"),
        ({"step": True}, "step = True is not a number"),
        ({"step": [0.1]}, "step = [0.1] is not a number"),
        ({"step": 0.1, "duration": 0}, "duration = 0 is not positive"),
        ({"step": 0.1, "duration": None}, "no duration given"),
        ({}, "rk4 needs a step"),
        ({"tolerance": 1e-6}, "rk4 has a fixed step and takes no tolerance"),
        ({"step": 0.1, "tolerance": 1e-6}, "rk4 has a fixed step and takes no tolerance"),
        ({"step": 0.1, "longest_step": 0.1}, "rk4 has a fixed step and takes no longest_step"),
        ({"step": 0.1, "absolute": 0.1}, "rk4 has a fixed step and takes no absolute"),
        ({"step": 0.3}, "a duration of 1 is not a whole number of steps of 0.3"),
        ({"step": 0.1, "at": [0.2, 0.2]}, "the times asked for do not increase"),
        ({"step": 0.1, "at": [[0.1]]}, "the times asked for do not increase"),
        ({"step": 0.1, "at": [math.nan]}, "the times asked for do not increase"),
        ({"step": 0.1, "at": [-0.1, 0.1]}, "the run begins at 0, after -0.1"),
    ],
)
def test_a_fixed_step_refuses_what_it_cannot_use(options, what):
    with pytest.raises(hf.BadRequest) as refused:
        asked(**options)
    assert what in refused.value.what


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({}, "dopri5 needs a tolerance"),
        ({"step": 0.1}, "dopri5 chooses its own steps and takes no step"),
        ({"step": 0.1, "tolerance": 1e-6}, "dopri5 chooses its own steps and takes no step"),
        ({"tolerance": 0.99 * SMALLEST_TOLERANCE}, "is beyond double precision"),
        ({"tolerance": -1e-6}, "tolerance = -1e-06 is not positive"),
        ({"tolerance": 1e-6, "longest_step": 0}, "longest_step = 0 is not positive"),
        ({"tolerance": 1e-6, "absolute": 0}, "absolute = 0 is not positive"),
        ({"tolerance": 1e-6, "absolute": {"x": -1}}, "absolute = -1 is not positive"),
        ({"tolerance": 1e-6, "absolute": {"z": 1}}, "there is no state 'z'"),
    ],
)
def test_an_adaptive_scheme_refuses_what_it_cannot_use(options, what):
    with pytest.raises(hf.BadRequest) as refused:
        asked(hf.DOPRI5, **options)
    assert what in refused.value.what


def test_a_fixed_step_is_taken_as_it_is_asked():
    found = asked(step=0.1, every=2, at=[0.1, 0.5])
    assert (found.step, found.steps, found.every, found.tolerance) == (0.1, 10, 2, None)
    assert found.at.tolist() == [0.1, 0.5]
    assert found.longest == math.inf
    assert asked(step=0.1).every == 1
    assert asked(step=0.1, every=MOST_STEPS).every == MOST_STEPS
    until = request_of(FREE, hf.RK4, step=0.1, at=[0.1, 0.5])
    assert (until.duration, until.steps) == (0.5, 5)


def test_an_adaptive_scheme_is_taken_as_it_is_asked():
    found = asked(hf.DOPRI5, tolerance=1e-6)
    assert (found.step, found.steps, found.tolerance) == (None, 0, 1e-6)
    assert found.longest == 1 / LEAST_STEPS
    assert found.absolutes == 1e-6
    assert asked(hf.DOPRI5, tolerance=1e-6, longest_step=0.3).longest == 0.3
    assert asked(hf.DOPRI5, tolerance=1e-6, absolute=1e-3).absolutes == 1e-3
    assert asked(hf.DOPRI5, tolerance=SMALLEST_TOLERANCE).tolerance == SMALLEST_TOLERANCE
    assert asked(hf.DOPRI5, tolerance=1e-6, absolute={x: 0.1}).absolute == {"x": 0.1}


def test_what_is_not_asked_is_taken_from_the_problem():
    own = equations(scheme="heun", step=0.25, duration=2.0, every=4, begin=3.0)
    found = request_of(own)
    assert (found.scheme, found.step, found.steps, found.every) == (hf.Heun, 0.25, 8, 4)
    assert (found.begin, found.duration) == (3.0, 2.0)
    assert request_of(own, step=0.5).steps == 4
    adaptive = equations(scheme="dopri5", tolerance=1e-5, duration=2.0, longest_step=0.5)
    assert (request_of(adaptive).tolerance, request_of(adaptive).longest) == (1e-5, 0.5)


def test_time_must_advance():
    far = equations(begin=1e12)
    with pytest.raises(hf.BadRequest, match="the time does not advance"):
        asked(of=far, step=1e-4, duration=1e-3)
    assert asked(of=far, step=1.0, duration=10).steps == 10
    with pytest.raises(hf.BadRequest, match="the time does not advance"):
        asked(hf.DOPRI5, of=far, tolerance=1e-6, duration=1e-3)


@pytest.mark.parametrize(
    ("duration", "step", "count"), [(1, 0.1, 10), (0.3, 0.1, 3), (1 + 5e-10, 1, 1), (1e15, 1, 10**15)]
)
def test_a_duration_is_a_whole_number_of_steps(duration, step, count):
    assert whole_steps(duration, step) == count


@pytest.mark.parametrize(
    ("duration", "step", "what", "fix"),
    [
        (1, 0.3, "is not a whole number of steps", "use 0.9 or 1.2"),
        (0.04, 0.1, "is not a whole number of steps", "use 0 or 0.1"),
        (1 + 1e-8, 1, "is not a whole number of steps", "use 1 or 2"),
        (1.1e15, 1, "1.1e+15 steps of 1", "take longer steps"),
    ],
)
def test_a_duration_that_is_none_is_told_with_its_neighbours(duration, step, what, fix):
    with pytest.raises(hf.BadRequest) as refused:
        whole_steps(duration, step)
    assert what in refused.value.what
    assert fix in refused.value.fix


def test_wanted_times_lie_on_steps():
    assert rows_of_steps(np.array([2.0, 2.1, 2.5]), 2.0, 0.1, 5).tolist() == [0, 1, 5]
    assert rows_of_steps(np.array([]), 2.0, 0.1, 5).tolist() == []
    with pytest.raises(hf.BadRequest, match=r"t = 2\.15 does not fall on a step of 0\.1"):
        rows_of_steps(np.array([2.1, 2.15]), 2.0, 0.1, 5)
    with pytest.raises(hf.BadRequest, match=r"t = 2\.6 lies beyond the run"):
        rows_of_steps(np.array([2.6]), 2.0, 0.1, 5)


# ── tolerances of each state ──────────────────────────────────────────────────────────────────────


def tolerances(states, rates, inertia=(1.0, 1.0), absolute=None):
    request = replace(asked(hf.DOPRI5, tolerance=0.5, duration=100.0), absolute=absolute)
    found = resolved(FREE, request, np.array(states, float), np.array(rates, float), np.array(inertia, float))
    return (np.asarray(found) / 0.5).tolist()


def test_a_tolerance_follows_the_size_of_its_state():
    """Over a span of 1, a hundredth of the duration: |q|, |v|, |a| for a coordinate; |v|, |a|, |q|/100 for a rate."""
    assert tolerances([4, 8, 1, 2], [1, 2, 0, 0]) == [4, 8, 1, 2]
    assert tolerances([4, 4, 9, 5], [9, 5, 0, 0]) == [9, 5, 9, 5]
    assert tolerances([4, 4, 2, 2], [2, 2, 7, 6]) == [7, 6, 7, 6]
    assert tolerances([500, 300, 2, 2], [2, 2, 0, 0]) == [500, 300, 5, 3]


def test_a_residue_of_rounding_is_judged_by_the_others():
    tiny = RESIDUE / 100
    assert tolerances([1, tiny, 1, 1], [1, 1, 0, 0]) == pytest.approx([1, 1, 1, 1])  # its rate says more
    small = tolerances([1, tiny, 1, tiny], [0, 0, 0, 0])
    assert small == pytest.approx([1, SMALL_PART, 1, SMALL_PART], rel=1e-6)
    heavy = tolerances([1, tiny, 1, tiny], [0, 0, 0, 0], inertia=(4.0, 1.0))
    assert heavy == pytest.approx([1, 2 * SMALL_PART, 1, 2 * SMALL_PART], rel=1e-6)


def test_of_what_nothing_is_known_the_size_is_one():
    assert tolerances([0, 0, 0, 0], [0, 0, 0, 0]) == [1, 1, 1, 1]
    assert tolerances([math.nan, 2, 0, 0], [0, 0, 0, 0])[1] == 2


def test_tolerances_by_name_stand_beside_the_others():
    assert tolerances([4, 8, 1, 2], [1, 2, 0, 0], absolute={"y": 3.0}) == [4, 6, 1, 2]
    assert tolerances([4, 8, 1, 2], [1, 2, 0, 0], absolute=0.25) == 0.5
    many = tolerances([[4, 8, 1, 2], [1, 1, 1, 1]], [[1, 2, 0, 0], [0, 0, 0, 0]], absolute={"x_dot": 5.0})
    assert many == [[4, 8, 10, 2], [1, 1, 10, 1]]
