"""Fits: what is found lies within its standard errors, and what the data do not say is told."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf

theta = hf.coordinates("theta")
m, l, g, c = hf.parameters("m l g c")


def swing(unit=1.0, **run):
    """A pendulum in its angle, with drag; lengths in any unit."""
    system = hf.System(
        coordinates=theta,
        kinetic=m * l**2 * theta.rate**2 / 2,
        potential=-m * g * l * sp.cos(theta),
        dissipation=c * theta.rate**2 / 2,
        points={"bob": (l * sp.sin(theta), -l * sp.cos(theta))},
        parameters={m: 1, l: unit, g: 9.81 * unit, c: 0.1 * unit**2},
    )
    run = run or {"scheme": "rk4", "step": 0.01, "duration": 5}
    return hf.derive(hf.Problem(system, start={theta: 1.0}, run=hf.Run(**run)))


TRUE = {"l": 0.83, "c": 0.17, "theta(0)": 1.2}


def swings(equations, noise, seed, every=5, **more):
    run = hf.simulate(equations, parameters={"l": 0.83, "c": 0.17}, start={theta: 1.2}, every=every, **more)
    random = np.random.default_rng(seed)
    return {"t": run.times, "theta": run["theta"] + noise * random.standard_normal(len(run.times))}


def within(found, true, times=3.0):
    return all(abs(found[name] - value) <= times * found.errors[name] for name, value in true.items())


def test_a_pendulum_is_found_within_its_standard_errors_in_97_of_100_trials():
    equations = swing()
    trials = [hf.fit(equations, swings(equations, 0.02, seed), ["l", "c", "theta(0)"]) for seed in range(100)]
    assert all(found.success for found in trials)
    assert sum(within(found, TRUE) for found in trials) >= 97
    assert sum(within(found, TRUE, times=1.0) for found in trials) <= 60  # they are no wider than they should be
    noise = [np.std(np.random.default_rng(seed).standard_normal(101)) for seed in range(100)]
    assert np.mean([found.sigma["theta"] for found in trials]) == pytest.approx(0.02 * np.mean(noise), rel=0.01)


def motor():
    return hf.derive(hf.load(f"{hf.__path__[0]}/examples/dc_motor.toml"))


def test_a_motor_is_found_from_current_and_speed_of_unlike_noise_in_97_of_100_trials():
    """Noise of 2 % and of 1 % of each column, neither of them given; the inertia is known, the rest is sought."""
    equations, names = motor(), ["R", "L", "K", "b"]
    true = {"R": 1.3, "L": 0.4, "K": 0.02, "b": 0.08}
    run = hf.simulate(equations, parameters=true, every=30)
    good = narrow = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        noise = random.standard_normal((2, len(run.times)))
        current, speed = run["q_coil_dot"] + 0.015 * noise[0], run["shaft_dot"] + 0.002 * noise[1]
        found = hf.fit(equations, {"t": run.times, "q_coil_dot": current, "shaft_dot": speed}, names)
        assert found.success
        good += within(found, true)
        narrow += within(found, true, times=1.0)
    assert good >= 97
    assert narrow <= 60
    assert found.sigma["q_coil_dot"] == pytest.approx(0.015, rel=0.25)
    assert found.sigma["shaft_dot"] == pytest.approx(0.002, rel=0.25)


def test_exact_data_give_exact_values():
    equations = swing()
    found = hf.fit(equations, swings(equations, 0.0, 0), {"l": 1.3, "c": 0.05, "theta(0)": 0.9})
    assert found.success
    assert {name: found[name] for name in TRUE} == pytest.approx(TRUE, rel=1e-7)


def test_known_noise_gives_its_own_standard_errors_and_chi_square():
    equations = swing()
    data = swings(equations, 0.02, 3)
    told, known = hf.fit(equations, data, ["l", "c", theta]), hf.fit(equations, data, ["l", "c", theta], sigma=0.04)
    assert known["l"] == pytest.approx(told["l"], rel=1e-7)
    assert known.errors["l"] == pytest.approx(told.errors["l"] * 0.04 / told.sigma["theta"], rel=1e-6)
    assert known.chi_square == pytest.approx((told.sigma["theta"] / 0.04) ** 2, rel=1e-6)
    assert "as given" in known.summary()
    by_row = hf.fit(equations, data, ["l"], sigma={"theta": np.linspace(0.01, 0.03, len(data["t"]))})
    assert by_row.success


def test_standard_errors_do_not_depend_on_units():
    """Lengths in nanometres: the same angles, the same relative errors."""
    usual, small = swing(), swing(1e-9)
    data = swings(usual, 0.02, 5)
    one = hf.fit(usual, data, {"l": 1.0, "c": 0.1})
    other = hf.fit(small, data, {"l": 1e-9, "c": 0.1e-18})
    assert other["l"] == pytest.approx(1e-9 * one["l"], rel=1e-6)
    assert other.errors["l"] == pytest.approx(1e-9 * one.errors["l"], rel=1e-4)


def test_quantities_gaps_and_repeated_times_may_be_data():
    equations = swing()
    run = hf.simulate(equations, parameters={"l": 0.83, "c": 0.17}, start={theta: 1.2}, every=10)
    across = run["bob.x"].copy()
    across[3] = np.nan
    data = {
        "time": np.concatenate([run.times[::-1], run.times]),
        "bob.x": np.concatenate([across[::-1], across]),
        "energy": np.concatenate([run["energy"][::-1], np.full(len(run.times), np.nan)]),
    }
    found = hf.fit(equations, data, {"l": 0.9, "c": 0.1, "theta(0)": 1.0, "m": 1.1})
    assert {name: found[name] for name in (*TRUE, "m")} == pytest.approx({**TRUE, "m": 1.0}, rel=1e-6)
    assert np.isnan(found.residuals["bob.x"]).sum() == 2


def test_data_between_steps_are_met():
    equations = swing()
    times = np.sort(np.random.default_rng(1).uniform(0, 5, 80))
    run = hf.simulate(equations, "dop853", tolerance=1e-11, at=times, duration=5, parameters={"l": 0.83, "c": 0.17})
    found = hf.fit(equations, {"t": times, "theta": run["theta"]}, ["l", "c"])
    assert {name: found[name] for name in ("l", "c")} == pytest.approx({"l": 0.83, "c": 0.17}, rel=1e-6)
    finer = hf.fit(equations, {"t": times, "theta": run["theta"]}, ["l", "c"], "dop853", tolerance=1e-10)
    assert finer["l"] == pytest.approx(0.83, rel=1e-8)


def test_a_problem_without_a_run_is_run_by_itself():
    system = swing().problem.system
    equations = hf.derive(hf.Problem(system, start={theta: 1.0}))
    data = swings(swing(), 0.01, 2)
    assert within(hf.fit(equations, data, ["l", "c", "theta(0)"]), TRUE)


def test_gains_of_a_law_are_found():
    x = hf.coordinates("x")
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2)
    program = hf.Program(holonomic={"home": x}, controls={"F": {x: 1}}, law=hf.SpringDamper(stiffness=4, damping=1))
    equations = hf.derive(hf.Problem(system, program, start={x: 1}, run=hf.Run(step=0.01, duration=5)))
    names = ["law.stiffness.home", "law.damping.home"]
    run = hf.simulate(equations, parameters=dict(zip(names, (6.0, 0.7), strict=True)), every=10)
    found = hf.fit(equations, {"t": run.times, "F": run["F"]}, names)
    assert [found[name] for name in names] == pytest.approx([6.0, 0.7], rel=1e-7)
    assert hf.simulate(equations, parameters=found.parameters)["x"][-1] == pytest.approx(run["x"][-1], abs=1e-9)
    with pytest.raises(hf.BadRequest, match="belong to a law"):
        _ = found.problem


def test_what_was_found_can_be_gone_on_with():
    equations = swing()
    found = hf.fit(equations, swings(equations, 0.01, 0), ["l", "c", "theta(0)"])
    run = hf.simulate(found.equations, every=5)
    assert run["theta"] == pytest.approx(found.predicted["theta"], abs=1e-12)
    assert hf.loads(hf.dumps(found.problem)) == found.problem
    again = hf.simulate(equations, parameters=found.parameters, start=found.start, every=5)
    assert again["theta"] == pytest.approx(run["theta"], abs=1e-12)
    assert found.correlation.shape == (3, 3)
    assert found.to_dict()["values"]["l"] == found["l"]


def test_a_letter_with_a_first_value_is_found_and_stays_positive():
    k = hf.parameters("k", positive=True)
    x = hf.coordinates("x")
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential=k * x**2 / 2)
    equations = hf.derive(hf.Problem(system, start={x: 1}, run=hf.Run(step=0.01, duration=2)))
    times = np.linspace(0, 2, 21)
    found = hf.fit(equations, {"t": times, "x": np.cos(1.5 * times)}, {"k": 1.0})
    assert found["k"] == pytest.approx(2.25, rel=1e-6)
    with pytest.raises(hf.HoldfastError, match="k"):
        hf.fit(equations, {"t": times, "x": np.cos(times)}, ["k"])


# ── what the data do not say ──────────────────────────────────────────────────────────────────────


def test_a_combination_that_is_not_determined_is_named():
    equations = swing()
    data = swings(equations, 0.01, 1)
    found = hf.fit(equations, data, ["m", "c", "l", "theta(0)"])
    assert any("m, c apart: m +1 %, c +1 %" in warning for warning in found.warnings)
    assert np.isinf(found.errors["m"])
    assert np.isinf(found.errors["c"])
    assert abs(found["l"] - 0.83) < 3 * found.errors["l"] < 0.01
    assert "not determined" in found.summary()
    both = hf.fit(equations, data, ["g", "l", "c", "m", "theta(0)"])
    assert len([w for w in both.warnings if "apart" in w]) == 2


def test_a_parameter_without_effect_is_named():
    equations = swing()
    run = hf.simulate(equations, every=10)
    data = {"t": run.times, "theta": np.cos(run.times)}
    system = hf.System(coordinates=theta, kinetic=m * theta.rate**2 / 2, potential=m * theta**2 / 2, parameters={m: 1})
    found = hf.fit(hf.derive(hf.Problem(system, start={theta: 1}, run=hf.Run(step=0.01, duration=5))), data, ["m"])
    assert "the data say nothing of m" in found.warnings


def test_a_mass_that_cancels_but_for_rounding_is_named():
    """In Cartesian coordinates m goes through the elimination, and leaves 1e-17 behind."""
    problem = hf.load(f"{hf.__path__[0]}/examples/pendulum.toml")
    equations = hf.derive(problem)
    run = hf.simulate(equations, parameters={"g": 9.7}, duration=2, every=10)
    found = hf.fit(equations, {"t": run.times, "x": run["x"]}, ["m", "g"])
    assert found.warnings == ("the data say nothing of m",)
    assert found["g"] == pytest.approx(9.7, rel=1e-8)


def test_fewer_values_than_unknowns_are_told():
    equations = swing()
    found = hf.fit(equations, {"t": [1.0, 2.0], "theta": [0.1, 0.2]}, ["l", "c", "theta(0)"])
    assert any("apart" in warning for warning in found.warnings)
    assert any("2 values for 3 unknowns" in warning for warning in found.warnings)
    one = hf.fit(equations, {"t": [1.0], "theta": [0.1]}, ["l"])
    assert np.isinf(one.errors["l"])
    assert np.isfinite(hf.fit(equations, {"t": [1.0], "theta": [0.1]}, ["l"], sigma=0.01).errors["l"])


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1e3])
def test_data_of_any_size_are_fitted(size):
    x = hf.coordinates("x")
    k = hf.parameters("k")
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential=k * x**2 / 2, parameters={k: 4})
    equations = hf.derive(hf.Problem(system, start={x: 1}, run=hf.Run(step=0.01, duration=2)))
    times = np.linspace(0, 2, 21)
    noise = 0.01 * np.random.default_rng(0).standard_normal(21)
    found = hf.fit(equations, {"t": times, "x": size * (3 * np.cos(2.1 * times) + noise)}, ["k", "x(0)"])
    assert found.success
    assert abs(found["x(0)"] / size - 3) < 4 * found.errors["x(0)"] / size < 0.1
    assert abs(found["k"] - 2.1**2) < 4 * found.errors["k"] < 0.1


def test_first_values_that_are_out_of_all_proportion_are_no_success():
    """A start of 1 beside data of 1e-100 or 1e30: a search in steps of its own size finds nothing."""
    x = hf.coordinates("x")
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential=x**2 / 2)
    equations = hf.derive(hf.Problem(system, start={x: 1}, run=hf.Run(step=0.01, duration=2)))
    times = np.linspace(0, 2, 21)
    for size in (1e-100, 1e30):
        noise = 0.01 * np.random.default_rng(0).standard_normal(21)
        found = hf.fit(equations, {"t": times, "x": size * (np.cos(times) + noise)}, ["x(0)"])
        assert not found.success or np.isinf(found.errors["x(0)"])
        assert found.warnings


def test_another_minimum_is_told_by_its_residuals():
    equations = swing()
    data = swings(equations, 0.02, 0)
    found = hf.fit(equations, data, {"l": 8.0})
    assert abs(found["l"] - 0.83) > 0.5
    assert any("are no noise" in warning for warning in found.warnings)
    assert not hf.fit(equations, data, {"l": 0.9, "c": 0.1, "theta(0)": 1}).warnings


def test_a_value_that_is_met_exactly_is_not_taken_for_exact():
    """One value of y alone tells its own stiffness: what is left over is 0, and yet its noise is not."""
    x, y = hf.coordinates("x y")
    k, q = hf.parameters("k q")
    system = hf.System(
        coordinates=(x, y),
        kinetic=(x.rate**2 + y.rate**2) / 2,
        potential=(k * x**2 + q * y**2) / 2,
        parameters={k: 4, q: 3},
    )
    equations = hf.derive(hf.Problem(system, start={x: 1, y: 1}, run=hf.Run(step=0.01, duration=2)))
    times = np.linspace(0, 2, 41)
    seen = np.cos(2.1 * times) + 0.02 * np.random.default_rng(0).standard_normal(41)
    single = np.full(41, np.nan)
    single[20] = np.cos(1.8) + 0.02
    found = hf.fit(equations, {"t": times, "x": seen, "y": single}, ["k", "q"])
    assert found.success
    assert found.errors["q"] > 1e-3
    assert any("1 values of y may be met exactly" in warning for warning in found.warnings)


def test_a_weak_parameter_is_told():
    """The drag of half a swing is lost in the noise."""
    equations = swing()
    data = swings(equations, 0.05, 4)
    short = {"t": data["t"][:8], "theta": data["theta"][:8]}
    found = hf.fit(equations, short, ["c"])
    assert any("c is not told from 0" in warning or "c is known to" in warning for warning in found.warnings)


def test_parameters_that_are_hardly_told_apart_are_named():
    """Torque constant, drag and inertia share a scale that the back-emf alone tells, and it is small."""
    run = hf.simulate(motor(), every=30)
    noise = np.random.default_rng(0).standard_normal((2, len(run.times)))
    data = {"t": run.times, "q_coil_dot": run["q_coil_dot"] + 0.01 * noise[0]}
    data["shaft_dot"] = run["shaft_dot"] + 0.001 * noise[1]
    found = hf.fit(motor(), data, ["R", "b", "K", "J"])
    assert any("hardly tell b, K, J apart" in warning for warning in found.warnings)


def test_a_search_that_does_not_end_is_told():
    equations = swing()
    found = hf.fit(equations, swings(equations, 0.01, 0), {"l": 3.0, "c": 0.5}, attempts=2)
    assert not found.success
    assert "NOT converge" in found.summary()
    assert "NOT converged" in repr(found)


def test_a_bound_that_is_met_is_told():
    equations = swing()
    found = hf.fit(equations, swings(equations, 0.01, 0), {"l": 0.95, "c": 0.1}, bounds={"l": (0.9, None)})
    assert found["l"] == pytest.approx(0.9, rel=1e-5)
    assert any("l is at its bound 0.9" in warning for warning in found.warnings)


def test_values_without_a_run_are_stepped_back_from():
    """A trial that leaves all bounds is no end of the search."""
    x = hf.coordinates("x")
    k = hf.parameters("k")
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, forces={x: k * x**3}, parameters={k: -3})
    equations = hf.derive(hf.Problem(system, start={x: 1}, run=hf.Run(step=0.01, duration=4)))
    run = hf.simulate(equations, parameters={"k": 0.05}, every=20)
    found = hf.fit(equations, {"t": run.times, "x": run["x"]}, {"k": -0.2})
    assert found["k"] == pytest.approx(0.05, rel=1e-6)
    with pytest.raises(hf.BadRequest, match="the run ends at"):
        hf.fit(equations, {"t": run.times, "x": run["x"]}, {"k": 50.0})


GOOD = {"t": [0.0, 1.0, 2.0], "theta": [1.0, 0.5, 0.2]}


@pytest.mark.parametrize(
    ("data", "asked", "said"),
    [
        ({"theta": [1.0]}, {}, "no times"),
        ({"t": [0.0, 1.0], "theta": [1.0]}, {}, "1 values at 2 times"),
        ({"t": [0.0, 1.0], "theta": ["a", "b"]}, {}, "not a column of numbers"),
        ({"t": [0.0, np.nan], "theta": [1.0, 2.0]}, {}, "a time is missing"),
        ({"t": [0.0, 1.0], "theta": [np.nan, np.nan]}, {}, "no values"),
        ({"t": [0.0, 1.0], "phi": [1.0, 2.0]}, {}, "'phi' is no quantity"),
        ({"t": [-1.0, 1.0], "theta": [1.0, 2.0]}, {}, "before the run"),
        ({"t": [0.0], "theta": [1.0]}, {}, "those of the start"),
        ({"t": []}, {}, "no values"),
        (3, {}, "data cannot be int"),
        ("none.csv", {}, "none.csv"),
        (GOOD, {"sigma": -1}, "not positive"),
        (GOOD, {"sigma": {"phi": 1}}, "no column 'phi'"),
        (GOOD, {"sigma": "x"}, "not positive"),
        (GOOD, {"columns": ["phi"]}, "no column 'phi'"),
        (GOOD, {"parameters": []}, "nothing is named"),
        (GOOD, {"parameters": ["zz"]}, "'zz'"),
        (GOOD, {"parameters": {"l": "x"}}, "first value"),
        (GOOD, {"parameters": {"l": float("nan")}}, "first value"),
        (GOOD, {"bounds": {"l": (2, 3)}}, "out of its bounds"),
        (GOOD, {"bounds": {"l": (3, 2)}}, "leave nothing"),
        (GOOD, {"bounds": {"l": 3}}, "the bounds of"),
        (GOOD, {"fixed": {"l": 3}}, "fixed and sought"),
        (GOOD, {"duration": 3}, "how long"),
        (GOOD, {"attempts": 0}, "attempts = 0"),
        (GOOD, {"attempts": "many"}, "attempts"),
        (GOOD, {"bounds": {"l": ("a", 2)}}, "the bounds of"),
        (GOOD, {"sigma": object()}, "not positive"),
    ],
)
def test_what_cannot_be_fitted_is_said(data, asked, said):
    with pytest.raises(hf.HoldfastError, match=said):
        hf.fit(swing(), data, **{"parameters": ["l"], **asked})


def test_a_frame_and_a_file_are_data(tmp_path):
    pandas = pytest.importorskip("pandas")
    equations = swing()
    data = swings(equations, 0.01, 0)
    frame = pandas.DataFrame(data)
    file = tmp_path / "swing.csv"
    frame.to_csv(file, index=False)
    wanted = hf.fit(equations, data, ["l", "c"])["l"]
    assert hf.fit(equations, frame, ["l", "c"])["l"] == wanted
    assert hf.fit(equations, frame.rename(columns={"t": "time"}).set_index("time"), ["l", "c"])["l"] == wanted
    assert hf.fit(equations, file, ["l", "c"])["l"] == pytest.approx(wanted, rel=1e-9)
    file.write_text("t,theta\n0,1\n1,\n2,x\n", "utf-8")
    with pytest.raises(hf.BadRequest, match="'x' in row 4"):
        hf.fit(equations, file, ["l", "c"])
    file.write_text("t,theta\n0,1\n1\n", "utf-8")
    with pytest.raises(hf.BadRequest, match="row 3"):
        hf.fit(equations, file, ["l", "c"])
    file.write_text("", "utf-8")
    with pytest.raises(hf.BadRequest, match="columns"):
        hf.fit(equations, file, ["l", "c"])


def test_a_column_of_zeros_that_is_met_determines_nothing():
    """Its noise was taken for 1e-318, whose inverse is none."""
    x, y = hf.coordinates("x y")
    k = hf.parameters("k")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=k * x**2, parameters={k: 2})
    equations = hf.derive(hf.Problem(system, start={x: 1}))
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=1)
    found = hf.fit(equations, {"t": run.times, "y": run["y"]}, {"k": 2.5}, hf.RK4, step=0.01)
    assert np.isinf(found.covariance).all()
