"""Proofs in the mean square: against moments that are worked out here, by other means, in fractions."""

from fractions import Fraction
from importlib import resources

import numpy as np
import pytest

import holdfast as hf
from holdfast.stability.certificate.certificate import certificate_from
from holdfast.stability.certificate.from_start import widths_of
from holdfast.stability.certificate.mean_square import MeanSquareProof
from holdfast.stability.proof.noise.recursion import NoisyRecursion
from holdfast.stability.verifier.noise import check

EXAMPLES = resources.files("holdfast") / "examples"
SPRING = """schema = 1
[system]
coordinates = ["x"]
kinetic = "m*x_dot**2/2"
[system.noise]
wind = {{ x = "{noise}" }}
[parameters]
m = 2
[program.holonomic]
a = "{program}"
[program.controls]
F = {{ x = "1" }}
[program.law]
kind = "spring-damper"
stiffness = 4
damping = 3
[start]
x = {start}
[run]
step = {step}
duration = 5
"""


def example(name):
    return hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))


def certified(noise="m*0.2", program="x", start=0.1, step=0.01, scheme=None):
    text = SPRING.format(noise=noise, program=program, start=start, step=step)
    return hf.certify(hf.derive(hf.loads(text)), scheme)["a"]


def moments(steps, semi_implicit, y0, calm=Fraction(1, 5), gain=Fraction(3, 2)):
    """E y², E y v, E v² of gusts, by hand: v⁺ = v + h(−4y − 3v) + √h (c ξ + s y ζ), y⁺ = y + h v or y + h v⁺."""
    h, (p, q, r) = Fraction(0.01), (Fraction(y0) ** 2, Fraction(0), Fraction(0))
    found = [(p, q, r)]
    for _ in range(steps):
        kick = h * (Fraction(float(calm)) ** 2 + gain**2 * p)
        a, b = -4 * h, 1 - 3 * h  # v⁺ = a y + b v + noise
        yv, vv = a * p + b * q, a * a * p + 2 * a * b * q + b * b * r + kick
        if semi_implicit:
            p, q, r = p + 2 * h * yv + h * h * vv, yv + h * vv, vv
        else:
            p, q, r = p + 2 * h * q + h * h * r, yv + h * (a * q + b * r), vv
        p, q, r = (Fraction(round(x * 2**400), 2**400) for x in (p, q, r))
        found.append((p, q, r))
    return found


@pytest.mark.parametrize(("scheme", "semi_implicit"), [(None, True), ("euler", False)])
def test_exact_moments_of_gusts_stay_within_the_envelope_and_come_near_the_settled_bound(scheme, semi_implicit):
    proof = hf.certify(example("gusts"), scheme)["home_kept"].mean_square
    exact = moments(2000, semi_implicit, 1.1 - 1.0)
    envelope = proof.envelope(np.arange(2001))
    for (p, _, r), (y, w) in zip(exact, envelope.T.tolist(), strict=True):
        assert p <= Fraction(y) ** 2
        assert r <= Fraction(w) ** 2
    settled = [float(exact[-1][0]) ** 0.5, float(exact[-1][2]) ** 0.5]
    for bound, size in zip(proof.bounds, settled, strict=True):
        assert size <= bound <= (1 + 1e-5) * size


def test_paths_of_an_own_loop_stay_within_the_envelope_on_average():
    proof = hf.certify(example("gusts"))["home_kept"].mean_square
    random, y, v, h = np.random.default_rng(1), np.full(20_000, 0.1), np.zeros(20_000), 0.01
    for k in range(1, 601):
        wind, gust = random.standard_normal((2, len(y)))
        v = v + h * (-4 * y - 3 * v) + np.sqrt(h) * (0.2 * wind + 1.5 * y * gust)
        y = y + h * v
        if k % 100 == 0:
            seen = np.sqrt([np.mean(y**2), np.mean(v**2)])
            assert (seen <= 1.03 * proof.envelope(k)[:, 0]).all()
    assert (seen > 0.97 * np.array(proof.bounds)).all()
    assert np.abs(y).max() > 3 * proof.bounds[0]  # and single paths go beyond


def test_it_is_never_taken_for_a_sure_bound():
    block = hf.certify(example("gusts"))["home_kept"]
    assert block.label is hf.Label.mean_square
    assert not block.label.is_proof
    assert block.bounds == ()
    assert block.proof is None
    assert np.isinf(block.envelope([0, 10])).all()
    assert "A single path may go beyond" in block.promise("rk4", 0.01)
    with pytest.raises(hf.HoldfastError, match="no step was found"):
        hf.certify(example("gusts"), drift=1.0)


def test_a_file_keeps_it_and_the_verifier_re_checks_it(tmp_path):
    made = hf.certify(example("gusts"))
    made.save(tmp_path / "gusts.json")
    again = hf.Certificate.load(tmp_path / "gusts.json")
    assert again["home_kept"].mean_square == made["home_kept"].mean_square
    assert "proved in the mean square" in again.summary()
    assert "is kept, rounding" in again.statement()
    found = hf.verify(tmp_path / "gusts.json")
    assert found.holds
    assert "re-checked by the verifier" in found.words
    data = made.to_dict()
    data["blocks"][0]["label"] = "proved"
    with pytest.raises(hf.HoldfastError):
        certificate_from(data)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e9])
def test_bounds_scale_with_the_unit(size):
    plain = certified().mean_square.bounds
    scaled = certified(noise=f"m*{0.2 * size!r}", start=0.1 * size).mean_square.bounds
    assert np.allclose(np.array(scaled) / size, plain, rtol=1e-6)


def test_rounding_far_from_the_origin_is_counted():
    near, far = certified(), certified(program="x - 1e12", start=1e12)
    assert far.mean_square.rounding[0] > 1e9 * near.mean_square.rounding[0]
    assert far.mean_square.bounds[0] > 1.01 * near.mean_square.bounds[0]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ({"noise": "m*5.2*x"}, "the noise undoes the law"),
        ({"step": 1}, "beyond the scheme's linear limit"),
        ({"program": "x - sin(t)", "start": 0}, "depends on time"),
        ({"program": "x**2 - 1", "start": 1}, "not affine"),
        ({"noise": "m*sin(x)"}, "not affine"),
    ],
)
def test_what_is_not_proved_is_refused_by_name(case, words):
    block = certified(**case)
    assert block.label is hf.Label.refused
    assert words in block.reason
    assert "hf.sample_paths" in block.reason


TWO = """schema = 1
[system]
coordinates = ["x", "z"]
kinetic = "x_dot**2 + z_dot**2/2 + 0.25*x_dot*z_dot"
potential = "9.81*z"
[system.noise]
wind = { x = "0.2", z = "0.1*x" }
gust = { z = "0.3 + 0.2*z_dot" }
[program.holonomic]
a = "x - z/4"
c = "z + 1"
[program.controls]
F = { x = "1" }
G = { z = "1" }
[program.law]
kind = "spring-damper"
stiffness = { a = 4, c = 9 }
damping = { a = 3, c = 6 }
[start]
x = -0.2
z = -1
[run]
step = 0.01
duration = 1
"""


def test_blocks_that_move_each_other_s_states_are_followed_together():
    """E uuᵀ of u = (1, x, z, x', z') step by step: z'' = −9(z + 1) − 6z', x'' = −4a − 3a' + z''/4."""
    certificate, h = hf.certify(hf.derive(hf.loads(TWO))), 0.01
    fall = np.array([-9, 0, -9, 0, -6.0])
    slide = np.array([0, -4, 1, -3, 0.75]) + fall / 4
    speeds = np.eye(5)[3:] + h * np.array([slide, fall])
    after = np.vstack([np.eye(5)[:1], np.eye(5)[1:3] + h * speeds, speeds])
    inverse = np.linalg.inv([[2, 0.25], [0.25, 1]])
    pushes = [np.array([[0.2, 0, 0, 0, 0], [0, 0.1, 0, 0, 0]]), np.array([[0] * 5, [0.3, 0, 0, 0, 0.2]])]
    kicks = [np.vstack([np.zeros((1, 5)), h * inverse @ push, inverse @ push]) for push in pushes]
    read = np.array([[0, 1, -0.25, 0, 0], [0, 0, 0, 1, -0.25], [1, 0, 1, 0, 0], [0, 0, 0, 0, 1]])
    start = np.array([1, -0.2, -1, 0, 0])
    moment, proof = np.outer(start, start), certificate["a"].mean_square
    assert proof.names == ("y_a", "w_a", "y_c", "w_c")
    for k in range(1500):
        seen = np.sqrt(np.diag(read @ moment @ read.T))
        assert (seen <= proof.envelope(k)[:, 0] * (1 + 1e-9) + 1e-9).all()
        moment = after @ moment @ after.T + h * sum(B @ moment @ B.T for B in kicks)
    assert (seen > 0.999 * np.array(proof.bounds)).all()
    assert "rms y_c" not in certificate["a"].line()
    assert "rms y_c" in certificate["c"].line()
    assert hf.verify(certificate).holds


CANCELLED = """schema = 1
[system]
coordinates = ["x", "z"]
kinetic = "x_dot**2 + a*x_dot*z_dot + z_dot**2/2"
[system.noise]
wind = {{ {noise} }}
[parameters]
a = 0.3
c = 0.7
e = 0.3333333333333333
l = {tiny}
h = {huge}
k = {great}
[program.holonomic]
p = "x"
[program.controls]
F = {{ x = "1" }}
[program.law]
kind = "spring-damper"
stiffness = 4
damping = 3
[start]
x = 0
[run]
step = 0.01
duration = 2
"""


@pytest.mark.parametrize(
    "noise",
    [
        'x = "a*c + a*e", z = "c + e"',  # σ of x is 0, and rounding of it 1e-17
        'x = "c - c*l**2*h*k"',  # 0, too; but l² is no double, so that c itself is run
    ],
)
def test_noise_that_is_nothing_but_rounding_is_bounded_as_it_is_run(noise):
    text = CANCELLED.format(noise=noise, tiny=2.0**-700, huge=2.0**900, great=2.0**500)
    equations = hf.derive(hf.loads(text))
    block = hf.certify(equations)["p"]
    paths = hf.sample_paths(equations, duration=2, paths=100, seed=1)
    seen = [paths.moments(name, since=1).mean_square ** 0.5 for name in ("y_p", "w_p")]
    assert min(seen) > 1e-18
    assert block.mean_square is None or all(a <= b for a, b in zip(seen, block.mean_square.bounds, strict=True))


def test_a_norm_of_many_deviations_tells_how_wide_it_is():
    """Of a product of triangles whose inverse has zeros: they are balls around 0, of which no power is a number."""
    factor = np.array(
        [
            [4.359050357911449, 0, 0, 0, 0, 0],
            [2.259811376044551, 5.391724826106916, 0, 0, 0, 0],
            [0.23545091995289513, 0.2545834065045337, 1.1377211368147642, 0, 0, 0],
            [8.841892685131267e-05, 4.321635334747348e-05, 2.168901218474172e-05, 0.0005963838891089164, 0, 0],
            [3.41373795e-05, 2.76852543e-05, 8.50456701e-06, 5.77244565e-05, 0.0003429123199637863, 0],
            [-1.74200881e-05, -3.79194704e-05, -1.1492901e-06, -1.64241592e-05, 1.46548371e-05, 0.0002395976399956],
        ]
    )
    expected = np.linalg.norm(np.linalg.inv(factor.T), axis=1)
    assert np.allclose(widths_of(factor.tolist()), expected, rtol=1e-9)
    unit = np.eye(6).tolist()
    scheme, none = "semi-implicit", (0,) * 6
    proof = MeanSquareProof(tuple("abcdef"), scheme, False, factor.tolist(), 0.9, unit, 0.1, none, 7, (1,) * 6)
    assert np.allclose(proof.envelope(0)[:, 0], 1 + 7 * expected)
    assert "from the start on" in proof.promise("abcdef", 0.01)


HUGE = """schema = 1
[system]
coordinates = ["x"]
kinetic = "x_dot**2/2"
[system.noise]
wind = { x = "c + x*h*k*l" }
[parameters]
h = 1e200
k = 1e90
l = 1e-292
c = 1e20
[program.holonomic]
a = "x"
[program.controls]
F = { x = "1" }
[program.law]
kind = "spring-damper"
stiffness = 4
damping = 3
[run]
step = 0.01
duration = 2
"""


def test_numbers_that_overflow_on_the_way_have_no_mean_square(monkeypatch):
    """x h k is beyond doubles for x = 1e19, the exact c + x/100 is not: every path ends in what is no number."""
    equations = hf.derive(hf.loads(HUGE))
    assert not hf.sample_paths(equations, paths=10, duration=1).success
    block = hf.certify(equations)["a"]
    assert block.mean_square is None
    assert "its numbers come near the largest double" in block.reason
    monkeypatch.setattr(NoisyRecursion, "overflows", lambda self, sizes: False)
    found = hf.verify(hf.certify(equations))
    assert not found.holds
    assert "largest double" in found.doubts[0]
    monkeypatch.setattr(check, "FARTHEST", Fraction(2) ** 2000)
    found = hf.verify(hf.certify(equations))
    assert "does not hold: its paths cannot be made again: paths do not stay finite" in found.doubts[0]


def test_a_promise_says_which_deviations_of_the_start_it_counts():
    """Noise on x grows with z: paths with no deviation of p at the start, and some of q, are none that p speaks of."""
    x, z = hf.coordinates("x z")
    system = hf.System(coordinates=(x, z), kinetic=(x.rate**2 + z.rate**2) / 2, noise={"wind": {x: z / 2}})
    program = hf.Program(
        holonomic={"p": x, "q": z},
        controls={"F": {x: 1}, "G": {z: 1}},
        law=hf.SpringDamper(stiffness=4, damping=3),
    )
    equations = hf.derive(hf.Problem(system, program, start={x: 0}))
    certificate = hf.certify(equations, step=0.01, duration=0.1)
    paths = hf.sample_paths(equations, step=0.01, duration=1, paths=50, start={z: 1}, start_policy="keep")
    assert paths.moments("y_p", since=0.5).mean_square ** 0.5 > 1e3 * certificate["p"].mean_square.envelope(0).max()
    assert certificate["p"].mean_square.names == ("y_p", "w_p", "y_q", "w_q")  # its own first: bounds[:2] are its own
    both, alone = (certificate[name].promise(certificate.scheme, 0.01) for name in ("p", "q"))
    assert "no more deviation than this one in the norm of the proof, that of y_q, w_q included: rms y_p" in both
    assert "no more deviation than this one in the norm of the proof: rms y_q" in alone
