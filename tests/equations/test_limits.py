import re

"""Controls with limits: the cut-off motion against SciPy, and what is told of it."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import holdfast as hf

x, y = hf.coordinates("x y")
R = sp.Rational


def pushed(limits, **more):
    system = hf.System(coordinates=(x,), kinetic=x.rate**2, parameters={"L": 3})
    program = hf.Program(
        holonomic={"home": x - sp.sin(hf.time) / 2}, controls={"F": {x: 1}}, limits=limits, law=hf.critically_damped(5)
    )
    return hf.Problem(system, program, **({"start": {x: 1}} | more))


@pytest.mark.parametrize("limits", [{"F": 3}, {"F": (-3, 1)}, {"F": (None, R(1, 2))}, {"F": ("-L", "L")}])
def test_a_pushed_mass_moves_as_scipy_says(limits):
    named = {"F": tuple(hf.parameters("L") * (1 if e == "L" else -1) if isinstance(e, str) else e for e in limits["F"])
             if isinstance(limits["F"], tuple) else limits["F"]}  # fmt: skip
    low, high = {3: (-3, 3), (-3, 1): (-3, 1), (None, R(1, 2)): (-np.inf, 0.5)}.get(limits["F"], (-3, 3))

    def force(t, q, v):
        wanted = 2 * (-np.sin(t) / 2 - 10 * (v - np.cos(t) / 2) - 25 * (q - np.sin(t) / 2))
        return np.clip(wanted, float(low), float(high))

    theirs = solve_ivp(lambda t, z: [z[1], force(t, *z) / 2], (0, 3), [1, 0], rtol=1e-11, atol=1e-12, max_step=1e-3)
    run = hf.simulate(hf.derive(pushed(named)), "dop853", tolerance=1e-11, longest_step=1e-3, duration=3)
    assert run["x"][-1] == pytest.approx(theirs.y[0, -1], abs=1e-8)
    assert run["F"].min() >= float(low)
    assert run["F"].max() <= float(high)


def test_within_limits_nothing_changes():
    loose, free = (hf.simulate(hf.derive(pushed(limits)), hf.RK4, step=0.01, duration=2) for limits in ({"F": 1e6}, {}))
    assert_allclose(loose["x"], free["x"], atol=1e-13)
    assert not loose.findings


def test_reactions_go_on_holding_their_own():
    """A bead on a wire pulled by a weak motor: the wire holds to rounding, the pace is lost."""
    system = hf.System(coordinates=(x, y), kinetic=x.rate**2 / 2 + y.rate**2, potential=4 * y)
    program = hf.Program(
        holonomic={"wire": y - x**2 / 2, "pace": x - hf.time},
        controls={"F": {x: 1}},
        reactions=("wire",),
        limits={"F": R(3, 2)},
        law=hf.critically_damped(5),
    )
    equations = hf.derive(hf.Problem(system, program, start={x: 0, y: 0, x.rate: 1, y.rate: 0}))
    run = hf.simulate(equations, "dop853", tolerance=1e-11, duration=1.5)
    assert abs(run["y_wire"]).max() < 1e-9
    assert run.reduce("max(abs(F))") == 1.5
    assert abs(run["y_pace"][-1]) > 0.05
    along = lambda s: 1 + 2 * s**2  # noqa: E731  (x² + 2 y²)/2 on the wire: m(x) x'' = F - 4 x - 2 x x'²
    theirs = solve_ivp(
        lambda t, z: [z[1], (np.clip(_wanted(t, *z), -1.5, 1.5) - 4 * z[0] - 2 * z[0] * z[1] ** 2) / along(z[0])],
        (0, 1.5), [0, 1], rtol=1e-11, atol=1e-12, max_step=1e-3,
    )  # fmt: skip
    assert run["x"][-1] == pytest.approx(theirs.y[0, -1], abs=1e-6)


def _wanted(t, q, v):
    """What holds the pace: x'' = -10 (v - 1) - 25 (x - t)."""
    a = -10 * (v - 1) - 25 * (q - t)
    return (1 + 2 * q**2) * a + 4 * q + 2 * q * v**2


def test_what_was_at_its_limit_is_told_with_time_and_deviation():
    run = hf.simulate(hf.derive(pushed({"F": 3})), hf.RK4, step=0.001, duration=3)
    (found,) = [finding for finding in run.findings if finding.name == "at_limit"]
    at = np.abs(run["F"]) == 3
    assert at[0]
    assert found.text.startswith("From the start on F is at its limit for ")
    assert f"{at.sum() * 0.001:.1g}" in found.text
    assert "|y_home| reaches 1" in found.text
    late = hf.simulate(hf.derive(pushed({"F": R(1, 4)}, start={x.rate: R(1, 2)})), hf.RK4, step=0.001, duration=3)
    told = next(finding.text for finding in late.findings if finding.name == "at_limit")
    assert "The law was held until t = 0.25" in told  # 2 |x''| = |sin t| reaches 1/4 there


def test_a_limited_control_is_never_proved():
    certificate = hf.certify(hf.derive(pushed({"F": 3})), hf.RK4, step=0.01, duration=2)
    assert certificate.blocks[0].label.value == "checked"
    assert "within the limits of F" in certificate.blocks[0].reason


def test_files_state_limits_and_the_page_tells_them(tmp_path):
    problem = pushed({"F": (-3, 1)}, run=hf.Run(step=0.01, duration=2))
    assert hf.loads(hf.dumps(problem)) == problem
    html = hf.study(problem).report().html
    plain = re.sub(r"<[^>]+>", "", html)
    assert "F is at its limit for" in plain
    assert "acts on x (from −3 to 1)" in plain


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        ({"G": 1}, "'G' is not a control"),
        ({"F": (1, -1)}, "leave nothing between them"),
        ({"F": 0}, "leave nothing between them"),
        ({"F": -2}, "leave nothing between them"),
        ({"F": (1, 2, 3)}, "are no pair"),
        ({"F": (None, None)}, "are no pair"),
        ({"F": x}, "may not occur here"),
    ],
)
def test_limits_that_mean_nothing_are_refused(limits, what):
    with pytest.raises(hf.BadStatement, match=what):
        pushed(limits)


def test_limits_of_controls_that_share_or_have_rates_are_refused():
    system = hf.System(coordinates=(x,), kinetic=x.rate**2)
    program = hf.Program(holonomic={"p": x}, controls={"F": {x: 1}, "G": {x: 2}}, limits={"F": 1})
    with pytest.raises(hf.BadStatement, match="shares its work"):
        hf.derive(hf.Problem(system, program))
