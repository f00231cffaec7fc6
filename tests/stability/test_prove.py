"""The long proofs and trials: `make prove`."""

from importlib import resources

import pytest

import holdfast as hf
from tests.stability.held import ALL_SWINGS, adaptive_optics, pendulum
from tests.stability.trials import violations_of_checked, violations_of_proved

pytestmark = pytest.mark.prove
EXAMPLES = resources.files("holdfast") / "examples"
MANY = 120_000


@pytest.mark.parametrize(("scheme", "factor"), [(hf.Euler, 5), (hf.RK4, 10)], ids=["euler", "rk4"])
def test_adaptive_optics_are_proved_near_their_settled_drift(scheme, factor):
    certificate = hf.certify(hf.derive(adaptive_optics()), scheme, step=0.01, duration=20, effort=55)
    block = certificate["aim"]
    assert block.label is hf.Label.proved
    assert block.stayed
    ratios = [bound / seen for bound, seen in zip(block.bounds, block.observed, strict=True)]
    assert max(ratios) <= factor
    assert hf.verify(certificate)


def test_the_cartesian_pendulum_is_proved_over_its_whole_energy_range():
    equations = hf.derive(pendulum())
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=20, region=ALL_SWINGS, effort=40)
    block = certificate["rod"]
    assert block.label is hf.Label.proved
    seen = hf.certify(equations, hf.RK4, step=0.01, duration=20, effort=1e-9)["rod"].defect
    assert block.defect <= 20 * seen
    assert hf.verify(certificate)


@pytest.mark.parametrize(("name", "least"), [("cart_rod", 100_000), ("rocket_ascent", 40_000)])
def test_affine_programs_survive_many_starts(name, least):
    equations = hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))
    certificate = hf.certify(equations, duration=10, step=0.01)
    found = [violations_of_proved(certificate, block, equations, count=MANY) for block in certificate.blocks]
    assert sum(starts for starts, _ in found) >= least
    assert not any(broken for _, broken in found)


def test_curved_programs_survive_many_starts():
    equations = hf.derive(pendulum(0.05))
    inside = 0
    for scheme in (hf.Euler, hf.Midpoint):
        certificate = hf.certify(equations, scheme, step=0.01, duration=2, effort=8, region={"t": (0, 2)})
        block = certificate["rod"]
        assert block.label is hf.Label.proved
        starts, broken = violations_of_proved(certificate, block, equations, count=2 * MANY)
        inside += starts
        assert broken == 0
    assert inside >= 100_000


@pytest.mark.parametrize("scheme", [hf.Euler, hf.RK4, hf.SymplecticEuler], ids=lambda scheme: scheme.name)
def test_checked_runs_survive_many_starts(scheme):
    checked, broken = violations_of_checked(hf.derive(pendulum(0.2)), scheme, 0.01, steps=100, count=500)
    assert broken == 0
    assert checked > 250  # Euler drifts off visibly from some starts: those are refused, and promise nothing
