"""Ensembles: cases by name, bit for bit the single runs, whatever lanes and threads."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import holdfast as hf
from holdfast.engine.run import adaptive
from tests.reference.shipped import derived
from tests.results.problems import burning, l, m, oscillator, pendulum, steered, x

GAIN = "law.stiffness.home"
CART = hf.grid({"m2": [1, 2, 3], "x": [0.1, 0.2, -0.3], GAIN: [1, 4, 9]})
PENDULUM = {l: [1, 1.5, 2, 0.7, 1.1], m: [1, 2, 3, 4, 5]}  # the start x = l follows
WAYS = {
    "cart": (lambda: derived("cart_rod"), CART, {"scheme": hf.RK4, "step": 0.01, "duration": 1.5}),
    "pendulum": (pendulum, PENDULUM, {"scheme": hf.Heun, "step": 0.01, "duration": 1}),
    "steered": (steered, {"height": [0.2, 0.5, 0.9]}, {"scheme": hf.Euler, "step": 0.005, "duration": 1}),
    "implicit": (pendulum, PENDULUM, {"scheme": hf.ImplicitMidpoint, "step": 0.02, "duration": 1}),
    "states": (burning, {"s": [1, 2], "b": [0.1, 0.9]}, {"scheme": hf.RK4, "step": 0.1, "duration": 1}),
}


@pytest.fixture(params=WAYS)
def way(request):
    equations, cases, how = WAYS[request.param]
    return equations(), cases, how


def single(equations, cases, number, **how):
    """The same case by `simulate`."""
    named = {getattr(key, "name", key): values[number] for key, values in cases.items()}
    start = {name: value for name, value in named.items() if name in equations.state_names}
    return hf.simulate(equations, start=start, parameters={n: v for n, v in named.items() if n not in start}, **how)


@pytest.mark.parametrize("every", [1, 7])
def test_each_case_is_bit_for_bit_what_simulate_gives(way, every):
    equations, cases, how = way
    runs = hf.ensemble(equations, cases=cases, every=every, **how)
    assert len(runs) == len(next(iter(cases.values())))
    for number, run in enumerate(runs):
        alone = single(equations, cases, number, every=every, **how)
        assert_array_equal(run.times, alone.times)
        for name in alone.names:
            assert_array_equal(run[name], alone[name])
        for field in ("outcome", "start", "parameters", "steps", "note", "every"):
            assert getattr(run, field) == getattr(alone, field), field
        assert run.nfev == (alone.nfev if how["scheme"].explicit else 0)  # those of implicit steps are not counted
        assert alone.nfev >= run.steps
        kept = slice(len(runs.times))
        assert_array_equal(runs["x"][number], alone["x"][kept])
        assert_array_equal(runs["energy"][number], alone["energy"][kept])


@pytest.mark.parametrize(("threads", "lanes"), [(1, 1), (2, 1), (1, 2), (2, 4), (3, 8)])
def test_results_do_not_depend_on_threads_and_lanes(way, threads, lanes):
    equations, cases, how = way
    one = hf.ensemble(equations, cases=cases, **how)
    other = hf.ensemble(equations, cases=cases, threads=threads, lanes=lanes, **how)
    assert_array_equal(other.states, one.states)
    for name in one.names:
        assert_array_equal(other[name], one[name])
    assert other.outcomes == one.outcomes


@pytest.mark.parametrize("scheme", [hf.DOP853, hf.Radau], ids=lambda scheme: scheme.name)
def test_cases_of_an_adaptive_scheme_have_rows_at_common_times(scheme):
    runs = hf.ensemble(pendulum(), scheme, tolerance=1e-10, duration=1, cases=PENDULUM, at=[0.25, 0.5, 1])
    for number in range(len(runs)):
        alone = single(pendulum(), PENDULUM, number, scheme=scheme, tolerance=1e-10, duration=1, at=[0.25, 0.5, 1])
        assert_array_equal(runs["x"][number], alone["x"])
        assert runs[number].steps == alone.steps
    assert len(hf.ensemble(pendulum(), scheme, tolerance=1e-6, duration=1, cases=PENDULUM).times) == 201


def test_cases_of_a_single_step_have_both_their_rows():
    runs = hf.ensemble(pendulum(), hf.RK4, step=0.01, duration=0.01, cases=PENDULUM)
    for number, run in enumerate(runs):
        alone = single(pendulum(), PENDULUM, number, scheme=hf.RK4, step=0.01, duration=0.01)
        assert run.times.tolist() == [0.0, 0.01]
        assert_array_equal(run["x"], alone["x"])


def test_rows_at_wanted_times():
    runs = hf.ensemble(pendulum(), hf.RK4, step=0.01, duration=1, cases=PENDULUM, at=[0.1, 0.25])
    assert_array_equal(runs["x"][2], single(pendulum(), PENDULUM, 2, scheme=hf.RK4, step=0.01, at=[0.1, 0.25])["x"])
    assert_array_equal(runs[2].times, [0.1, 0.25])


def test_a_grid_has_every_combination_the_last_name_fastest():
    grid = hf.grid({"a": [1, 2], "b": [3, 4, 5]})
    assert grid["a"].tolist() == [1, 1, 1, 2, 2, 2]
    assert grid["b"].tolist() == [3, 4, 5, 3, 4, 5]


def test_columns_and_outcomes_by_name():
    runs = hf.ensemble(pendulum(), hf.RK4, step=0.01, duration=1, cases=PENDULUM)
    assert len(runs) == 5
    assert runs.cases["l"].tolist() == PENDULUM[l]
    assert runs["lambda_rod"].shape == (5, 101)
    assert_array_equal(runs[x], runs["x"])
    assert runs.success.all()
    assert [runs[number].parameters["m"] for number in (0, 4, -1, -5)] == [1, 5, 5, 1]
    assert "5 completed" in repr(runs)
    with pytest.raises(hf.BadRequest, match="no quantity 'lambda_rot'"):
        runs["lambda_rot"]
    for number in (5, -6):
        with pytest.raises(hf.BadRequest, match=f"there is no case {number}"):
            runs[number]


# ── each case is judged by itself ─────────────────────────────────────────────────────────────────


def test_one_bad_case_does_not_spoil_the_others():
    cases = {GAIN: [1, -400, 1, 1], "x": [0.1, 0.1, 0.2, 1e200]}
    runs = hf.ensemble(derived("cart_rod"), hf.Euler, step=0.01, duration=20, cases=cases)
    completed, diverged, undefined = hf.Outcome.completed, hf.Outcome.diverged, hf.Outcome.undefined
    assert runs.outcomes == (completed, diverged, completed, undefined)  # the square of 1e200 has no number
    for number in range(4):
        assert (
            runs.outcomes[number]
            is single(derived("cart_rod"), cases, number, scheme=hf.Euler, step=0.01, duration=20).outcome
        )


@pytest.mark.parametrize("tolerance", [0.1, 0.03, 0.001])
@pytest.mark.parametrize("at", [[20], [10, 20], [0, 20], [5]])
def test_a_case_that_chose_its_steps_is_judged_by_them_as_by_itself(tolerance, at):
    how = {"scheme": hf.DOPRI5, "tolerance": tolerance, "duration": 20, "longest_step": 20, "at": at}
    runs = hf.ensemble(pendulum(), cases=PENDULUM, **how)
    assert not runs.success.all()
    for number, run in enumerate(runs):
        alone = single(pendulum(), PENDULUM, number, **how)
        assert runs.outcomes[number] is alone.outcome
        assert (run.outcome, run.message, run.findings) == (alone.outcome, alone.message, alone.findings)


def test_a_case_that_ends_before_the_first_time_asked_for_has_no_rows():
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=-(x**4))
    equations = hf.derive(hf.Problem(system))
    how = {"scheme": hf.DOP853, "tolerance": 1e-9, "duration": 2, "at": [1.5, 2]}
    runs = hf.ensemble(equations, cases={x: [1, 0.1]}, **how)
    alone = hf.simulate(equations, start={x: 1}, **how)
    assert len(runs[0].times) == len(alone.times) == 0
    assert (runs[0].outcome, runs[0].note) == (alone.outcome, alone.note)
    assert runs.counts.final[0, 0] > 100  # it ran away, and did not stay at its start
    assert_array_equal(runs[1]["x"], runs["x"][1])


def test_a_law_that_does_not_attract_is_named_for_the_cases_that_start_off():
    cases = {x: [1.0, 1.01]}
    runs = hf.ensemble(
        pendulum(), hf.RK4, step=0.01, duration=0.3, cases=cases, start_policy="keep", law=hf.Unstabilised()
    )
    assert runs.outcomes == (hf.Outcome.completed, hf.Outcome.off_program)


def test_a_case_without_a_start_on_the_program_has_no_run():
    a = hf.coordinates("a")
    c = hf.parameters("c")
    system = hf.System(coordinates=(a,), kinetic=a.rate**2 / 2, parameters={c: -1})
    program = hf.Program(holonomic={"root": a**2 + c}, law=hf.SpringDamper(stiffness=1, damping=2))
    equations = hf.derive(hf.Problem(system, program, start={a: 1.1}))
    runs = hf.ensemble(equations, hf.RK4, step=0.1, duration=1, cases={c: [-1, 1, -4]}, start_policy="project")
    assert runs.outcomes == (hf.Outcome.completed, hf.Outcome.no_start, hf.Outcome.completed)
    assert np.isnan(runs["a"][1]).all()
    assert runs["a"][2][0] == pytest.approx(2)
    assert runs[1].times.tolist() == [0.0]


def test_cases_that_end_early_are_nan_from_there():
    q = hf.coordinates("q")
    system = hf.System(coordinates=(q,), kinetic=q.rate**2 / 2, forces={q: 3 * q.rate * q**2})
    runs = hf.ensemble(
        hf.derive(hf.Problem(system, start={q: 1, q.rate: 1})), hf.RK4, step=0.01, duration=1,
        cases={q: [1, 0.1], q.rate: [1, 0.001]}, every=3,
    )  # fmt: skip
    assert runs.outcomes == (hf.Outcome.not_finite, hf.Outcome.completed)
    assert np.isnan(runs["q"][0, -1])
    assert np.isfinite(runs["q"][1]).all()
    assert np.isfinite(runs[0]["q"]).all()
    assert runs[0].times[-1] < 1


# ── what is refused ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"cases": {}}, "needs cases"),
        ({"cases": {"mass": [1]}}, "no state, parameter or gain is called 'mass'"),
        ({"cases": {"m": [1, 2], "x": [1]}}, "m has 2, x has 1"),
        ({"cases": {"m": 3}}, "a list of numbers"),
        ({"cases": {"m": []}}, "at least one"),
        ({"cases": {"m": [1, float("nan")]}}, "finite"),
        ({"cases": {"m": ["a"]}}, "a list of numbers"),
        ({"cases": {"m": [1]}, "parameters": {"m": 2}}, "for all cases and for each"),
        ({"cases": None}, "states no ensemble"),
        ({"threads": 0}, "threads = 0"),
        ({"lanes": -1}, "lanes = -1"),
        ({"lanes": 3}, "lanes = 3"),
        ({"lanes": 12}, "power of two"),
        ({"step": 0.03}, "whole number of steps"),
        ({"cases": {"x": [1.5]}, "start_policy": "raise"}, "start of case 0"),
        ({"cases": {"m": np.ones(10**5)}, "duration": 100}, "GB"),
    ],
)
def test_requests_that_cannot_be_met_are_refused(wrong, words):
    asked = {"cases": {"m": [1, 2]}, "step": 0.01, "duration": 1} | wrong
    with pytest.raises(hf.BadRequest, match=words):
        hf.ensemble(pendulum(), hf.RK4, **asked)


def test_an_empty_or_huge_grid_is_refused():
    with pytest.raises(hf.BadRequest, match="mapping"):
        hf.grid({})
    with pytest.raises(hf.BadRequest, match="cases"):
        hf.grid({"a": range(10**4), "b": range(10**4)})


# ── the table of a problem file ───────────────────────────────────────────────────────────────────

FILE = """
schema = 1
[system]
coordinates = ["x"]
kinetic = "m*x_dot**2/2"
potential = "k*x**2/2"
[parameters]
m = 1
k = 1
[start]
x = 1
[run]
scheme = "rk4"
step = 0.1
duration = 1
"""


def from_table(text):
    return hf.ensemble(hf.derive(hf.loads(FILE + text)))


def test_the_table_states_grids_ranges_and_columns_that_go_together():
    runs = from_table("[ensemble]\ngrid = { m = [1, 2], k = { from = 1, to = 2, count = 3 } }\n")
    assert runs.cases["m"].tolist() == [1, 1, 1, 2, 2, 2]
    assert runs.cases["k"].tolist() == [1, 1.5, 2, 1, 1.5, 2]
    runs = from_table("[ensemble]\ngrid = { m = [1, 2] }\nzip = { x = [0.1, 0.2, 0.3], k = [3, 4, 5] }\n")
    assert runs.cases["x"].tolist() == [0.1, 0.1, 0.2, 0.2, 0.3, 0.3]
    assert runs.cases["k"].tolist() == [3, 3, 4, 4, 5, 5]
    assert runs.cases["m"].tolist() == [1, 2, 1, 2, 1, 2]


def test_gains_may_be_written_as_nested_tables():
    text = hf.dumps(derived("cart_rod").problem) + "\n[ensemble]\nzip = { law.stiffness.home = [1, 2] }\n"
    runs = hf.ensemble(hf.derive(hf.loads(text)), step=0.1, duration=1)
    assert runs.cases[GAIN].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[ensemble]\ncases = { m = [1] }\n", "'cases' is not known here"),
        ("[ensemble]\ngrid = 3\n", "a table of names"),
        ("[ensemble]\ngrid = { m = 3 }\n", "a list of numbers"),
        ("[ensemble]\ngrid = { m = { from = 1, to = 2 } }\n", "from, to and count"),
        ("[ensemble]\ngrid = { m = { from = 1, to = 2, count = 0 } }\n", "from, to and count"),
        ("[ensemble]\nzip = { m = [1, 2], k = [1] }\n", "m has 2, k has 1"),
        ("[ensemble]\ngrid = { m = [1] }\nzip = { m = [1] }\n", "in grid and in zip"),
        ("[ensemble]\ngrid = { mass = [1] }\n", "is called 'mass'"),
    ],
)
def test_tables_that_mean_nothing_are_refused(text, words):
    with pytest.raises(hf.BadRequest, match=words):
        from_table(text)


# ── leaving ───────────────────────────────────────────────────────────────────────────────────────


def test_a_data_set_has_runs_and_times():
    runs = hf.ensemble(derived("cart_rod"), hf.RK4, step=0.01, duration=1, cases=CART, every=10)
    data = runs.to_xarray()
    assert data["x"].dims == ("run", "time")
    assert_array_equal(data["F"].values, runs["F"])
    assert data["m2"].values.tolist() == CART["m2"].tolist()
    assert data["start.x"].dims == ("run",)
    assert set(data["outcome"].values) == {"completed"}


def test_saved_ensembles_hold_all_columns(tmp_path):
    import xarray

    runs = hf.ensemble(oscillator(), hf.RK4, step=0.1, duration=1, cases={x: [1, 2, 3]})
    for form in ("nc", "npz", "csv"):
        runs.save(tmp_path / f"runs.{form}")
    with xarray.open_dataset(tmp_path / "runs.nc") as data:
        assert_array_equal(data["energy"].values, runs["energy"])
    with np.load(tmp_path / "runs.npz", allow_pickle=False) as held:
        assert_array_equal(held["x"], runs["x"])
        assert held["case:x"].tolist() == [1, 2, 3]
    lines = (tmp_path / "runs.csv").read_text().splitlines()
    assert lines[0] == "run,x,outcome,steps,final.x,final.x_dot"
    assert len(lines) == 4
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".nc", ".npz"]


def test_progress_counts_the_cases():
    told = []
    hf.ensemble(pendulum(), hf.RK4, step=0.01, duration=1, cases={m: np.arange(1, 200)}, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_thousands_of_cases_cost_little_beside_the_run():
    """Projected starts that differ only in gains are projected once; judgement is made on arrays."""
    from time import process_time

    cases = {"law.stiffness.rod": np.linspace(1, 100, 4000)}
    hf.ensemble(pendulum(), hf.RK4, step=0.01, duration=0.1, cases={"law.stiffness.rod": [1, 2]})
    began = process_time()
    hf.ensemble(pendulum(), hf.RK4, step=0.01, duration=0.1, cases=cases)
    assert (process_time() - began) / 4000 < 0.5e-3


def test_a_case_of_more_steps_than_memory_holds_does_not_spoil_the_others(monkeypatch):
    monkeypatch.setattr(adaptive, "MOST_KEPT", 20_000)
    how = {"scheme": hf.DOPRI5, "tolerance": 1e-6, "duration": 1, "at": [0.25, 0.5]}
    cases = {GAIN: [1, 1e6], "x": [0.1, 0.2]}
    runs = hf.ensemble(derived("cart_rod"), cases=cases, **how)
    with pytest.raises(hf.BadRequest, match="they fill"):
        single(derived("cart_rod"), cases, 1, **how)
    assert_array_equal(runs["x"][0], single(derived("cart_rod"), cases, 0, **how)["x"])
    assert (runs[1].times.tolist(), runs[1].outcome) == ([0.25, 0.5], runs.outcomes[1])
    assert_array_equal(runs[1]["x"], runs["x"][1])
    assert np.isfinite(runs.counts.final).all()
