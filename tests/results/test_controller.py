"""A controller that is not the plant: a model with other numbers, samples, delay and noise."""

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import holdfast as hf

EXAMPLES = Path(hf.__file__).parent / "examples"

CART = """
schema = 1
[system]
coordinates = ["x"]
kinetic = "m*x_dot**2/2"
dissipation = "c*x_dot**2/2"
[parameters]
m = 2
c = 0
[program.holonomic]
home = "x - {path}"
[program.controls]
F = {{ x = "1" }}
[program.law]
kind = "critically-damped"
rate = 5
[start]
x = {x}
[run]
scheme = "rk4"
step = 0.001
duration = 2
{more}
"""


def cart(more: str = "", x: float = 1, path: str = "0") -> hf.Problem:
    return hf.loads(CART.format(more=more, x=x, path=path))


def zero_order_hold(step: float, late: int = 0, count: int = 200) -> np.ndarray:
    """A unit mass under x'' = −25 x − 10 v, sampled: the exact map from sample to sample."""
    A, B, K = np.array([[1, step], [0, 1]]), np.array([step**2 / 2, step]), np.array([-25, -10])
    seen = [np.array([1.0, 0.0])] * (late + 1)
    for _ in range(count):
        seen.append(A @ seen[-1] + B * (K @ seen[-1 - late]))
    return seen[-1]


def test_a_model_with_another_mass_pushes_as_if_it_were_right():
    run = hf.simulate(hf.derive(cart("[program.model]\nm = 2.6\n")), scheme="dop853", tolerance=1e-11)
    oracle = solve_ivp(lambda t, z: [z[1], 1.3 * (-25 * z[0] - 10 * z[1])], (0, 2), [1, 0], rtol=1e-12, atol=1e-14)
    assert run["x"][-1] == pytest.approx(oracle.y[0, -1], rel=1e-8)
    assert run.success


def test_a_right_model_changes_nothing():
    plain, right = (hf.simulate(hf.derive(cart(more))) for more in ("", "[program.model]\nm = 2\n"))
    assert np.abs(plain["x"] - right["x"]).max() < 1e-13


def test_what_the_model_does_not_know_is_left_to_the_plant():
    """Friction that the controller has no idea of: a deviation, told and not hidden."""
    problem = cart("[program.model]\nc = 0\n", x=0, path="t").with_values({"c": 3})
    run = hf.simulate(hf.derive(problem), start={"x_dot": 1})
    assert run["y_home"][-1] == pytest.approx(-3 * 1 / 2 / 25, rel=0.02)  # c v / m / k
    assert any("not obeyed exactly" in finding.text for finding in run.findings)


def test_ensembles_sweep_the_model():
    equations = hf.derive(cart("[program.model]\nm = 2.6\n"))
    many = hf.ensemble(equations, cases={"m_model": [1.4, 2.0, 2.6]})
    ends = [hf.simulate(equations, parameters={"m_model": m})["x"][-1] for m in (1.4, 2.0, 2.6)]
    assert many.at("x")[:, -1] == pytest.approx(ends, rel=1e-12)


def test_a_model_may_follow_the_plant():
    problem = cart('[program.model]\nm = "1.3*m"\n')
    run = hf.simulate(hf.derive(problem))
    other = hf.simulate(hf.derive(cart("[program.model]\nm = 2.6\n")))
    assert np.abs(run["x"] - other["x"]).max() < 1e-12
    assert hf.loads(hf.dumps(problem)) == problem


@pytest.mark.parametrize(("delay", "late"), [(0, 0), (0.01, 1), (0.02, 2)])
def test_a_sampled_controller_is_the_exact_zero_order_hold(delay, late):
    problem = cart(f"[program.sampling]\nstep = 0.01\ndelay = {delay}\n")
    assert hf.loads(hf.dumps(problem)) == problem
    run = hf.simulate(hf.derive(problem))
    x, v = zero_order_hold(0.01, late)
    assert run["x"][-1] == pytest.approx(x, rel=1e-10)
    assert run["x_dot"][-1] == pytest.approx(v, rel=1e-10)
    held = run["F"].reshape(-1)[:-1].reshape(-1, 10)
    assert (held == held[:, :1]).all()


def test_samples_that_are_too_rare_fail_and_say_so():
    run = hf.simulate(hf.derive(cart("[program.sampling]\nstep = 0.25\n")))  # the map has a root beyond 1
    assert np.abs(np.linalg.eigvals(np.array([[1, 0.25], [0, 1]]) - np.outer([0.25**2 / 2, 0.25], [25, 10]))).max() > 1
    assert not run.success
    assert "sample more often" in run.message


def test_noise_is_the_same_for_the_same_seed_and_has_its_size():
    def of(seed: int) -> hf.Trajectory:
        return hf.simulate(
            hf.derive(cart(f"[program.sampling]\nstep = 0.001\nnoise = {{ x = 0.01 }}\nseed = {seed}\n", x=0))
        )

    first, again, other = of(1), of(1), of(2)
    assert np.array_equal(first["x"], again["x"])
    assert not np.array_equal(first["x"], other["x"])
    assert np.std(np.diff(first["F"])) == pytest.approx(2 * 25 * 0.01 * np.sqrt(2), rel=0.1)
    assert first.success


def test_its_error_is_that_of_the_plants_steps():
    problem = cart("[program.sampling]\nstep = 0.01\nnoise = { x = 0.01 }\n", x=1)
    run = hf.simulate(hf.derive(problem), step=0.01)
    assert run.state_error.worst < 1e-12  # a mass under constant forces: the scheme is exact
    assert hf.simulate(hf.derive(problem), step=0.004).step == pytest.approx(0.01 / 3)


def test_limits_cut_what_the_computer_asks_for():
    problem = cart("[program.sampling]\nstep = 0.01\n[program.limits]\nF = 5\n")
    run = hf.simulate(hf.derive(problem))
    assert np.abs(run["F"]).max() == 5


def test_rates_of_controls_have_limits_too():
    problem = cart("[program.sampling]\nstep = 0.01\nrates = { F = 100 }\n")
    assert hf.loads(hf.dumps(problem)) == problem
    run, free = hf.simulate(hf.derive(problem)), hf.simulate(hf.derive(cart("[program.sampling]\nstep = 0.01\n")))
    assert np.abs(np.diff(run["F"])).max() == pytest.approx(1.0)
    assert np.abs(np.diff(free["F"])).max() > 2
    A, B, K = np.array([[1, 0.01], [0, 1]]), np.array([5e-5, 0.01]) / 2, 2 * np.array([-25, -10])
    z, force = np.array([1.0, 0.0]), -50.0
    for k in range(200):
        force = force if k == 0 else float(np.clip(K @ z, force - 1, force + 1))
        z = A @ z + B * force
    assert run["x"][-1] == pytest.approx(z[0], rel=1e-9)


def test_a_full_arm_under_its_computer_reproduces_a_loop_written_by_hand():
    """Two joints, wrong payload, delay: against SciPy and inverse dynamics by hand."""
    problem = hf.load(EXAMPLES / "wrong_payload.toml")
    text = hf.dumps(problem).replace("noise = { a = 0.0001, b = 0.0001, a_dot = 0.002, b_dot = 0.002 }, ", "")
    problem = hf.loads(text)
    assert not problem.program.sampling.noise
    run = hf.simulate(hf.derive(problem), duration=0.05, step=0.00025)
    m1, l1, l2, g = 4.0, 0.5, 0.5, 9.81

    def dynamics(q, v, m2):
        a, b = q
        c, s = np.cos(a - b), np.sin(a - b)
        M = np.array([[(m1 + m2) * l1**2, m2 * l1 * l2 * c], [m2 * l1 * l2 * c, m2 * l2**2]])
        h = np.array([m2 * l1 * l2 * s * v[1] ** 2, -m2 * l1 * l2 * s * v[0] ** 2])
        return M, h + g * np.array([(m1 + m2) * l1 * np.sin(a), m2 * l2 * np.sin(b)])

    def rise(t):
        return t / 2 - np.sin(np.pi * t) / (2 * np.pi), (1 - np.cos(np.pi * t)) / 2, np.pi * np.sin(np.pi * t) / 2

    z, seen = np.array([0.3, 0.9, 0, 0]), [np.array([0.3, 0.9, 0, 0])] * 2
    for k in range(50):
        t, x = k * 0.001, seen[-2]
        p, dp, ddp = rise(t)
        y, w = x[:2] - np.array([0.3, 0.9]) - 1.2 * p, x[2:] - 1.2 * dp
        M, h = dynamics(x[:2], x[2:], 1.4)
        u = np.clip(M @ (1.2 * ddp - 625 * y - 50 * w) + h, [-60, -30], [60, 30])

        def rates(_, x, u=u):
            M, h = dynamics(x[:2], x[2:], 2.0)
            return np.concatenate([x[2:], np.linalg.solve(M, u - h)])

        z = solve_ivp(rates, (t, t + 0.001), z, method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
        seen.append(z)
    assert [run[name][-1] for name in ("a", "b", "a_dot", "b_dot")] == pytest.approx(z.tolist(), abs=1e-9)


@pytest.mark.parametrize("verb", ["ensemble", "certify", "right_hand_side", "linearise", "equilibria", "sensitivities"])
def test_what_knows_nothing_of_samples_refuses(verb):
    equations = hf.derive(cart("[program.sampling]\nstep = 0.01\n"))
    with pytest.raises(hf.HoldfastError, match="held between samples"):
        getattr(hf, verb)(equations, **({"cases": {"m": [1.0, 2.0]}} if verb == "ensemble" else {}))


def test_no_law_is_called_proved_under_another_model():
    equations = hf.derive(cart("[program.model]\nm = 2.6\n"))
    assert all(block.label is not hf.Label.proved for block in hf.certify(equations).blocks)
    with pytest.raises(hf.HoldfastError, match="model is right about m"):
        hf.canonical(equations)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("[program.model]\nmm = 1\n", "'mm' is not a parameter"),
        ("[program.sampling]\nstep = 0\n", "not positive"),
        ("[program.sampling]\ndelay = 1\n", "does not say how often"),
        ("[program.sampling]\nstep = 0.1\nnoise = { z = 1 }\n", "unknown name 'z'"),
        ("[program.sampling]\nstep = 0.1\nnoise = { x = -1 }\n", "no standard deviation"),
        ("[program.sampling]\nstep = 0.1\nrate = 3\n", "unknown key 'rate'"),
    ],
)
def test_what_is_wrong_with_a_controller_is_said(more, said):
    with pytest.raises(hf.HoldfastError) as error:
        cart(more)
    assert said in str(error.value)


def test_a_delay_between_steps_is_refused():
    with pytest.raises(hf.HoldfastError, match="whole number of steps"):
        hf.simulate(hf.derive(cart("[program.sampling]\nstep = 0.01\ndelay = 0.0004\n")))


def test_gains_are_tuned_for_following_where_controls_fall_short():
    """Unknown friction pulls a slow loop off, noise shakes a fast one: the rate between them is best, and said why."""
    more = "[program.model]\nc = 0\n[program.sampling]\nstep = 0.005\nnoise = { x = 1e-3, x_dot = 1e-2 }\n"
    problem = cart(more, x=0, path="sin(t)").with_values({"c": 2})
    tuning = hf.tune(hf.derive(problem), start={"x_dot": 1})
    best = tuning.chosen.deviations["y_home"]
    assert all(best <= found.deviation for found in tuning.tried)
    assert tuning.tried[0].rate < tuning.rate < tuning.tried[-1].rate
    for factor in (0.2, 5):
        law = hf.critically_damped(tuning.rate * factor)
        other = hf.simulate(hf.derive(problem.with_law(law)), start={"x_dot": 1})
        assert not other.success or other.reduce("rms(y_home)") > 1.2 * best
    again = hf.simulate(tuning.equations, start={"x_dot": 1})
    assert again.reduce("rms(y_home)") == pytest.approx(best)
    assert "model is right about c" in tuning.summary()
    assert tuning.to_dict()["gains"]["law.stiffness.home"] == pytest.approx(tuning.rate**2)


def test_a_tuned_law_in_a_file_is_tuned_for_following(tmp_path):
    text = hf.dumps(cart("[program.limits]\nF = 20\n")).replace("critically-damped", "tuned").replace("rate = 5\n", "")
    study = hf.study(hf.loads(text))
    assert "within the limits of F" in study.summary()
    assert "The gains, and why these" in study.report().html


def test_reactions_and_weak_controls_are_not_tuned_together():
    text = """
schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "x_dot**2/2 + y_dot**2/2"
[program]
reactions = ["rail"]
[program.holonomic]
rail = "y"
home = "x"
[program.controls]
F = { x = "1" }
[program.limits]
F = 1
[run]
step = 0.01
duration = 1
"""
    with pytest.raises(hf.HoldfastError, match="not tuned together"):
        hf.tune(hf.derive(hf.loads(text)))
