"""No proved bound gives way to native steps whose deviations are computed by an independent derivation."""

import numpy as np
import pytest

import holdfast as hf
from tests.stability.attacks import ALL, attacked

CLOSE = 1e-12  # of the state: a native step and the independent one, both of well-conditioned systems

SCHEMES = ((hf.RK4, 0.01), (hf.Euler, 0.002), (hf.Heun, 0.005))


def assert_withstood(found):
    assert all(attack.worst <= 1 for attack in found), found
    assert all(attack.apart <= CLOSE for attack in found), found
    return sum(attack.tries for attack in found)


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
def test_proofs_in_any_units_withstand_attack(make):
    shake = np.random.default_rng(3)
    certificate, found = attacked(make(shake, 4), hf.RK4, 0.01, 0.5, count=300, effort=1.5, shake=shake)
    assert certificate.label is hf.Label.proved
    assert assert_withstood(found) > 100


@pytest.mark.prove
def test_a_hundred_thousand_attacks_find_no_false_proof():
    shake, tries = np.random.default_rng(20261115), 0
    for number in range(60):
        make, (scheme, step) = ALL[number % len(ALL)], SCHEMES[number // len(ALL) % len(SCHEMES)]
        mechanism = make(shake, float(shake.choice([0.3, 3.0, 6.0])))
        _, found = attacked(mechanism, scheme, step, 0.5, count=2500, effort=2.0, shake=shake)
        tries += assert_withstood(found)
    assert tries >= 100_000
