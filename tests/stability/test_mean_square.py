"""What noise does to the deviations of a problem, against closed forms (docs/theory, section 5.3) and sampled paths."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

x, y = hf.coordinates("x y")
K, B = 4, 3


def line(home=0, start=0.1, law=None, **noise):
    """y'' = -4 y - 3 y' + noise, with y = x - home."""
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, noise={name: {x: e} for name, e in noise.items()})
    program = hf.Program(
        holonomic={"home": x - home}, controls={"F": {x: 1}}, law=law or hf.SpringDamper(stiffness=K, damping=B)
    )
    return hf.derive(hf.Problem(system, program, start={x: home + start}))


@pytest.mark.parametrize("home", [0, 1, 1000])
def test_noise_that_vanishes_with_the_deviation_leaves_no_floor(home):
    found = hf.mean_square(line(home, shake=1.5 * (x - home)))
    assert found
    assert found.kind == "multiplicative"
    assert not found.covariance.any()
    assert_allclose(found.multiplicative["shake"], [[0, 0], [1.5, 0]], atol=1e-9)
    assert found.abscissa == pytest.approx(hf.mean_square_abscissa([[0, 1], [-K, -B]], [[[0, 0], [1.5, 0]]]))
    assert not hf.deviation_covariance(line(home, shake=1.5 * (x - home)), step=0.01).any()
    assert found.notes == ()


@pytest.mark.parametrize("channels", [{"both": 1.5 * (x - 2) + 0.2}, {"a": 1.5 * (x - 2), "b": 0.2}])
def test_additive_and_multiplicative_noise_together(channels):
    found = hf.mean_square(line(2, **channels))
    assert found.kind == "both"
    assert found.covariance[0, 0] == pytest.approx(0.00183908045977, rel=1e-11)  # c^2/(2 k b - s^2)
    assert found.covariance[1, 1] == pytest.approx(K * 0.00183908045977, rel=1e-11)
    assert hf.deviation_covariance(line(2, **channels))[0, 0] == pytest.approx(0.00183908045977, rel=1e-11)


@pytest.mark.parametrize(("square", "stable"), [(23.99, True), (24.01, False)])
def test_the_limit_is_twice_the_product_of_the_gains(square, stable):
    equations = line(1, shake=sp.sqrt(sp.Rational(str(square))) * (x - 1))
    found = hf.mean_square(equations)
    assert found.stable is stable
    assert bool(found) is stable
    assert (found.abscissa < 0) is stable
    if not stable:
        assert "unstable" in found.verdict
        with pytest.raises(hf.BadRequest, match="undoes the law"):
            hf.deviation_covariance(equations)


def test_noise_on_the_rate_of_the_deviation():
    """y'' = -k y - b y' + s y' W': stable iff s^2 < 2 b."""
    for square, stable in ((5.99, True), (6.01, False)):
        assert hf.mean_square(line(shake=sp.sqrt(sp.Rational(str(square))) * x.rate)).stable is stable


def test_paths_of_multiplicative_noise_settle_where_the_formula_says():
    equations = line(shake=3 * x + 0.2)
    wanted = hf.deviation_covariance(equations, step=0.02)[0, 0]
    assert wanted == pytest.approx(0.04 / (24 - 9), rel=0.15)
    runs = hf.sample_paths(
        equations, step=0.02, duration=12, paths=4000, every=10, scheme="euler-maruyama", seed=4, start={x: 0}
    )
    moments = runs.moments("y_home", since=6)
    assert abs(moments.mean_square - wanted) < 4 * moments.mean_square_error < 0.3 * wanted


def circle(noise):
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, noise=noise)
    law = hf.SpringDamper(stiffness=K, damping=B)
    program = hf.Program(holonomic={"circle": sp.sqrt(x**2 + y**2) - 1}, law=law)
    return hf.derive(hf.Problem(system, program, start={x: 1, y.rate: 1}))


def test_a_reaction_answers_the_noise_and_a_control_does_not():
    isotropic = circle({"east": {x: 0.2}, "north": {y: 0.2}})
    assert hf.mean_square(isotropic).kind == "tangential"  # projected, as sample_paths does where reactions hold
    felt = hf.mean_square(isotropic, project=False)
    assert_allclose(felt.covariance, np.diag([0.04 / 24, 0.04 / 6]), atol=1e-12)
    assert felt.notes == ()  # east alone changes round the circle; east and north together do not


def test_noise_that_changes_along_the_program_is_an_estimate():
    found = hf.mean_square(circle({"east": {x: 0.2}}), project=False)
    assert "estimate" in found.notes[0]
    assert "in time" in hf.mean_square(line(push=0.2 * sp.cos(hf.time))).notes[0]


def test_radial_noise_that_grows_with_the_distance_from_the_circle():
    radius = sp.sqrt(x**2 + y**2)
    found = hf.mean_square(circle({"out": {x: 1.5 * (radius - 1) * x, y: 1.5 * (radius - 1) * y}}), project=False)
    assert found.kind == "multiplicative"
    assert_allclose(found.multiplicative["out"], [[0, 0], [1.5, 0]], atol=1e-9)


@pytest.mark.parametrize("intensity", [sp.Abs(x - 1), sp.sqrt((x - 1) ** 2), sp.Max(0, x - 1)])
def test_noise_without_a_linear_part_is_refused(intensity):
    with pytest.raises(hf.BadRequest, match="linear part"):
        hf.mean_square(line(1, shake=1.5 * intensity))


def test_noise_that_is_not_linear_in_the_deviation_is_an_estimate():
    assert any("not linear in the deviations" in note for note in hf.mean_square(line(push=0.2 + x**2)).notes)
    assert hf.mean_square(line(push=0.2 + x)).notes == ()


def test_a_law_that_is_not_linear_says_so():
    u = hf.deviations("home")
    law = hf.GeneralLaw({"home": -4 * u - 3 * u.rate - u**3})
    assert any("not linear" in note for note in hf.mean_square(line(law=law, push=0.2)).notes)


def test_the_answer_as_data_and_words():
    found = hf.mean_square(line(push=0.2))
    data = found.to_dict()
    assert data["kind"] == "additive"
    assert data["stable"]
    assert data["names"] == ["y_home", "w_home"]
    assert "floor" in found.summary()
    assert "y_home" in str(found)
    with pytest.raises(hf.BadRequest, match="no noise"):
        hf.mean_square(line())
