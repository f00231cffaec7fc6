"""The command line: verbs, exit codes, files, and how little --help loads."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from importlib import resources

import numpy as np
import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main

EXAMPLES = resources.files("holdfast") / "examples"
HEAVY = ["scipy", "matplotlib", "llvmlite", "xarray", "holdfast.engine.kernel", "holdfast.engine.assembly"]


def invoke(*arguments, **options):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


@pytest.fixture
def cart(tmp_path):
    path = tmp_path / "cart.toml"
    path.write_text((EXAMPLES / "cart_rod.toml").read_text())
    return path


# ── simulate ──────────────────────────────────────────────────────────────────────────────────────


def test_simulate_says_how_it_went(cart):
    result = invoke("simulate", cart)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Cart and rod")
    words = [line.split()[0] for line in lines[1:]]
    assert words == ["outcome", "start", "run", "final", "largest", "energy"]
    assert "The run reached its final time." in lines[1]
    assert "y_home = 0.1" in lines[2]
    assert "phi = 1.59676" in lines[4]
    assert result.stderr == ""


def test_simulate_gives_json(cart):
    result = invoke("simulate", cart, "--json", "--scheme", "dop853", "--tolerance", "1e-10", "--duration", "10")
    data = json.loads(result.stdout)
    assert data["outcome"] == "completed"
    assert data["success"] is True
    assert data["scheme"] == "dop853"
    assert data["final"]["x"] == pytest.approx(-0.0214821554, abs=1e-9)
    assert data["start"]["deviation"]["y_home"] == pytest.approx(0.1)
    assert data["largest_deviation"]["y_home"] == pytest.approx(0.1)
    assert set(data["energy_balance"]) >= {"change", "held", "residual"}


@pytest.mark.parametrize("form", ["npz", "nc", "csv"])
def test_simulate_writes_the_run(cart, tmp_path, form):
    target = tmp_path / f"run.{form}"
    result = invoke("simulate", cart, "-o", target, "--every", 100)
    assert result.exit_code == 0
    assert str(target) in result.stdout
    if form != "csv":
        assert len(hf.Trajectory.load(target).times) == 61


def test_a_negative_outcome_exits_1():
    result = invoke("simulate", EXAMPLES / "pendulum.toml", "--scheme", "euler")
    assert result.exit_code == 1
    assert "The motion diverged" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--step", "-1"], "not positive"),
        (["--step", "0.07"], "not a whole number of steps"),
        (["--scheme", "rk5"], "no scheme 'rk5'"),
        (["--scheme", "dop853", "--tolerance", "1e-20"], "beyond double precision"),
        (["--step", "x"], "not a valid float"),
        (["--start-policy", "raise"], "violates the program"),
        (["-o", "run.mat"], "no form of file"),
        (["-o", "nowhere/run.npz"], "there is no folder"),
    ],
)
def test_misuse_exits_2_and_says_what_where_and_how(cart, arguments, words):
    result = invoke("simulate", cart, *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("entries", "arguments", "fix"),
    [
        ("", ["run"], "[run] duration = ..."),
        ("", ["simulate"], "[run] duration = ..."),
        ("duration = 1", ["run"], "[run] step = ..."),
        ('scheme = "dop853"\nduration = 1', ["run"], "[run] tolerance = 1e-9"),
        ("", ["simulate", "--duration", "1"], "give --step"),
        ("", ["simulate", "--scheme", "rk4"], "give --duration"),
        ('step = "0.01"', ["run"], "remove the quotes"),
    ],
)
def test_a_missing_word_of_the_run_is_asked_for_as_one_writes_it(cart, entries, arguments, fix):
    command, *options = arguments
    before, _, after = cart.read_text().partition("[run]")
    rest = after[after.index("\n[") :] if "\n[" in after else ""
    cart.write_text(f"{before}[run]\n{entries}\n{rest}")
    result = invoke(command, cart, *options)
    assert result.exit_code == 2
    assert fix in result.stderr
    assert "give duration=" not in result.stderr


def test_derive_sorts_accelerations_by_powers_of_the_rates():
    shown = invoke("derive", EXAMPLES / "bertrand.toml", "--show", "coefficients")
    assert shown.exit_code == 0
    assert "h[areal; x] = -b_areal*y" in shown.output
    data = json.loads(invoke("derive", EXAMPLES / "bertrand.toml", "--show", "coefficients", "--json").stdout)
    assert {"upper": "areal", "lower": ["x"], "value": "-law.damping.areal*y"} in data["h"]
    assert (
        r"h^{\mathrm{areal}}_{x}"
        in invoke("derive", EXAMPLES / "bertrand.toml", "--show", "coefficients", "--latex").stdout
    )


@pytest.mark.parametrize(
    ("what", "text", "key", "name"),
    [
        ("parts", "P2[1] = ", "parts", "P2[1]"),
        ("exhaust", "u_y = y' - P2/burn", "exhaust", "u_y"),
    ],
)
def test_derive_shows_forces_by_cause_and_the_exhaust(what, text, key, name):
    rocket = EXAMPLES / "rocket_ascent.toml"
    assert text in invoke("derive", rocket, "--show", what).stdout
    assert name in json.loads(invoke("derive", rocket, "--show", what, "--json").stdout)[key]
    assert invoke("derive", rocket, "--show", what, "--latex").stdout.startswith("\\[")


def test_the_exhaust_of_what_has_no_thrust_is_refused():
    result = invoke("derive", EXAMPLES / "bertrand.toml", "--show", "exhaust")
    assert result.exit_code == 2
    assert "thrust" in result.stderr


def test_a_damaged_run_exits_2(tmp_path):
    (tmp_path / "run.npz").write_bytes(b"PK\x03\x04 and no more")
    result = invoke("report", tmp_path / "run.npz")
    assert result.exit_code == 2
    assert "make the run again" in result.stderr


def test_a_missing_file_exits_2(tmp_path):
    assert invoke("simulate", tmp_path / "none.toml").exit_code == 2


def test_a_problem_may_come_from_standard_input(cart):
    assert invoke("simulate", "-", input=cart.read_text()).exit_code == 0


def interruptible():
    """A shell that starts the tests in the background has them ignore SIGINT, and so would whatever they start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_an_interrupted_run_exits_130_with_its_rows_written(cart, tmp_path):
    target = tmp_path / "run.npz"
    command = ["simulate", str(cart), "--step", "1e-8", "--duration", "1000", "--every", "1000000", "-o", str(target)]
    out = b""
    for patience in (2, 6, 18):  # a busy machine may need long to come to the run itself
        run = subprocess.Popen(
            [sys.executable, "-m", "holdfast", *command], stdout=-1, stderr=-1, preexec_fn=interruptible
        )
        time.sleep(patience)
        run.send_signal(signal.SIGINT)
        try:
            out, err = run.communicate(timeout=60)
        finally:
            run.kill()
        assert run.returncode == 130, err
        if target.exists() and len(hf.Trajectory.load(target).times) > 2:
            break
    assert b"interrupted" in out
    kept = hf.Trajectory.load(target)
    assert kept.outcome is hf.Outcome.interrupted
    assert len(kept.times) > 2


# ── ensemble ──────────────────────────────────────────────────────────────────────────────────────


def test_ensemble_runs_the_table_of_the_file(cart, tmp_path):
    cart.write_text(cart.read_text() + "\n[ensemble]\ngrid = { m2 = [1, 2], law.stiffness.home = [1, -4] }\n")
    result = invoke("ensemble", cart, "--every", "100", "-o", tmp_path / "runs.npz", "--threads", "2")
    assert result.exit_code == 1
    assert "4 of m2, law.stiffness.home" in result.stdout
    assert "2 x The run reached its final time." in result.stdout
    with np.load(tmp_path / "runs.npz") as held:
        assert held["x"].shape == (4, 61)
    data = json.loads(invoke("ensemble", cart, "--every", "100", "--json").stdout)
    assert data["runs"] == 4
    assert data["success"] == 2
    assert data["cases"]["m2"] == [1, 1, 2, 2]


def test_an_ensemble_is_told_case_by_case(cart):
    cart.write_text(cart.read_text() + "\n[ensemble]\ngrid = { m2 = [1, 2], law.stiffness.home = [1, -4] }\n")
    lines = invoke("ensemble", cart, "--every", "100").stdout.splitlines()
    head = next(k for k, line in enumerate(lines) if line.split()[:1] == ["case"])
    assert lines[head].split() == [
        "case",
        "m2",
        "law.stiffness.home",
        "outcome",
        "largest",
        "|y_home|",
        "largest",
        "|y_upright|",
    ]
    assert [line.split()[:4] for line in lines[head + 1 :]] == [
        ["0", "1", "1", "completed"],
        ["1", "1", "-4", "diverged"],
        ["2", "2", "1", "completed"],
        ["3", "2", "-4", "diverged"],
    ]
    assert any(line.startswith("  final ") and "phi = 1.597" in line for line in lines)
    data = json.loads(invoke("ensemble", cart, "--every", "100", "--json").stdout)
    assert data["largest_deviation"]["y_home"][0] == pytest.approx(0.1)
    assert data["final"]["phi"][0] == pytest.approx(1.59676, abs=1e-5)
    assert data["success"] == 2


def test_of_many_cases_those_that_went_worst_are_shown(cart):
    cart.write_text(cart.read_text() + "\n[ensemble]\ngrid = { x = { from = 0.01, to = 0.3, count = 30 } }\n")
    result = invoke("ensemble", cart, "--every", "100")
    assert "... the 12 that went worst, of 30" in result.stdout
    assert "\n  29 " in result.stdout
    assert "\n  0 " not in result.stdout
    assert "largest   y_home = 0.01 .. 0.3" in result.stdout


def test_an_ensemble_that_goes_well_exits_0(cart):
    cart.write_text(cart.read_text() + "\n[ensemble]\ngrid = { m2 = [1, 2] }\n")
    assert invoke("ensemble", cart).exit_code == 0


def test_an_ensemble_without_a_table_exits_2(cart):
    result = invoke("ensemble", cart)
    assert result.exit_code == 2
    assert "states no ensemble" in result.stderr


# ── the other verbs ───────────────────────────────────────────────────────────────────────────────


def test_check_derive_and_examples(cart, tmp_path, monkeypatch):
    assert "well stated" in invoke("check", cart).stdout
    assert json.loads(invoke("check", cart, "--json").stdout)["constraints"] == ["home", "upright"]
    assert invoke("derive", cart).exit_code == 0
    assert json.loads(invoke("derive", cart, "--json").stdout)
    assert "cart_rod" in invoke("examples").stdout
    monkeypatch.chdir(tmp_path)
    assert invoke("examples", "pendulum").exit_code == 0
    assert (tmp_path / "pendulum.toml").exists()
    assert invoke("examples", "pendulum").exit_code == 2
    assert invoke("examples", "unicycle").exit_code == 2


def test_forms_are_written_where_there_are_some(cart, tmp_path):
    skate = tmp_path / "skate.toml"
    skate.write_text((EXAMPLES / "skate.toml").read_text())
    shown = invoke("forms", skate)
    assert shown.exit_code == 0
    for words in ("Hamiltonian", "m*nu_x' = g*m*sin(slope)*cos(phi)", "Gibbs's function", "no coordinate is cyclic"):
        assert words in shown.stdout
    data = json.loads(invoke("forms", skate, "--json").stdout)
    assert data["maggi"]["quasi_velocities"]["nu_phi"] == "phi_dot"
    assert data["routh"] is None
    alone = invoke("forms", skate, "--form", "maggi", "--latex")
    assert alone.stdout.startswith(r"\[")
    refused = invoke("forms", cart, "--form", "maggi")
    assert refused.exit_code == 2
    assert "control 'F' works along" in refused.stderr
    assert invoke("forms", cart).exit_code == 0


@pytest.fixture
def open_gains(tmp_path):
    """The pendulum with gains that are still to be chosen."""
    text = (EXAMPLES / "pendulum.toml").read_text().replace('"critically-damped"\nrate = 5', '"tuned"')
    assert '"tuned"' in text
    (tmp_path / "open.toml").write_text(text)
    return tmp_path / "open.toml"


def test_gains_that_are_open_are_chosen_first_and_said(open_gains):
    result = invoke("simulate", open_gains, "--duration", "2")
    assert result.exit_code == 0
    assert "  tuned     Gains for rk4, step 0.01, over 2: rate" in result.stdout
    assert "law.damping.rod = " in result.stdout
    data = json.loads(invoke("simulate", open_gains, "--duration", "2", "--json").stdout)
    assert data["tuning"]["duration"] == 2
    result = invoke("certify", open_gains, "--duration", "2", "--effort", "0.1", "--json")
    assert result.stderr.startswith("Gains for rk4, step 0.01, over 2")
    assert json.loads(result.stdout)["parameters"]["law.damping.rod"] > 0


def test_derive_says_that_gains_are_open(open_gains):
    text = invoke("derive", open_gains).stdout
    assert "with gains still to be chosen" in text
    assert "k_rod = 0" not in text
    assert json.loads(invoke("derive", open_gains, "--json").stdout)["gains"]["law.damping.rod"] is None


def test_check_names_the_control_that_has_no_authority_at_the_start():
    text = """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
[program.holonomic]
circle = "x**2 + y**2 - 1"
[program.controls]
F = { x = "1" }
[start]
y = 1
"""
    result = invoke("check", "-", input=text)
    assert result.exit_code == 2
    assert "the control 'F' cannot move 'circle' at the start" in result.stderr
    assert "standard input:8:1" in result.stderr
    assert invoke("check", "-", input=text.replace("y = 1\n", "x = 1\n")).exit_code == 0


def test_an_unknown_example_is_answered_with_the_nearest():
    assert "did you mean 'pendulum'?" in invoke("examples", "pendulm").stderr


def test_debug_shows_the_traceback(tmp_path):
    result = invoke("--debug", "simulate", tmp_path / "none.toml")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr


# ── what is loaded ────────────────────────────────────────────────────────────────────────────────


def loaded_by(*arguments):
    code = (
        "import sys\nfrom holdfast.cli.main import main\n"
        f"try:\n main({list(map(str, arguments))!r})\nexcept SystemExit:\n pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "--help"], ["check", EXAMPLES / "cart_rod.toml"]])
def test_help_and_check_load_nothing_heavy(arguments):
    assert not loaded_by(*arguments) & set(HEAVY)


def test_help_loads_neither_sympy_nor_numpy():
    assert not loaded_by("--help") & {"sympy", "numpy", "rich"}


# ---------------------------------------------------------------- lyapunov

OPTICS = EXAMPLES / "adaptive_optics.toml"


def test_lyapunov_answers_for_the_papers_example():
    """V = 3y² + 4yy' + 3y'² falls, proved; Theorems 3 and A hold, 1, 2, 4, 5 cannot; τ₁ = 1.99875e-6."""
    data = json.loads(invoke("lyapunov", OPTICS, "--json").stdout)
    assert (data["positive"]["label"], data["decreasing"]["label"]) == ("proved", "proved")
    words = {answer["theorem"]: answer["word"] for answer in data["theorems"]["answers"]}
    assert (words["3"], words["A"], words["1"]) == ("yes", "yes", "cannot hold")
    assert data["step_rule"]["tau_1"] == pytest.approx(1.99875e-6, abs=5e-12)
    assert data["step_condition"]["contraction"] < 1
    text = invoke("lyapunov", OPTICS)
    assert text.exit_code == 0
    assert "V falls: proved" in text.stdout
    assert r"\dot V" in invoke("lyapunov", OPTICS, "--latex").stdout


def test_lyapunov_seeks_a_function_where_the_file_has_none(cart):
    result = invoke("lyapunov", cart, "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 0
    assert data["decreasing"]["label"] == "proved"
    assert data["theorems"] is None


def test_lyapunov_exits_1_where_the_function_does_not_fall(tmp_path):
    file = tmp_path / "rises.toml"
    file.write_text(OPTICS.read_text("utf-8").replace("+ 4*y_ray*w_ray", "- 4*y_ray*w_ray"), "utf-8")
    result = invoke("lyapunov", str(file))
    assert result.exit_code == 1
    assert "V falls: refuted" in result.stdout


def test_lyapunov_names_the_line_of_a_bad_region(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text(OPTICS.read_text("utf-8") + "region = { psi = [0, 1] }\n", "utf-8")
    result = invoke("lyapunov", str(file))
    assert result.exit_code == 2
    assert "unknown quantity 'psi'" in result.stderr
    assert "bad.toml:" in result.stderr
    assert "^" in result.stderr


# ── letters ───────────────────────────────────────────────────────────────────────────────────────

LETTERS = """schema = 1
[system]
coordinates = ["x"]
kinetic = "m*x_dot**2/2"
[functions]
eta = "?"
[parameters]
m = "?"
k = "?"
[program.holonomic]
follow = "x - eta"
[program.law]
kind = "spring-damper"
stiffness = "k"
damping = 2
[run]
step = 0.1
duration = 1
"""


def test_a_file_without_numbers_is_derived_and_a_run_asks_for_them(tmp_path):
    path = tmp_path / "letters.toml"
    path.write_text(LETTERS)
    shown = invoke("derive", path)
    assert shown.exit_code == 0
    assert "m*x'' = lambda_follow" in shown.stdout
    assert "decided at random values of m, k, eta" in shown.stdout
    assert json.loads(invoke("derive", path, "--json").stdout)["letters"] == ["m", "k", "eta"]
    assert r"\ddot{\eta}" in invoke("derive", path, "--latex").stdout
    assert invoke("family", path).exit_code == 0
    for verb in ("simulate", "check", "certify", "tune", "run"):
        asked = invoke(verb, path)
        assert asked.exit_code == 2, verb
        assert "m, k, eta(t) have no value" in asked.stderr
        assert "Traceback" not in asked.output


# ── fit and sensitivities ─────────────────────────────────────────────────────────────────────────


def test_fit_finds_values_and_writes_them(tmp_path):
    motor = EXAMPLES / "dc_motor.toml"
    run = hf.simulate(hf.derive(hf.load(motor)), parameters={"R": 1.3}, every=100)
    rows = [f"{t},{i}" for t, i in zip(run.times, run["q_coil_dot"], strict=True)]
    data = tmp_path / "data.csv"
    data.write_text("t,q_coil_dot\n" + "\n".join(rows), "utf-8")
    new = tmp_path / "new.toml"
    result = invoke("fit", motor, data, "--parameters", "R=2", "--json", "--write", new)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["values"]["R"] == pytest.approx(1.3, rel=1e-6)
    assert float(hf.load(new).system.parameters["R"]) == pytest.approx(1.3, rel=1e-6)
    printed = invoke("fit", motor, data, "--parameters", "R,U,L", "--sigma", "0.01", "--set", "K=0")
    assert printed.exit_code == 1  # without back-emf, current alone tells ratios only
    assert "do not determine R, U, L apart" in printed.stdout
    assert invoke("fit", motor, data, "--parameters", "R=x").exit_code == 2
    assert invoke("fit", motor, data, "--parameters", "R", "--sigma", "a,b").exit_code == 2
    assert invoke("fit", motor, tmp_path / "none.csv", "--parameters", "R").exit_code == 2


def test_sensitivities_are_printed_and_written(tmp_path):
    out = tmp_path / "s.csv"
    asked = ("--of", "x,lambda_rod", "--to", "g,x(0)", "--start-policy", "keep", "--duration", 1)
    result = invoke("sensitivities", EXAMPLES / "pendulum.toml", *asked, "-o", out, "--json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    lines = out.read_text("utf-8").splitlines()
    assert lines[0] == 't,"d x/d g","d x/d x(0)","d lambda_rod/d g","d lambda_rod/d x(0)"'
    assert float(lines[-1].split(",")[1]) == data["final"]["x"]["g"]
    assert "g + 1 %" in invoke("sensitivities", EXAMPLES / "pendulum.toml", *asked).stdout
    assert invoke("sensitivities", EXAMPLES / "pendulum.toml", "--to", "zz").exit_code == 2
    assert invoke("sensitivities", EXAMPLES / "pendulum.toml", *asked, "-o", tmp_path / "a.txt").exit_code == 2


def test_equilibria_are_printed_and_continued():
    hoop = """schema = 1
[system]
coordinates = ["theta"]
kinetic = "(theta_dot**2 + w**2*sin(theta)**2)/2"
potential = "-9.81*cos(theta)"
[parameters]
w = 2
"""
    assert "theta = 0: stable" in invoke("equilibria", "-", input=hoop).stdout
    result = invoke("equilibria", "-", "--along", "w=1:6", "--json", input=hoop)
    assert result.exit_code == 0
    special = [one for branch in json.loads(result.stdout)["branches"] for one in branch["special"]]
    assert {round(one["value"], 6) for one in special} == {round(9.81**0.5, 6)}
    assert "another branch crosses" in invoke("equilibria", "-", "--along", "w=1:6", input=hoop).stdout
    assert invoke("equilibria", "-", "--along", "w=6", input=hoop).exit_code == 2
    assert invoke("equilibria", "-", "--along", "q=1:6", input=hoop).exit_code == 2
    falling = hoop.replace("-9.81*cos(theta)", "theta").replace("+ w**2*sin(theta)**2", "+ w")
    assert invoke("equilibria", "-", input=falling).exit_code == 1


# ── sample ────────────────────────────────────────────────────────────────────────────────────────


def test_sample_prints_averages_beside_the_floor(tmp_path):
    file = str(EXAMPLES / "gusts.toml")
    options = ["--paths", "300", "--seed", "2", "--json", "-o", str(tmp_path / "paths.npz")]
    result = invoke("sample", file, *options)
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    found, wanted = data["moments"]["y_home_kept"], data["expected"]["covariance"][0][0]
    assert wanted == pytest.approx(0.04 / (24 - 2.25), rel=1e-9)
    assert abs(found["mean_square"] - wanted) < 4 * found["mean_square_error"] < wanted
    with np.load(tmp_path / "paths.npz") as kept:
        assert kept["x"].shape == (300, data["rows"])
    again = invoke("sample", file, *options)
    assert json.loads(again.stdout)["moments"] == data["moments"]
    printed = invoke("sample", file, "--paths", 3, "--duration", 2).stdout
    assert "root mean square" in printed
    assert "with a floor" in printed


def test_sample_says_what_it_cannot_do(tmp_path):
    text = (EXAMPLES / "gusts.toml").read_text("utf-8")
    wild = invoke("sample", "-", "--paths", 3, input=text.replace("gain = 1.5", "gain = 5"))
    assert wild.exit_code == 1
    assert "unstable in the mean square" in wild.stdout
    calm = invoke("sample", EXAMPLES / "pendulum.toml")
    assert calm.exit_code == 2
    assert "no noise" in calm.stderr
    assert invoke("sample", "-", "-o", tmp_path / "a.nc", input=text).exit_code == 2


PUSHED = """
schema = 1
[system]
coordinates = ["x"]
kinetic = "m*x_dot**2/2"
potential = "k*x**2/2"
forces = { x = "eta" }
[parameters]
m = "?"
k = 3
[functions]
eta = "?"
[start]
x = 1
[run]
scheme = "dop853"
tolerance = 1e-11
duration = 2
"""


def test_letters_are_given_beside_the_file(tmp_path):
    path = tmp_path / "letters.toml"
    path.write_text(PUSHED)
    answer = invoke("simulate", path, "--set", "m=3", "--set", "eta=2*k*sin(t)", "--json")
    assert answer.exit_code == 0, answer.output
    t = 2.0  # x'' + x = 2 sin t from x = 1 at rest
    assert json.loads(answer.stdout)["final"]["x"] == pytest.approx(math.sin(t) + (1 - t) * math.cos(t), abs=1e-9)
    (tmp_path / "wind.csv").write_text("time,speed\n" + "".join(f"{i / 4},0\n" for i in range(12)))
    answer = invoke("simulate", path, "--set", "m=3", "--set", "eta=wind.csv", "--set", "k=12", "--json")
    assert json.loads(answer.stdout)["final"]["x"] == pytest.approx(math.cos(2 * t), abs=1e-9)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("m", "is not NAME=VALUE"),
        ("=2", "is not NAME=VALUE"),
        ("mm=2", "did you mean 'm'?"),
        ("m=x", "'x' is a coordinate and may not occur here\n  where: value of m"),
        ("eta=sin(q)", "unknown name 'q'\n  where: value of eta"),
        ("eta=../wind.csv", "not below the folder"),
        ("x=2", "neither a parameter nor a function"),
        ("k=3", "m, eta(t) have no value"),
    ],
)
def test_values_that_cannot_be_taken_are_refused_by_name(given, what, tmp_path):
    path = tmp_path / "letters.toml"
    path.write_text(PUSHED)
    answer = invoke("simulate", path, "--set", given)
    assert answer.exit_code == 2
    assert what in answer.stderr


def test_run_takes_another_scheme_step_and_duration(cart, tmp_path):
    page = tmp_path / "cart.html"
    answer = invoke(
        "run", cart, "-o", page, "--scheme", "rk4", "--step", "0.05", "--duration", "2", "--effort", "0.2", "-q"
    )
    assert answer.exit_code == 0, answer.output
    text = page.read_text()
    assert "run with rk4, step 0.05" in text
    assert "--scheme rk4 --step 0.05 --duration 2 --effort 0.2" in text
    for wrong, what in (
        (["--step", "0.1", "--tolerance", "1e-6"], "a step and a tolerance are both given"),
        (["--step", "-1"], "is not positive"),
        (["--scheme", "rk5"], "there is no scheme 'rk5'"),
    ):
        refused = invoke("run", cart, "-o", page, *wrong)
        assert refused.exit_code == 2
        assert what in refused.stderr
    assert page.read_text() == text


# ── how errors read ───────────────────────────────────────────────────────────────────────────────


def test_an_error_of_a_file_has_a_coloured_caret_and_one_word_for_its_cure(tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_text('schema = 1\n[system]\ncoordinates = ["phi"]\nkinetic = "phj_dot**2"\n')
    result = invoke("check", bad, color=True)
    assert "\x1b[31m\x1b[1merror:\x1b[0m" in result.stderr
    assert "\x1b[31m\x1b[1m" in next(line for line in result.stderr.splitlines() if "^" in line)
    assert "fix:" in result.stderr
    assert "hint" not in result.stderr
    plain = invoke("check", bad)
    assert "\x1b" not in plain.stderr


def test_the_command_line_names_no_cure_that_only_python_has(cart):
    result = invoke("ensemble", cart)
    assert "[ensemble]" in result.stderr
    assert "cases=" not in result.stderr


def test_help_shows_no_markup_and_open_is_a_flag():
    for verb in main.commands:
        told = invoke(verb, "--help").stdout
        assert "``" not in told
        assert "BOOLEAN" not in told
