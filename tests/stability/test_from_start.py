"""From the start on: an envelope for every step, proved, printed, kept in files and re-checked."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.stability.certificate.certificate import BlockCertificate, Label, Proof
from holdfast.stability.certificate.from_start import widths_of
from tests.stability.held import pendulum


def proof(**more):
    return Proof(
        factor=((2.0, 0.0), (0.0, 0.5)), gamma=0.9, tube=8.0, coefficient=0.0, rounding=0.0, radius=1.0, region=(),
        limits=(), **more,
    )  # fmt: skip


def block(**more):
    given = {
        "names": ("y_a", "w_a"), "gamma": 0.9, "defect": 0.1, "bounds": (0.5, 2.0), "proof": proof(), "settles": True,
        "start_size": 4.0,
    }  # fmt: skip
    return BlockCertificate(("a",), Label.proved, "", **(given | more))


def test_the_envelope_is_the_theorem_s_own():
    """widths 1/2 and 2: w(γᵏ s + δ(1 − γᵏ)/(1 − γ)) at first, what is settled and w γᵏ s later on."""
    found = block().envelope([0, 1, 10, 10**6])
    left = 0.9 ** np.array([0, 1, 10, 1e6])
    summed = np.array([[0.5], [2.0]]) * (4 * left + 0.1 * (1 - left) / 0.1)
    settled = np.array([[0.5], [2.0]]) * (1 + 4 * left)
    assert found == pytest.approx(np.minimum(summed, settled), rel=1e-11)
    assert (found >= np.minimum(summed, settled) * (1 - 1e-15)).all()
    assert found[:, 0] == pytest.approx([2.0, 8.0], rel=1e-11)  # the start itself
    assert found[:, -1] == pytest.approx([0.5, 2.0], rel=1e-11)  # and what is left of it


def test_nothing_is_said_of_the_steps_before_the_first_that_is_covered():
    found = block(from_step=7).envelope([0, 6, 7, 8])
    assert np.isinf(found[:, :2]).all()
    assert found[:, 2:] == pytest.approx(block().envelope([0, 1]))


def test_without_a_proof_the_envelope_is_the_bounds():
    found = block(proof=None).envelope([0, 5])
    assert found.tolist() == [[0.5, 0.5], [2.0, 2.0]]


@pytest.mark.parametrize("gamma", [1e-3, 0.4999, 0.5, 0.97, 1 - 1e-12])
def test_powers_of_the_contraction_are_not_below_the_truth(gamma):
    """Against 60 digits, for few and for very many steps."""
    import flint

    flint_before, flint.ctx.prec = flint.ctx.prec, 200
    try:
        for k in (0, 1, 3, 1000, 10**7):
            made = replace(block(), gamma=gamma, proof=replace(proof(), gamma=gamma), bounds=(1e300, 1e300))
            left = flint.arb(gamma) ** k
            exact = (4 * left + flint.arb(0.1) * (1 - left) / (1 - flint.arb(gamma))) / 2
            assert flint.arb(made.envelope(k)[0, 0]) >= exact
            assert made.envelope(k)[0, 0] <= float(exact.mid()) * (1 + 1e-11)
    finally:
        flint.ctx.prec = flint_before


def moved(off, duration):
    """The pendulum's run from a start that is moved off the program, and its certificate."""
    equations = hf.derive(pendulum(0.05))
    start = hf.simulate(equations, hf.RK4, step=0.01, duration=0.01).y[:, 0].copy()
    start[0] += off
    asked = {"step": 0.01, "duration": duration, "start": start.tolist(), "start_policy": "keep"}
    run = hf.simulate(equations, hf.RK4, **asked)
    return run, hf.certify(equations, hf.RK4, trajectory=run, step=0.01, effort=1.5)


@pytest.fixture(scope="module")
def settling():
    return moved(1e-6, 3)


def test_a_deviating_start_is_covered_from_the_start_on(settling):
    run, certificate = settling
    rod = certificate["rod"]
    assert rod.label is hf.Label.proved
    assert rod.settles
    assert rod.from_step == 0
    promised = rod.envelope(np.arange(len(run.times)))
    seen = np.abs(np.array([run[name] for name in rod.names]))
    assert (seen <= promised).all()
    assert (seen[:, 0] > np.array(rod.bounds)).any()  # which the settled bound alone would not say
    assert "from the start on" in certificate.summary()
    assert hf.verify(certificate).holds, hf.verify(certificate).findings


def test_the_envelope_is_in_the_file_and_drawn(settling, tmp_path):
    _, certificate = settling
    certificate.save(tmp_path / "c.json")
    again = hf.Certificate.load(tmp_path / "c.json")
    steps = [0, 10, 300]
    assert (again["rod"].envelope(steps) == certificate["rod"].envelope(steps)).all()
    axes = certificate.plot()[0]
    drawn = [line.get_ydata() for line in axes.lines if "once settled" in str(line.get_label())]
    assert len(drawn) == 2
    assert all(np.asarray(line)[0] > 2 * np.asarray(line)[-1] for line in drawn)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("start_size", lambda x: x / 2, "the start deviates more than stated"),
        ("start_size", lambda x: 1e6 * x, "lies outside its tube"),
        ("from_step", lambda x: 3, "misstates from which step on"),
        ("start_size", lambda x: None, "its start deviates, and it does not say by how much"),
    ],
)
def test_an_altered_start_of_the_envelope_is_refused(settling, tmp_path, name, change, words):
    import json

    from holdfast.stability.verifier.reading.file import digest

    data = settling[1].to_dict()
    data["blocks"][0][name] = change(data["blocks"][0][name])
    data["digest"] = digest(data)
    (tmp_path / "c.json").write_text(json.dumps(data))
    found = hf.verify(tmp_path / "c.json")
    assert not found.holds
    assert any(words in line for line in found.findings), found.findings


def test_bounds_of_what_remains_are_never_said_from_the_start_on(settling, tmp_path):
    """Without the size of its start a file says less; it was read as the settled bounds from the start on."""
    import json

    from holdfast.stability.verifier.reading.file import digest

    data = settling[1].to_dict()
    del data["blocks"][0]["start_size"]
    (tmp_path / "c.json").write_text(json.dumps(data | {"digest": digest(data)}))
    with pytest.raises(hf.BadRequest, match="does not say by how much"):
        hf.Certificate.load(tmp_path / "c.json")


def test_a_start_outside_the_tube_says_from_which_step_on(monkeypatch):
    monkeypatch.setattr("holdfast.stability.proof.prove.FROM_START", 0.0)  # or the tube would hold the start
    kept, certificate = moved(1e-2, 6)
    rod = certificate["rod"]
    assert rod.label is hf.Label.proved, rod.reason
    assert rod.from_step > 10
    assert f"from step {rod.from_step} on" in certificate.summary()
    promised = rod.envelope(np.arange(len(kept.times)))
    seen = np.abs(np.array([kept[name] for name in rod.names]))
    assert (seen[:, rod.from_step :] <= promised[:, rod.from_step :]).all()
    assert np.isinf(promised[:, : rod.from_step]).all()
    assert hf.verify(certificate).holds, hf.verify(certificate).findings


def test_a_referee_can_read_it(settling):
    _, certificate = settling
    text = certificate.statement()
    proof = certificate["rod"].proof
    for part in ("Claim", "Where", "Norm", "Constants", "Bounds", "Software", "Problem   sha256", "holdfast verify"):
        assert part in text
    for number in (proof.gamma, proof.coefficient, proof.rounding):
        assert repr(number) in text  # in full, to be put in again
    assert certificate.to_dict()["digest"] in text
    assert max(map(len, text.splitlines())) < 400


def test_a_referee_is_told_what_is_not_proved():
    equations = hf.derive(pendulum(0.05))
    text = hf.certify(equations, hf.RK4, step=0.01, duration=0.2, effort=1e-9).statement()
    assert "Norm" not in text
    assert "rod: checked" in text or "rod: proved in a tube" in text


def test_a_referee_is_told_what_is_assumed_of_the_machine():
    x = hf.coordinates("x")
    forces = {x: -sp.tan(x / 9) - sp.exp(-(x**2))}
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, forces=forces)
    program = hf.Program(holonomic={"way": x - sp.sin(hf.time)}, controls={"F": {x: 1}}, law=hf.critically_damped(5))
    problem = hf.Problem(system, program, start={x.rate: 1}, run=hf.Run(scheme="rk4", step=0.01, duration=0.5))
    text = hf.certify(hf.derive(problem), effort=1).statement()
    assert "rounded to nearest" in text
    told = " ".join(text.split())
    assert "sin, cos: our own code in native runs and in C, within 2^-49 of the value, which is proved" in told
    assert "beyond, and elsewhere, the system's, which is taken for granted" in told
    assert "made first; rows lie at begin + k h, k counted from the beginning or from any row" in told
    free = hf.Program(holonomic={"way": x - sp.sin(hf.time) - sp.tan(x / 9) / 50}, law=hf.critically_damped(5))
    told = hf.certify(hf.derive(hf.Problem(system, free, run=problem.run)), effort=1).statement()
    assert "tan: within 2^-49 of the value, which is taken for granted" in told


def test_widths_are_numbers_where_the_inverse_of_a_norm_has_zeros():
    """Balls about 0 have no square in flint: three deviations and more were given the width nan."""
    factor = [
        [9536.4, 0, 0, 0],
        [-1187.7, 12332.2, 0, 0],
        [-1841.77, -1144.9, 6489.5, 0],
        [2321.4, 630.4, 382.3, 977.98],
    ]
    inverse = np.linalg.inv(np.array(factor).T)
    assert np.allclose(widths_of(factor), np.linalg.norm(inverse, axis=1), rtol=1e-12)
