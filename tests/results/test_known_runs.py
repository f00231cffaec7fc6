"""Runs that are asked for again in the same words are the runs of the long way, to the last bit and word."""

import pickle
import threading
from dataclasses import fields, replace

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.results.runs import prepared
from holdfast.results.runs.again.known import KnownRuns

WORDS = [
    {"scheme": hf.RK4, "step": 0.01, "duration": 0.5},
    {"scheme": "euler", "step": 0.001, "duration": 0.1, "every": 7},  # the last step is not among the rows kept
    {"scheme": hf.RK4, "step": 0.01, "duration": 0.5, "begin": 2.0},
    {"scheme": hf.DOP853, "tolerance": 1e-8, "duration": 0.5},
    {"scheme": hf.DOPRI5, "tolerance": 1e-5, "duration": 0.5, "longest_step": 0.5},
    {"scheme": hf.RK4, "step": 0.01, "duration": 0.5, "start_policy": "keep"},
]


@pytest.fixture(scope="module")
def problem():
    x, y = hf.coordinates("x y")
    mass, length, gravity = hf.parameters("mass length gravity")
    system = hf.System(
        coordinates=(x, y),
        kinetic=mass * (x.rate**2 + y.rate**2) / 2,
        potential=mass * gravity * y,
        parameters={mass: 1.0, length: 1.25, gravity: 9.81},
    )
    rod = hf.Program(holonomic={"rod": (x**2 + y**2 - length**2) / 2}, law=hf.SpringDamper(stiffness=400, damping=40))
    return hf.Problem(system, rod, start={x: length, x.rate: 0})


@pytest.fixture
def again(monkeypatch):
    """How many runs were made again, by their words."""
    made, own = [], KnownRuns.again

    def counted(self, *words):
        found = own(self, *words)
        made.append(found is not None)
        return found

    monkeypatch.setattr(KnownRuns, "again", counted)
    return made


def assert_same(one, other):
    assert one.message == other.message
    for field in fields(hf.Trajectory):
        if field.name not in ("columns", "judged", "interpolant", "finer", "times", "events", "equations"):
            assert getattr(one, field.name) == getattr(other, field.name), field.name
    assert np.array_equal(one.times, other.times)
    assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in other.names)
    assert (one.interpolant is None) == (other.interpolant is None)
    if one.interpolant is not None:
        between = np.linspace(one.times[0], one.times[-1], 17)
        assert np.array_equal(one.sol(between), other.sol(between))
    assert one.state_error.worst == other.state_error.worst


@pytest.mark.parametrize("words", WORDS, ids=str)
@pytest.mark.parametrize("numbers", [{}, {"parameters": {"gravity": 3.0}}, {"start": {"x": 0.75, "y": -1.0}}], ids=str)
def test_a_run_made_again_is_the_run_of_the_long_way(problem, again, words, numbers):
    equations = hf.derive(problem)
    runs = [hf.simulate(equations, **words, **each) for each in (numbers, {}, numbers, numbers)]
    assert again == [False, True, True, True]
    for run in runs[2:]:
        assert_same(run, runs[0])
    assert_same(runs[1], hf.simulate(hf.derive(problem), **words))


@pytest.mark.parametrize(
    "words",
    [
        {"progress": lambda done: None},
        {"project": True},
        {"events": {"low": "y + 1"}},
        {"law": hf.SpringDamper(stiffness=100, damping=20)},
        {"at": [0.1, 0.2]},
        {"duration": 100_000.0, "step": 0.5},  # long enough to be interrupted
        {"scheme": "implicit-midpoint"},  # counts its evaluations as it goes
    ],
    ids=lambda words: "-".join(words),
)
def test_what_is_not_plain_goes_the_long_way(problem, again, words):
    equations = hf.derive(problem)
    for _ in range(2):
        run = hf.simulate(equations, **{"scheme": hf.RK4, "step": 0.01, "duration": 0.5, "every": 10} | words)
    assert run.steps
    assert not any(again)


def test_words_that_are_equal_but_mean_something_else_are_told_apart(problem):
    equations = hf.derive(problem)
    for _ in range(2):
        hf.simulate(equations, hf.RK4, step=1, duration=1, every=1)
    for wrong in ({"every": True}, {"every": 1.0}, {"step": True}, {"step": "1"}, {"every": None, "step": np.nan}):
        with pytest.raises(hf.HoldfastError):
            hf.simulate(equations, hf.RK4, **{"step": 1, "duration": 1, "every": 1} | wrong)
    with pytest.raises(hf.HoldfastError, match="no 'steps'"):
        hf.simulate(equations, hf.RK4, step=1, duration=1, steps=1)


def test_a_run_does_not_depend_on_those_before_it_not_even_on_the_sign_of_their_zeros():
    """A row shows the zero it was given, and forces do not tell 0 from -0: an angle on the cut is π."""
    x, y = hf.coordinates("x y")
    side = hf.parameters("side")
    force = sp.atan2(y + side, x)
    system = hf.System(
        coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, forces={x: force}, parameters={side: -0.0}
    )
    problem = hf.Problem(system, start={x: -1.0, y: -0.0})
    words = {"scheme": hf.RK4, "step": 0.1, "duration": 0.5}
    numbers = [{"start": {"y": zero}, "parameters": {"side": other}} for zero in (0.0, -0.0) for other in (0.0, -0.0)]

    def seen(run):
        return run["x"][-1], bool(np.signbit(run["y"][0]))

    alone = [seen(hf.simulate(hf.derive(problem), **words, **each)) for each in numbers]
    assert len({*alone}) == 2
    assert len({end for end, _ in alone}) == 1
    equations = hf.derive(problem)
    for k in (0, 3, 3, 1, 3, 2, 3, 0):
        assert seen(hf.simulate(equations, **words, **numbers[k])) == alone[k]


def test_a_known_run_that_ends_badly_or_starts_wrongly_is_told_as_before(problem):
    words = {"step": 0.01, "duration": 0.5}
    equations, fresh = hf.derive(problem), hf.derive(problem)
    hf.simulate(equations, hf.RK4, **words)
    stiff = {"law.stiffness.rod": 1e9}  # an explicit step of 0.01 cannot hold it
    one, other = (hf.simulate(each, hf.RK4, parameters=stiff, **words) for each in (equations, fresh))
    assert not one.success
    assert one.message == other.message
    assert np.array_equal(one.y, other.y, equal_nan=True)
    for numbers in (
        {"start": {"x": 1.0, "y": 0.1}},
        {"start": {"x": np.inf}},
        {"parameters": {"none": 1.0}},
        {"start": []},
    ):
        said = []
        for each in (equations, fresh):
            with pytest.raises(hf.HoldfastError) as raised:
                hf.simulate(each, hf.RK4, **numbers, **words)
            said.append(str(raised.value))
        assert said[0] == said[1]


def test_a_start_is_judged_once_for_all_constants_that_the_program_does_not_depend_on(problem, monkeypatch):
    asked, judge = [], prepared.judged_start
    monkeypatch.setattr(prepared, "judged_start", lambda *words: asked.append(words) or judge(*words))
    words, start = {"scheme": hf.RK4, "step": 0.01, "duration": 0.2}, {"x": 0.1, "y": -((1.25**2 - 0.01) ** 0.5)}
    numbers = [{"mass": 2.0}, {"mass": 3.0}, {"gravity": 1.0, "law.damping.rod": 50.0}]
    equations = hf.derive(problem)
    runs = [hf.simulate(equations, start=start, parameters=each, **words) for each in numbers]
    assert len(asked) == 1
    assert any(runs[0].start.deviation.values())  # of rounding
    for run, each in zip(runs, numbers, strict=True):
        assert_same(run, hf.simulate(hf.derive(problem), start=start, parameters=each, **words))
    for wrong in ({"length": 1.5}, {"mass": 0.0}):
        said = []
        for others in (equations, hf.derive(problem)):
            with pytest.raises(hf.HoldfastError) as refused:
                hf.simulate(others, start=start, parameters=wrong, **words)
            said.append(str(refused.value))
        assert said[0] == said[1]


def test_a_start_that_was_moved_is_found_anew_for_each_mass(problem):
    words = {"scheme": hf.RK4, "step": 0.01, "duration": 0.2, "start_policy": "project", "start": {"x": 1.0, "y": -0.5}}
    equations = hf.derive(problem)
    for mass in (1.0, 2.0, 3.0):
        run = hf.simulate(equations, parameters={"mass": mass}, **words)
        assert_same(run, hf.simulate(hf.derive(problem), parameters={"mass": mass}, **words))


def test_a_known_run_cannot_be_changed_and_is_kept_as_others_are(problem):
    equations = hf.derive(problem)
    for words in WORDS[:4]:
        for _ in range(2):
            run = hf.simulate(equations, **words)
        with pytest.raises(ValueError, match="read-only"):
            run.times[0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            run["x"][0] = 1.0
        assert np.array_equal(pickle.loads(pickle.dumps(run))["x"], run["x"])
        assert replace(run, note="other").note == "other"


def test_rows_of_one_run_are_not_those_of_the_next(problem):
    """Whoever asks late sees the run asked, not what the memory of the kernel holds by then."""
    equations, words = hf.derive(problem), {"step": 0.01, "duration": 0.5}
    hf.simulate(equations, hf.RK4, **words)
    first = hf.simulate(equations, hf.RK4, **words)
    other = hf.simulate(equations, hf.RK4, parameters={"gravity": 1.0}, **words)
    expected = hf.simulate(hf.derive(problem), hf.RK4, **words)
    assert_same(first, expected)
    assert not np.array_equal(first["energy"], other["energy"])


def test_the_sign_of_a_zero_is_kept(problem):
    """0.0 and -0.0 are equal, and their runs are not: 1/x."""
    equations, words = hf.derive(problem), {"step": 0.01, "duration": 0.1}
    for value in (0.0, -0.0, 0.0):
        run = hf.simulate(equations, hf.RK4, start={"x_dot": value}, **words)
        assert np.signbit(run["x_dot"][0]) == np.signbit(value)


def test_threads_share_what_is_known(problem):
    equations, words = hf.derive(problem), {"step": 0.01, "duration": 0.5}
    expected = {
        g: hf.simulate(hf.derive(problem), hf.RK4, parameters={"gravity": g}, **words).y for g in (1.0, 2.0, 3.0)
    }
    hf.simulate(equations, hf.RK4, **words)
    wrong = []

    def many(gravity):
        for _ in range(50):
            if not np.array_equal(
                hf.simulate(equations, hf.RK4, parameters={"gravity": gravity}, **words).y, expected[gravity]
            ):
                wrong.append(gravity)

    threads = [threading.Thread(target=many, args=(gravity,)) for gravity in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_run_by_a_user_s_scheme_is_not_carried_on_by_another_of_its_name(problem):
    """A run knows its scheme by name, and by a hash of its numbers."""
    heun = hf.RungeKutta(name="rk4", order=2, stages=((), (1,)), weights=("1/2", "1/2"))
    equations, words = hf.derive(problem), {"step": 0.01, "duration": 0.1}
    run, usual = (hf.simulate(equations, scheme, **words) for scheme in (heun, hf.RK4))
    assert not np.array_equal(run.y, usual.y)
    with pytest.raises(hf.HoldfastError, match="another scheme that is called rk4"):
        run.continued(0.1)
    whole, carried = hf.simulate(equations, heun, step=0.01, duration=0.2), run.continued(0.1, scheme=heun, step=0.01)
    assert np.allclose(carried.y[:, -1], whole.y[:, -1], rtol=0, atol=1e-12)
    assert usual.continued(0.1).success
