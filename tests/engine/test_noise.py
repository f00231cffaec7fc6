"""Noise: numbers that depend on their place alone, and deviations that spread as docs/theory, section 5.3 says."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri

import holdfast as hf
from holdfast.engine.noise import NoiseField, chances, normals, philox, run_noise
from holdfast.results.runs.noise import noise_columns

x, y = hf.coordinates("x y")
radius = sp.sqrt(x**2 + y**2)
across = (x * y.rate - y * x.rate) / radius
LAW = hf.SpringDamper(stiffness=4, damping=3)


def on_a_line():
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, noise={"push": {x: 0.2}})
    return hf.derive(hf.Problem(system, hf.Program(holonomic={"home": x}, law=LAW)))


def on_a_circle(noise=None):
    pull = (across - 1) / 2
    system = hf.System(
        coordinates=(x, y),
        kinetic=(x.rate**2 + y.rate**2) / 2,
        forces={x: pull * y / radius, y: -pull * x / radius},
        noise={"east": {x: 0.2}, "north": {y: 0.2}} if noise is None else noise,
    )
    return hf.derive(hf.Problem(system, hf.Program(holonomic={"circle": radius - 1}, law=LAW), start={x: 1, y.rate: 1}))


# ---------------------------------------------------------------- the numbers


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [  # the known answers of Random123
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_known_answers(counter, key, answer):
    assert tuple(int(word) for word in philox([np.array(word) for word in counter], key)) == answer


def test_a_number_depends_on_seed_case_step_and_channel_alone():
    whole = normals(7, np.arange(50), np.arange(20), 3)
    assert_array_equal(whole[4:9, 10:13], normals(7, np.arange(10, 13), np.arange(4, 9), 3))
    assert_array_equal(whole[:, :, :2], normals(7, np.arange(50), np.arange(20), 2))
    assert (whole != normals(8, np.arange(50), np.arange(20), 3)).all()


def test_the_numbers_are_normal_and_independent():
    numbers = normals(1, np.arange(400), np.arange(500), 2).reshape(-1, 2)
    count = len(numbers)
    assert abs(numbers.mean(axis=0)).max() < 4 / np.sqrt(count)
    assert abs(numbers.var(axis=0) - 1).max() < 4 * np.sqrt(2 / count)
    assert abs(np.mean(numbers[:, 0] * numbers[:, 1])) < 4 / np.sqrt(count)
    assert abs(np.mean(numbers[1:, 0] * numbers[:-1, 0])) < 4 / np.sqrt(count)
    assert abs((numbers**4).mean(axis=0) - 3).max() < 4 * np.sqrt(96 / count)


def test_paths_do_not_depend_on_threads_or_neighbours():
    equations = on_a_circle()
    noise = NoiseField.made(equations.field, noise_columns(equations, project=False))
    start = np.tile([1.0, 0, 0, 1], (300, 1))
    constants = np.array([list(equations.parameter_values.values())])
    options = {"step": 1e-2, "steps": 60, "every": 20, "seed": 3}
    _, alone = run_noise(noise, start, constants, threads=1, **options)
    _, together = run_noise(noise, start, constants, threads=4, **options)
    _, few = run_noise(noise, start[:70], constants, threads=1, **options)
    assert_array_equal(alone, together)
    assert_array_equal(alone[:70], few)


def test_the_python_target_takes_the_same_paths():
    equations = on_a_circle()
    columns = noise_columns(equations, project=True)
    constants = np.array([list(equations.parameter_values.values())])
    found = [
        run_noise(
            NoiseField.made(equations.field, columns, target),
            np.array([[1.0, 0, 0, 1]] * 2),
            constants,
            step=0.01,
            steps=20,
        )
        for target in ("native", "python")
    ]
    assert_allclose(found[0][1], found[1][1], rtol=1e-13, atol=1e-14)


# ---------------------------------------------------------------- what deviations do


def test_the_variance_of_a_linear_law_by_formula_and_by_simulation():
    equations = on_a_line()
    exact = hf.deviation_covariance(equations)
    assert_allclose(exact, np.diag([0.04 / 24, 0.04 / 6]), atol=1e-12)
    step = 0.02
    discrete = np.diag(hf.deviation_covariance(equations, step=step))
    assert_allclose(np.diag(hf.deviation_covariance(equations, step=2e-3)), [1.67113e-3, 6.70458e-3], rtol=2e-6)
    runs = hf.sample_paths(
        equations, step=step, duration=14, paths=3000, every=5, project=False, scheme="euler-maruyama", seed=11
    )
    for name, wanted in zip(("y_home", "w_home"), discrete, strict=True):
        moments = runs.moments(name, since=6)
        assert abs(moments.mean_square - wanted) < 3 * moments.mean_square_error
        assert moments.mean_square_error < 0.02 * wanted
        assert abs(moments.mean) < 3.5 * moments.mean_error
    assert_allclose(np.diag(runs.deviation_covariance(since=6)), discrete, rtol=0.06)


def test_isotropic_noise_on_a_circle_spreads_deviations_as_the_formula_says():
    equations = on_a_circle()
    formula = np.diag(hf.deviation_covariance(equations))
    runs = hf.sample_paths(equations, step=5e-3, duration=10, paths=1200, every=20, project=False, seed=5)
    assert runs.success
    for name, wanted in zip(("y_circle", "w_circle"), formula, strict=True):
        moments = runs.moments(name, since=5)
        assert abs(moments.variance - wanted) < 3 * moments.mean_square_error + 0.01 * wanted  # and the step's own bias


def test_projected_noise_leaves_only_the_bias_of_the_step():
    equations = on_a_circle()
    runs = hf.sample_paths(equations, step=2e-3, duration=8, paths=200, every=50, seed=5)
    assert runs.projected  # the default where reactions hold
    moments = runs.moments("y_circle", since=5)
    assert moments.mean == pytest.approx(-7.9e-4, rel=0.06)
    assert moments.mean_square < 1e-6
    explicit = hf.sample_paths(
        equations, step=2e-3, duration=8, paths=200, every=50, seed=5, scheme="euler-maruyama"
    ).moments("y_circle", since=5)
    assert explicit.mean > 3e-4  # the other sign


def test_prescribed_deviation_noise_replaces_what_the_projection_takes_away():
    equations = on_a_circle()
    prescribed = {"east": {"circle": 0.2}}
    columns = noise_columns(equations, project=True, deviation_noise=prescribed)
    from holdfast.graph.arithmetics.tape import Tape

    at = equations.evaluate({x: 0.6, y: 0.9})
    numbers = [0.0, *at.state, *equations.parameter_values.values()]
    sigma = np.array(Tape(equations.field.inputs, tuple(n for c in columns for n in c))(numbers)).reshape(2, 2).T
    assert_allclose(at.jacobian @ sigma, [[0.2, 0.0]], atol=1e-14)
    covariance = hf.deviation_covariance(equations, project=True, deviation_noise=prescribed)
    assert_allclose(np.diag(covariance), [0.04 / 24, 0.04 / 6], rtol=1e-9)


def test_multiplicative_noise_keeps_the_program_on_every_path():
    equations = on_a_circle({"along": {x: 0.1}})
    runs = hf.sample_paths(
        equations, step=1e-3, duration=1, paths=20, deviation_noise={"rough": {"circle": 3 * (radius - 1)}}, seed=2
    )
    assert abs(runs["y_circle"]).max() < 2e-3  # the step's bias; additive noise would give 0.05


def test_multiplicative_noise_has_a_mean_square_limit():
    H = [[0, 1], [-4, -3]]
    assert (
        hf.mean_square_abscissa(H, [[[0, 0], [np.sqrt(23.99), 0]]])
        < 0
        < hf.mean_square_abscissa(H, [[[0, 0], [np.sqrt(24.01), 0]]])
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"paths": 0}, "0 paths"),
        ({"duration": 0.015}, "0.015"),
        ({"scheme": "milstein"}, "no noise scheme"),
        ({"deviation_noise": {"a": {"wall": 1}}}, "no constraint 'wall'"),
    ],
)
def test_requests_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(hf.BadRequest, match=message):
        hf.sample_paths(on_a_circle(), **{"step": 0.01, "duration": 0.1, **arguments})


def test_a_problem_without_noise_is_refused():
    with pytest.raises(hf.BadRequest, match="no noise"):
        hf.sample_paths(on_a_circle({}), step=0.01, duration=0.1)


def test_no_bits_give_a_number_that_is_none():
    ends = chances(np.array([0, 1, 2**52, 2**53 - 2, 2**53 - 1], np.uint64))
    assert np.isfinite(ndtri(ends)).all()
    assert (np.diff(ends) >= 0).all()
