"""Edges at which a claim would be wrong: branches that are not decided, and inverses that doubles do not know."""

from fractions import Fraction

import flint
import numpy as np
import pytest

from holdfast.errors import Undecided
from holdfast.graph.arithmetics.balls import _decided
from holdfast.stability.verifier.steps.cells import _reach


@pytest.mark.parametrize(("ball", "told"), [((1, 0), "yes"), ((-1, 0), "no"), ((1, 0.5), "yes"), ((-1, 0.5), "no")])
def test_a_branch_is_decided_by_the_whole_ball(ball, told):
    assert _decided(flint.arb(*ball), "yes", "no") == told


@pytest.mark.parametrize("ball", [(0, 0), (0, 1), (1, 1), (-1, 1), (float("nan"), 0)])
def test_a_ball_that_touches_zero_decides_nothing(ball):
    with pytest.raises(Undecided):
        _decided(flint.arb(*ball), "yes", "no")


def exact_reach(matrix):
    """|B⁻¹|·1 of a matrix of two rows, exactly; none where there is no inverse."""
    (a, b), (c, d) = ((Fraction(float(x)) for x in row) for row in matrix)
    whole = a * d - b * c
    return None if not whole else [(abs(d) + abs(b)) / abs(whole), (abs(c) + abs(a)) / abs(whole)]


@pytest.mark.parametrize("power", np.arange(1, 17, 0.25).tolist())
def test_new_directions_reach_as_far_as_they_must(power):
    """However near to each other two directions are: what doubles make of their inverse is widened, or given up."""
    rng = np.random.default_rng(int(100 * power))
    for _ in range(20):
        first = rng.normal(size=2)
        other = first * rng.uniform(0.5, 2) + 10.0**-power * rng.normal(size=2)
        matrix = np.array([first, other]).T
        wanted = exact_reach(matrix)
        try:
            found = _reach(matrix[None])[0]
        except np.linalg.LinAlgError:
            continue
        assert wanted is None or all(x >= float(y) * (1 - 1e-15) for x, y in zip(found, wanted, strict=True))
        assert power > 12 or np.isfinite(found).all()


def test_an_inverse_that_lacks_half_of_itself_is_given_up():
    """Neumann's series: what it lacks widens the reach by less than it is, or nothing is known of it."""
    rng, known = np.random.default_rng(3), []
    for _ in range(400):
        first = rng.normal(size=3)
        near = first * rng.uniform(0.5, 2) + 10.0 ** -rng.uniform(13, 16) * rng.normal(size=3)
        matrix = np.array([first, near, rng.normal(size=3)]).T
        try:
            sums = np.abs(np.linalg.inv(matrix)).sum(axis=1)
            found = _reach(matrix[None])[0]
        except np.linalg.LinAlgError:
            continue
        known.append(bool(np.isfinite(found).all()))
        assert not known[-1] or found.max() < 2 * sums.max()
    assert 50 < sum(known) < 350
