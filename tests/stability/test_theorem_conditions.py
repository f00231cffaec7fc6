"""Each hypothesis of Theorems 1 to 5, A and B at its very border, on records of round binary numbers."""

import math

import numpy as np
import pytest

import holdfast as hf
from holdfast.stability.theory.lyapunov import LyapunovFunction
from holdfast.stability.theory.theorems import (
    Record,
    largest_step_b,
    theorem_1,
    theorem_2,
    theorem_3,
    theorem_4,
    theorem_5,
    theorem_a,
    theorem_b,
)

STEPS = 8
VALUES = 0.25 ** np.arange(STEPS + 1.0)
LITTLE = 1e-9


def record(**changed):
    """V = 4⁻ˢ at a step of 1/4 with p = 1: V + τV̇ = 0.75 V, nothing remains, and ‖z₀‖ = 1."""
    given = {
        "step": 0.25, "values": VALUES, "derivatives": -VALUES, "remainders": np.zeros(STEPS), "norms": np.sqrt(VALUES),
        "l1": 1.0, "l2": 1.0, "rate": 1.0, "l_prime": 1.0, "positions": 1,
    }  # fmt: skip
    return Record(**(given | changed))


def remaining(size):
    """One remainder of this size, and smaller ones."""
    found = np.linspace(0, size / 2, STEPS)
    found[3] = size
    return found


def assert_no(answer, words):
    assert answer.word == "no"
    assert words in answer.why


# ── Theorem A ─────────────────────────────────────────────────────────────────────────────────────


def test_theorem_a_holds_up_to_its_borders():
    answer = theorem_a(record(), 1.0)
    assert answer
    assert answer.numbers["alpha"] == 0.75
    assert (answer.numbers["level"], answer.numbers["start"], answer.numbers["slack"]) == (1.0, 1.0, 0.25)
    exact = theorem_a(record(remainders=remaining(0.25)), 1.0)
    assert exact
    assert exact.numbers["slack"] == 0.0
    assert exact.numbers["least_tolerance"] == 1.0


@pytest.mark.parametrize("alpha", [1.0, -LITTLE, 1.5])
def test_theorem_a_needs_alpha_below_one(alpha):
    assert_no(theorem_a(record(), 1.0, alpha), f"α = {alpha:.4g} is not in [0, 1)")


def test_theorem_a_needs_a_function_that_falls():
    assert_no(theorem_a(record(rate=0.0), 1.0), "α = 1 is not in [0, 1)")
    assert theorem_a(record(rate=4.0, derivatives=-4 * VALUES), 1.0).numbers["alpha"] == 0.0
    assert theorem_a(record(rate=4.0, derivatives=-4 * VALUES), 1.0)
    assert_no(theorem_a(record(rate=5.0, derivatives=-5 * VALUES), 1.0), "not in [0, 1)")


def test_theorem_a_needs_the_start_within_its_level():
    assert_no(theorem_a(record(), 1 - LITTLE), "V(0) = 1 > l₁ε² = 0.999999999")
    assert theorem_a(record(l1=0.25, l2=1.0), 2.0)
    assert_no(theorem_a(record(l1=0.25, l2=1.0), 2 - LITTLE), "V(0)")


def test_theorem_a_counts_the_steps_that_do_not_fall():
    slower = -VALUES.copy()
    slower[[1, 4, 6]] *= 1 - 1e-6
    assert_no(theorem_a(record(derivatives=slower), 1.0, 0.75), "V + τV̇ ≤ αV fails at 3 steps")
    last = -VALUES.copy()
    last[-1] = 0.0
    assert theorem_a(record(derivatives=last), 1.0, 0.75)  # nothing is asked of the row after the last step
    rounded = -VALUES * (1 - 1e-15)
    assert theorem_a(record(derivatives=rounded), 1.0, 0.75)


def test_theorem_a_needs_small_remainders():
    assert_no(theorem_a(record(remainders=remaining(0.25 + LITTLE)), 1.0), "Ṽ reaches 0.250000001 > 0.25")
    least = theorem_a(record(remainders=remaining(1.0)), 1.0).numbers["least_tolerance"]
    assert least == 2.0  # Ṽ = 1 ≤ (1 − 3/4)·4
    assert theorem_a(record(remainders=remaining(1.0)), 2.0)
    assert theorem_a(record(l1=0.25), 2.0).numbers["least_tolerance"] == 2.0


# ── Theorem 3 ─────────────────────────────────────────────────────────────────────────────────────


def test_theorem_3_takes_the_least_alpha_that_serves():
    answer = theorem_3(record(remainders=remaining(0.125)), 1.0)
    assert answer
    assert (answer.numbers["alpha"], answer.numbers["needed"], answer.numbers["tau_p"]) == (0.125, 0.125, 0.25)
    assert theorem_3(record(remainders=-remaining(0.125)), 1.0).numbers["alpha"] == 0.0
    assert theorem_3(record(remainders=remaining(0.125), l1=0.5), 2.0).numbers["needed"] == 0.25


def test_theorem_3_at_its_borders():
    held = record(remainders=remaining(0.125))
    assert theorem_3(held, 1.0, 0.125)
    assert theorem_3(record(), 1.0, 0.0)
    assert_no(theorem_3(held, 1.0, 0.125 - LITTLE), "Ṽ reaches 0.125 > α l₁‖z₀‖² = 0.124999999")
    assert_no(theorem_3(held, 1.0, 0.25), "0 ≤ α < τp < 1 fails: α = 0.25, τp = 0.25")
    assert theorem_3(held, 1.0, 0.25 - LITTLE)
    assert_no(theorem_3(record(), 1.0, -LITTLE), "0 ≤ α < τp < 1 fails")
    assert_no(theorem_3(record(rate=4.0), 1.0), "τp = 1")
    assert_no(theorem_3(record(rate=0.0), 1.0), "V does not fall: p = 0")
    assert_no(theorem_3(record(), 1 - LITTLE), "the run starts at ‖z₀‖ = 1 > ε√(l₁/l₂) = 0.999999999")


def test_theorem_3_shrinks_its_start_by_the_shape_of_v():
    wide = record(l1=0.25, l2=4.0)
    assert theorem_3(wide, 4.0)
    assert theorem_3(wide, 4.0).numbers["start_limit"] == 1.0
    assert_no(theorem_3(wide, 4 - LITTLE), "the run starts at")


def test_theorem_3_from_rest_needs_that_nothing_remains():
    rest = record(norms=np.zeros(STEPS + 1))
    assert theorem_3(rest, 1.0)
    assert_no(theorem_3(record(norms=np.zeros(STEPS + 1), remainders=remaining(LITTLE)), 1.0), "α = inf")


# ── the ball ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("theorem", [theorem_1, theorem_4])
def test_theorems_1_and_4_at_their_borders(theorem):
    held = record(positions=0)
    assert theorem(held, 1.0, 0.75)
    assert theorem(held, 1.0, 0.75).numbers["allowed"] == 0.25
    assert theorem(record(positions=0, remainders=remaining(0.25)), 1.0, 0.75)
    assert_no(theorem(record(positions=0, remainders=remaining(0.26)), 1.0, 0.75), "Ṽ reaches 0.26 > 0.25")
    assert_no(theorem(held, 1.0, 0.74), f"V + τV̇ ≤ α l₁‖z‖² fails at {STEPS} of {STEPS} steps")
    assert_no(theorem(held, 1 - LITTLE, 0.75), "the run starts at ‖z₀‖ = 1 > ε")
    answer = theorem(record(), 1.0, 0.74)
    assert answer.word == "cannot hold"
    assert f"(here V + τV̇ ≤ α l₁‖z‖² fails at {STEPS} of {STEPS} steps)" in answer.why
    assert theorem(record(l1=0.5, positions=0), 1.0, 0.75).word == "no"


@pytest.mark.parametrize(("l2", "holds"), [(0.75, True), (0.75 + LITTLE, False), (0.25, False), (0.25 + LITTLE, True)])
def test_theorem_2_bounds_its_step_from_both_sides(l2, holds):
    """τl' = 1/4 < l₂ ≤ α + τl' = 3/4."""
    answer = theorem_2(record(positions=0, l2=l2), 1.0, 0.5)
    assert bool(answer) == holds
    assert answer.numbers["least_step"] == pytest.approx(l2 - 0.5)
    if not holds:
        assert f"that is {l2 - 0.5:.4g} ≤ τ < {l2:.4g}, fails at 1 of 1 steps" in answer.why
        one = theorem_2(record(l2=l2), 1.0, 0.5)
        assert one.word == "cannot hold"
        assert one.why.endswith("fails)")


def test_theorem_2_weighs_alpha_by_the_shape_of_v():
    """α l₁ = 1 with l₁ = 2: l₂ may be as large as 1 + 1/4."""
    tall = {"positions": 0, "l1": 2.0, "norms": np.sqrt(VALUES) / 2}
    assert theorem_2(record(l2=1.25, **tall), 1.0, 0.5)
    assert not theorem_2(record(l2=1.25 + LITTLE, **tall), 1.0, 0.5)


def test_a_function_that_does_not_fall_sets_no_least_step():
    assert theorem_2(record(l_prime=0.0), 1.0).numbers["least_step"] == math.inf
    assert theorem_2(record(l_prime=2.0, l2=4.0), 1.0).numbers["least_step"] == 1.75


def test_theorem_5_looks_at_the_largest_eigenvalue_of_all():
    """Three velocity constraints: 2g̃ = G + τ(GH + HᵀG), with G = 2 diag(1, 2, 3)/3 and H = −diag(1, 2, 0)."""
    weights, rates = np.array([1.0, 2.0, 3.0]) / 3, np.array([1.0, 2.0, 0.5])
    function = LyapunovFunction(2 * np.diag(weights), -np.diag(rates))
    answer = theorem_5(record(positions=0, function=function), 1.0, 0.5)
    assert answer.numbers["largest"] == pytest.approx(max(weights * (1 - 2 * 0.25 * rates)))
    held = record(positions=0, function=LyapunovFunction(np.diag([2.0]), np.diag([-1.0])))
    assert theorem_5(held, 1.0, 0.5)  # 1 − 2τ = 1/2
    assert not theorem_5(held, 1.0, 0.5 - LITTLE)
    assert theorem_5(record(positions=0, function=function, l2=2.0), 1.0, 0.5).numbers["least_step"] == 0.75
    assert_no(theorem_5(record(), 1.0), "constant coefficients")


@pytest.mark.parametrize(("tolerance", "alpha"), [(0.0, 0.5), (-1.0, 0.5), (1.0, 0.0), (1.0, 1.0)])
def test_a_ball_theorem_refuses_numbers_that_mean_nothing(tolerance, alpha):
    with pytest.raises(hf.BadRequest, match="ε = "):
        theorem_1(record(), tolerance, alpha)


# ── Theorem B ─────────────────────────────────────────────────────────────────────────────────────

LINE = LyapunovFunction(np.array([[2.0]]), np.array([[-2.0]]))  # w' = −2w, V = w²


def test_theorem_b_at_its_borders():
    """τ = 1/4: ρ = 1/2, so that τ²D/(1 − ρ) = D/8."""
    answer = theorem_b(LINE, 0.25, 1.0, 8.0, start=np.array([1.0]))
    assert answer
    assert (answer.numbers["rho"], answer.numbers["radius"], answer.numbers["allowed"]) == (0.5, 1.0, 1.0)
    assert_no(theorem_b(LINE, 0.25, 1.0, 8 + LITTLE), "τ²D/(1−ρ) = 1.0000000001 > √l₁ ε = 1")
    assert_no(theorem_b(LINE, 0.25, 1.0, 1.0, start=np.array([1 + LITTLE])), "it starts at ‖z₀‖_V = 1.000000001 >")
    still = theorem_b(LINE, 1.0, 1.0, 0.0)
    assert_no(still, "the step does not contract: ρ = 1")
    assert still.numbers["radius"] == math.inf
    assert theorem_b(LINE, 0.25, 1.0, 1.0, label="proved").label == "proved"


def test_the_largest_step_of_theorem_b_is_where_it_stops_to_hold():
    """τ² D = (1 − ρ) ε with ρ = |1 − 2τ|: τ = 2/D up to 1/2."""
    assert largest_step_b(LINE, 1.0, lambda tau: 8.0) == pytest.approx(0.25)
    assert largest_step_b(LINE, 1.0, lambda tau: 0.0) == pytest.approx(LINE.rate / LINE.kappa)
    assert largest_step_b(LINE, 1.0, lambda tau: 1e9) == 0.0
