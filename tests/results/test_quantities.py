"""Any expression along a run: points, definitions, accelerations, forces, energies; against hand-written NumPy."""

from importlib import resources

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

EXAMPLES = resources.files("holdfast") / "examples"
ROD = """
schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "m*(x_dot**2 + y_dot**2)/2"
potential = "m*g*y"
[definitions]
angle = "atan2(x, -y)"
[points]
O = ["0", "0"]
bob = ["x", "y"]
[parameters]
m = 2
g = 9.81
l = 1.5
[program.holonomic]
rod = "sqrt(x**2 + y**2) - l"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x = 1.5
[run]
scheme = "rk4"
step = 0.01
duration = 1
"""


@pytest.fixture(scope="module")
def run():
    return hf.simulate(hf.derive(hf.loads(ROD)))


def test_points_definitions_and_accelerations_have_columns(run):
    x, y, vx, vy = (run[name] for name in ("x", "y", "x_dot", "y_dot"))
    assert_allclose(run["bob.x"], x)
    assert_allclose(run["angle"], np.arctan2(x, -y))
    assert_allclose(run["sqrt(dot(ddt(bob), ddt(bob)))"], np.hypot(vx, vy), rtol=1e-14)
    assert_allclose(2 * run["x_ddot"], run["R_x"], atol=1e-12)  # m a = reaction, along x
    assert_allclose(2 * run["y_ddot"], run["R_y"] - 2 * 9.81, atol=1e-12)
    assert_allclose(run["ddt(ddt(bob)).y"], run["y_ddot"], atol=1e-13)
    assert_allclose(run["ddt(angle)"], (vx * -y + x * vy) / (x**2 + y**2), atol=1e-12)


def test_expressions_may_use_whatever_a_run_shows(run):
    assert_allclose(run["energy - kinetic - potential"], 0, atol=1e-13)
    assert_allclose(run["abs(lambda_rod)/(m*g) + t"], np.abs(run["lambda_rod"]) / (2 * 9.81) + run.times, rtol=1e-14)
    assert_allclose(run["y_rod + w_rod"], run["y_rod"] + run["w_rod"], atol=1e-300)
    x, y = hf.coordinates("x y")
    assert_allclose(run[x**2 + y.rate], run["x"] ** 2 + run["y_dot"])
    assert_allclose(run.at(sp.Symbol("lambda_rod") * x), run["lambda_rod"] * run["x"])
    assert_allclose(run["g"], 9.81)
    assert "angle" in run
    assert "x_ddot" in run
    assert "nothing" not in run


def test_the_rate_of_the_energy_is_the_power(run):
    assert_allclose(run["ddt(energy)"], run["power_held"], atol=1e-10)


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ("bob", "no quantity 'bob'"),
        ("bob + bob", "'bob + bob' is a vector"),
        ("lambda_rot", "no quantity 'lambda_rot'"),
        ("2*lambda_rot", "unknown name 'lambda_rot'"),
        ("x +", "is no quantity of this run"),
        ("__import__('os')", "is no quantity of this run"),
        ("bob.z", "is no quantity of this run"),
    ],
)
def test_what_is_no_quantity_is_refused_by_name(run, asked, what):
    with pytest.raises(hf.BadRequest) as refused:
        run[asked]
    assert what in refused.value.what


def test_a_loaded_run_computes_the_same(run, tmp_path):
    run.save(tmp_path / "run.npz")
    loaded = hf.Trajectory.load(tmp_path / "run.npz")
    assert_allclose(loaded["angle + lambda_rod"], run["angle + lambda_rod"], rtol=1e-15)


def test_controls_and_states_of_extensions_are_quantities_too():
    run = hf.simulate(hf.derive(hf.load(EXAMPLES / "crane.toml")), duration=0.5)
    assert_allclose(run["F + N"], run["F"] + run["N"])
    assert_allclose(run["load.x - trolley.x"], run["l"] * np.sin(run["th"]), atol=1e-15)
    assert_allclose(run["ddt(ddt(load)).y - ddt(ddt(p))"], run["set_w2_height"], atol=1e-9)


# ---------------------------------------------------------------- one number for each run


def test_reductions_of_a_run_are_those_of_its_columns(run):
    t, force = run.times, run["lambda_rod"]
    assert run.reduce("max(abs(lambda_rod))") == pytest.approx(abs(force).max(), rel=1e-14)
    assert run.reduce("min(y)") == run["y"].min()
    assert run.reduce("range(x)") == np.ptp(run["x"])
    assert run.reduce("start(x)") == 1.5
    assert run.reduce("final(x*y)") == run["x"][-1] * run["y"][-1]
    assert run.reduce("mean(t)") == pytest.approx(0.5, rel=1e-12)
    assert run.reduce("rms(sin(6*pi*t))") == pytest.approx(np.sqrt(0.5), rel=1e-3)
    assert run.reduce("first(t - 0.305)") == pytest.approx(0.305, abs=1e-12)
    assert np.isnan(run.reduce("first(1 + t)"))
    assert run.reduce("first(-bob.x)") == pytest.approx(np.interp(0, -run["x"], t), abs=1e-12)


@pytest.mark.parametrize(
    "text", ["abs(x)", "max(x, y)", "maximum(x)", "max()", "max(x", "max(x) + 1", "max(x))", "", 3]
)
def test_what_is_no_reduction_is_refused(run, text):
    with pytest.raises(hf.BadRequest, match="no reduction"):
        run.reduce(text)


STUDY = f"""{ROD}
[ensemble]
grid = {{ g = [9.81, 1.62], m = [1, 2] }}
reduce = {{ pull = "max(abs(lambda_rod))", low = "min(bob.y)" }}
"""


def test_an_ensemble_reduces_each_case_as_its_run_does(tmp_path):
    problem = hf.loads(STUDY)
    assert hf.loads(hf.dumps(problem)) == problem
    runs = hf.ensemble(hf.derive(problem))
    assert_allclose(runs["bob.x + m"], runs["x"] + runs.cases["m"][:, None])
    for name, text in (("pull", "max(abs(lambda_rod))"), ("low", "min(bob.y)")):
        assert_allclose(runs.reductions[name], [run.reduce(text) for run in runs], rtol=1e-14)
    runs.save(tmp_path / "study.csv")
    lines = (tmp_path / "study.csv").read_text().splitlines()
    head = lines[0].split(",")
    assert head[:7] == ["run", "g", "m", "outcome", "steps", "pull", "low"]
    assert float(lines[1].split(",")[5]) == runs.reductions["pull"][0]


def test_a_case_that_ends_early_is_reduced_over_what_it_reached():
    problem = hf.loads(STUDY)
    runs = hf.ensemble(hf.derive(problem), cases={"x": [1.5, 1e200]})
    assert np.isfinite(runs.reduce("max(abs(x))")[0])


def test_a_wrong_reduction_in_a_file_is_named_with_its_place():
    problem = hf.loads(STUDY.replace("max(abs(lambda_rod))", "biggest(lambda_rod)"))
    with pytest.raises(hf.BadRequest) as refused:
        hf.ensemble(hf.derive(problem)).reductions
    assert refused.value.where == "ensemble.reduce.pull"


def test_the_command_prints_and_writes_them(tmp_path):
    from click.testing import CliRunner

    from holdfast.cli.main import main

    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    answer = CliRunner().invoke(main, ["ensemble", str(path), "-q"])
    assert answer.exit_code == 0, answer.output
    assert "reduced" in answer.output
    assert "pull" in answer.output
