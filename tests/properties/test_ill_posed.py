"""Whatever has no right answer is refused or flagged: never a success, never a NaN."""

import numpy as np
import pytest

from tests.properties.ill_posed import KINDS, answer

WRONG = ("success", "nan")


@pytest.mark.parametrize("kind", KINDS)
def test_a_problem_without_an_answer_is_refused_or_flagged(kind):
    assert answer(KINDS[kind](np.random.default_rng(1))) not in WRONG


@pytest.mark.prove
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_of_them(kind):
    found = [answer(KINDS[kind](np.random.default_rng(seed))) for seed in range(2, 2 + -(-1000 // len(KINDS)))]
    assert not set(found) & set(WRONG), found
