"""Routh's form: cyclic coordinates found and left out, the same motion of the rest."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from tests.equations.mechanisms import example

r, phi, theta, psi, x = hf.coordinates("r phi theta psi x")
m, k, l, g, A, C, M = hf.parameters("m k l g A C M")
p_phi, p_psi, p_x = hf.parameters("p_phi p_psi p_x")


def kepler(**more):
    system = hf.System(
        coordinates=(r, phi),
        kinetic=m * (r.rate**2 + r**2 * phi.rate**2) / 2,
        potential=-k / r,
        parameters={m: 2, k: 3},
        **more,
    )
    return hf.Problem(system, start={r: 1, r.rate: 0.1, phi: 0.3, phi.rate: 1.3})


def spherical_pendulum():
    """Stated by its point, so that phi stands everywhere and matters nowhere."""
    at = (l * sp.sin(theta) * sp.cos(phi), l * sp.sin(theta) * sp.sin(phi), -l * sp.cos(theta))
    return hf.System(
        coordinates=(theta, phi),
        kinetic=m * sum(hf.rate(part) ** 2 for part in at) / 2,
        potential=m * g * at[2],
        parameters={m: 2, g: 9.81, l: 0.5},
        points={"bob": at},
    )


def top():
    spin = psi.rate * sp.cos(theta) + phi.rate
    system = hf.System(
        coordinates=(psi, theta, phi),
        kinetic=A * (theta.rate**2 + psi.rate**2 * sp.sin(theta) ** 2) / 2 + C * spin**2 / 2,
        potential=m * g * l * sp.cos(theta),
        parameters={A: 0.3, C: 0.1, m: 1, g: 9.81, l: 0.5},
    )
    return hf.Problem(system, start={theta: 0.5, phi.rate: 30, psi.rate: 1})


def cart():
    """A pendulum on a free cart, a wind on both of them that leaves x alone."""
    bob = (x + l * sp.sin(theta), -l * sp.cos(theta))
    system = hf.System(
        coordinates=(x, theta),
        kinetic=M * x.rate**2 / 2 + m * sum(hf.rate(part) ** 2 for part in bob) / 2,
        potential=m * g * bob[1],
        forces={theta: sp.sin(hf.time) - x.rate / 5},
        parameters={M: 3, m: 1, l: 1, g: 9.81},
    )
    return hf.Problem(system, start={theta: 0.8, x: 2, x.rate: 0.5})


def test_kepler_has_the_centrifugal_potential():
    form = hf.routh(kepler())
    assert form.cyclic == ("phi",)
    assert form.momenta == {"p_phi": m * r**2 * phi.rate}
    assert sp.simplify(form.effective_potential - (-k / r + p_phi**2 / (2 * m * r**2))) == 0
    assert sp.simplify(form.routhian - (m * r.rate**2 / 2 - form.effective_potential)) == 0
    assert form.equations.parameter_values["p_phi"] == pytest.approx(2 * 1.3)
    assert "p_phi^2/(2*m*r^2)" in form.summary()
    assert "V = " in form.latex()
    assert form.to_dict()["cyclic"] == ["phi"]
    assert sp.simplify(form.equations.bias[0] - (-k / r**2 + p_phi**2 / (m * r**3))) == 0


def test_the_spherical_pendulum_is_seen_through_its_points():
    form = hf.routh(spherical_pendulum())
    assert form.cyclic == ("phi",)
    wanted = -m * g * l * sp.cos(theta) + p_phi**2 / (2 * m * l**2 * sp.sin(theta) ** 2)
    assert sp.simplify(form.effective_potential - wanted) == 0
    assert "bob" in form.problem.system.points  # pictures still turn


def test_a_top_has_two_constant_momenta():
    form = hf.routh(top())
    assert form.cyclic == ("psi", "phi")
    square = (p_psi - p_phi * sp.cos(theta)) ** 2 / (2 * A * sp.sin(theta) ** 2)
    wanted = m * g * l * sp.cos(theta) + p_phi**2 / (2 * C) + square
    assert sp.simplify(form.effective_potential - wanted) == 0
    assert sp.count_ops(form.effective_potential) <= sp.count_ops(wanted) + 4  # read, not only true


def swung():
    return hf.Problem(spherical_pendulum(), start={theta: 1, phi.rate: 2})


@pytest.mark.parametrize("make", [kepler, top, cart, swung])
def test_the_rest_moves_as_before(make):
    problem = make()
    form = hf.routh(problem)
    times = np.linspace(0, 2, 5)
    whole = hf.simulate(form.whole, hf.DOP853, tolerance=1e-13, duration=2, at=times)
    ours = hf.simulate(form.equations, hf.DOP853, tolerance=1e-13, duration=2, at=times)
    assert whole.outcome is ours.outcome is hf.Outcome.completed
    for c in problem.system.coordinates:
        assert_allclose(ours[c.name], whole[c.name], rtol=0, atol=1e-10 * (1 + np.abs(whole[c.name]).max()))


def test_a_program_on_the_rest_stays():
    """A bead of the Kepler field on a rod that is let out: r is held, phi turns freely."""
    program = hf.Program(holonomic={"reel": r - 1 - hf.time / 4}, law=hf.critically_damped(4))
    with pytest.raises(hf.BadStatement, match="start is not on the program"):
        hf.routh(hf.Problem(kepler().system, program, start={r: 1, phi.rate: 1}))
    form = hf.routh(hf.Problem(kepler().system, program, start={r: 1, r.rate: 0.25, phi.rate: 1}))
    whole = hf.simulate(form.whole, hf.RK4, step=0.01, duration=1)
    ours = hf.simulate(form.equations, hf.RK4, step=0.01, duration=1)
    for name in ("r", "phi", "lambda_reel"):
        assert_allclose(ours[name], whole[name], rtol=0, atol=1e-7)


def test_letters_stay_letters():
    system = hf.System(coordinates=(r, phi), kinetic=m * (r.rate**2 + r**2 * phi.rate**2) / 2, potential=-k / r)
    form = hf.routh(system)
    assert set(form.equations.letters) == {"m", "k", "p_phi"}


def test_only_what_is_asked_for_is_left_out():
    form = hf.routh(top(), cyclic=phi)
    assert form.cyclic == ("phi",)
    assert [c.name for c in form.problem.system.coordinates] == ["psi", "theta"]
    with pytest.raises(hf.BadStatement, match="'theta' is not cyclic: the kinetic energy depends on it"):
        hf.routh(top(), cyclic=("theta",))
    with pytest.raises(hf.BadStatement, match="'eta' is not a coordinate"):
        hf.routh(top(), cyclic="eta")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"forces": {phi: 1}}, "a force or resistance acts"),
        ({"dissipation": phi.rate**2 / 2}, "a force or resistance acts"),
        ({"forces": {r: sp.cos(phi)}}, "a force depends"),
    ],
)
def test_what_acts_on_a_coordinate_or_depends_on_it_keeps_it(more, words):
    with pytest.raises(hf.BadStatement, match="no coordinate is cyclic"):
        hf.routh(kepler(**more))
    with pytest.raises(hf.BadStatement, match=words):
        hf.routh(kepler(**more), cyclic=phi)


def test_what_has_no_routhian_is_refused():
    with pytest.raises(hf.BadStatement, match="program acts along it"):
        hf.routh(hf.Problem(kepler().system, hf.Program(holonomic={"turn": phi - hf.time}), start={r: 1}), cyclic=phi)
    free = hf.System(coordinates=(x, r), kinetic=(x.rate**2 + r.rate**2) / 2)
    with pytest.raises(hf.BadStatement, match="all coordinates are cyclic"):
        hf.routh(free)
    assert hf.routh(free, cyclic=x).cyclic == ("x",)
    fast = hf.System(coordinates=(x, r), kinetic=-sp.sqrt(1 - x.rate**2) + r.rate**2, potential=r)
    with pytest.raises(hf.BadStatement, match="not quadratic"):
        hf.routh(fast)
    with pytest.raises(hf.BadStatement, match="variable mass"):
        hf.routh(example("leaking_pendulum"))
    with pytest.raises(hf.BadRequest, match="takes a System"):
        hf.routh("kepler")
