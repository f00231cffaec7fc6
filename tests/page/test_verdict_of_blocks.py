"""The first line of a page names the constraints that are kept without being attracted."""

from types import SimpleNamespace

import pytest

import holdfast as hf
from holdfast.page.sections.certificate import _left
from holdfast.page.sections.warnings import _of_certificate
from holdfast.stability.certificate.tube_proof import Tube, TubeProof
from tests.stability.held import adaptive_optics


@pytest.fixture(scope="module")
def run():
    return hf.simulate(hf.derive(adaptive_optics()), hf.RK4, step=0.01, duration=1, every=1)


def verdict(run, **asked):
    page = hf.report(run, hf.certify(hf.derive(adaptive_optics()), hf.RK4, trajectory=run, effort=1e-9, **asked))
    assert page.good
    return page.verdict


def test_a_neutral_block_is_an_exception_to_what_is_promised(run):
    line = verdict(run)
    assert line.startswith("No promise for radius (kept, not attracted): ")
    assert "the drift bound of the others was checked at every step" in line


def test_a_doubt_about_the_states_is_about_all_constraints(run, monkeypatch):
    """Not `No promise for radius`, which would leave one for the other."""
    monkeypatch.setattr("holdfast.page.verdict._of_states", lambda _: ["The states are not a result."])
    line = verdict(run)
    assert line.startswith("No promise: ")
    assert "(except for radius: kept, not attracted)" in line


def test_where_all_is_neutral_nothing_is_promised(run):
    law = hf.SpringDamper(stiffness=0, damping=0)
    equations = hf.derive(adaptive_optics()).with_law(law)
    drifting = hf.simulate(equations, hf.RK4, step=0.01, duration=1, every=1)
    page = hf.report(drifting, hf.certify(equations, hf.RK4, trajectory=drifting))
    assert "kept but not attracted" in page.verdict
    assert "proved" not in page.verdict
    assert "checked" not in page.verdict


def test_a_neutral_block_is_an_exception_to_an_estimate_too(run):
    line = verdict(run, sample=True)
    assert line.startswith("No promise: ")  # of the others neither
    assert "except for radius" in line


def test_a_certificate_of_some_constraints_does_not_speak_for_the_rest(run):
    assert "radius" in verdict(run, constraints=["aim"])


def test_a_certificate_of_another_start_is_refused(run):
    equations = hf.derive(adaptive_optics())
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=1, effort=1e-9)
    other = hf.simulate(equations, hf.RK4, step=0.01, duration=1, every=1, start={"phi": 0.6})
    with pytest.raises(hf.BadRequest, match="another start"):
        hf.report(other, certificate)


def test_a_kinetic_energy_that_is_not_positive_is_told():
    x, mass = hf.coordinates("x"), hf.parameters("mass")
    system = hf.System(coordinates=(x,), kinetic=mass * x.rate**2 / 2, potential=x**2, parameters={mass: -2})
    page = hf.report(hf.simulate(hf.derive(hf.Problem(system, start={x: 0.1})), hf.RK4, step=0.01, duration=0.1))
    assert page.word == "failed"
    assert any("not positive" in fault and "−2" in fault for fault in page.faults)
    assert "not positive" in page.html


@pytest.mark.parametrize(
    ("most", "seen", "settles", "words"),
    [
        (2e-13, 0.0, False, "kept exactly"),
        (2e-13, 1e-13, False, "2 times"),
        (1e-13, 1e-3, True, "holds once settled"),
        (1e-13, 2e-13, False, "exceeded"),
        (1e-13, float("nan"), False, "–"),
    ],
)
def test_what_is_left_below_a_bound_is_told_in_its_own_words(most, seen, settles, words):
    assert _left(most, seen, settles) == words


@pytest.mark.parametrize("order", [1, -1])
def test_a_warning_about_tubes_speaks_of_what_lies_in_all_of_them(order):
    """Each block has a tube of its own: a run in the wider one, or at other speeds, is proved of one block only."""
    wide = Tube(1e-3, (("x", 2.0),), (), speeds=0.05)
    proofs = [TubeProof((), 0.5, 1.0, 0.0, 2.0, tube) for tube in (wide, Tube(2e-4, wide.scales, ()))][::order]
    blocks = [SimpleNamespace(proof=proof) for proof in proofs]
    certificate = SimpleNamespace(attracted=hf.Label.tube, blocks=blocks, times=())
    subject = SimpleNamespace(certificate=certificate, by_phase=False)
    (told,) = _of_certificate(subject)
    assert "within 0.02 % of each state's range of this run, at the same time" in told


def test_a_proof_over_a_region_that_the_run_left_says_nothing_of_the_run():
    x, z = hf.coordinates("x z")
    system = hf.System(coordinates=(x, z), kinetic=(x.rate**2 + z.rate**2) / 2, potential=9.81 * z)
    program = hf.Program(holonomic={"rod": (x**2 + z**2 - 1) / 2}, law=hf.critically_damped(5))
    equations = hf.derive(hf.Problem(system, program, start={x: 1}))
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=2, region={x: (0.5, 1.2)}, effort=1)
    assert (certificate.label, certificate["rod"].stayed) == (hf.Label.proved, False)
    page = hf.report(certificate.trajectory, certificate)
    assert page.word == "no promise"
    assert "is proved for every state of the region, which this run left." in page.verdict
    assert "While the state stays in Omega, the deviation stays below ε" in page.html
