"""What a law does to deviations: exact places of roots, decoupled blocks, and verdicts with their reasons."""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.stability.linear.definiteness import Definiteness
from holdfast.stability.linear.hurwitz import place_of_roots
from holdfast.stability.linear.shape import deviation_matrix
from holdfast.stability.linear.spectrum import BlockStability, spectrum

x, phi = hf.coordinates("x phi")
q1, q2, q3 = hf.coordinates("q1 q2 q3")


def two_points(law):
    """Two free points, x held at 0 and phi at 0, by their own controls."""
    system = hf.System(coordinates=(x, phi), kinetic=(x.rate**2 + phi.rate**2) / 2)
    program = hf.Program(holonomic={"home": x, "upright": phi}, controls={"F": {x: 1}, "M": {phi: 1}}, law=law)
    return hf.derive(hf.Problem(system, program, start={x: 0.1, phi: 0.2}))


@cache
def vector_e():
    """The example of docs/theory, section 1.4: excess energies that depend on the state, m = 1, r = 2."""
    a = [[1 + q1**2, q2 / 5], [q2 / 5, 2 + q3 / 2]]
    c = [[3 + q3.rate**2, sp.Rational(1, 2)], [sp.Rational(1, 2), 4 + q1 * q1.rate]]
    k = [[5 + q2**2 + sp.Rational(3, 10) * hf.time]]
    m = sp.Matrix([[1.5 + sp.cos(q2) / 5, 0.3, 0], [0.3, 1 + q1**2, 0], [0, 0, 2]])
    v = sp.Matrix([q1.rate, q2.rate, q3.rate])
    t = hf.time
    system = hf.System(
        coordinates=(q1, q2, q3),
        kinetic=(v.T * m * v)[0] / 2,
        potential=9.81 * q3 + 2 * q1**2 + t * q2 / 10,
        dissipation=0.15 * (v.T * v)[0],
        forces={q1: sp.sin(t) / 5, q2: -q2.rate / 10, q3: 0.05},
    )
    program = hf.Program(
        holonomic={"surface": q1**2 + q2**2 - q3 / 2 - sp.Rational(1, 2) - sp.sin(t) / 10},
        nonholonomic={"speed": q1.rate**2 + q2.rate**2 - q3.rate**2 + t * q1 / 10},
        law=hf.ExcessEnergies(inertia=a, damping=c, stiffness=k),
    )
    start = {q1: 0.7, q2: -0.4, q3: 0.3, q1.rate: 0.2, q2.rate: 0.5, q3.rate: -0.6}
    return hf.derive(hf.Problem(system, program, start=start, run=hf.Run(begin=0.25)))


# ---------------------------------------------------------------- the place of roots, exactly


@pytest.mark.parametrize(
    ("matrix", "right", "axis", "semisimple"),
    [
        ([[0, 1], [-1, -0.3]], False, False, True),
        ([[0, 1], [-1, -1e-300]], False, False, True),  # any damping, however small
        ([[0, 1], [-1, 0]], False, True, True),
        ([[0, 1], [0, 0]], False, True, False),
        ([[0, 1], [0, -3]], False, True, True),
        ([[0, 1], [1, -5]], True, False, True),
        (np.zeros((2, 2)), False, True, True),
        (np.kron([[0, 1], [-1, 0]], np.eye(2)), False, True, True),  # equal frequencies, yet a basis of vectors
    ],
)
def test_roots_are_placed_without_a_tolerance(matrix, right, axis, semisimple):
    place = place_of_roots(np.array(matrix, dtype=float))
    assert (place.right, place.axis, place.semisimple) == (right, axis, semisimple)
    assert place.hurwitz == (not right and not axis)


def test_exact_places_agree_with_eigenvalues_of_random_matrices():
    random = np.random.default_rng(1)
    for _ in range(300):
        size = random.integers(1, 6)
        matrix = random.integers(-3, 4, size=(size, size)).astype(float)
        real = np.linalg.eigvals(matrix).real
        place = place_of_roots(matrix)
        assert place.right == (real.max() > 1e-4)
        assert place.axis == (np.abs(real) < 1e-4).any()


def test_large_matrices_are_placed_by_eigenvalues_and_say_so():
    small, large = np.kron(np.eye(3), [[0, 1], [-1, -1]]), np.kron(np.eye(30), [[0, 1], [-1, -1]])
    assert place_of_roots(small).exact
    assert place_of_roots(small).hurwitz
    assert not place_of_roots(large).exact
    assert place_of_roots(large).hurwitz


def test_definite_excess_energies_attract_also_with_nonholonomic_constraints():
    """a, c, k constant, symmetric, positive definite make H Hurwitz for any m ≤ r: the energy and LaSalle."""
    random = np.random.default_rng(5)

    def definite(size):
        root = random.normal(size=(size, size))
        return root @ root.T + 1e-2 * np.eye(size)

    for _ in range(200):
        m = int(random.integers(0, 4))
        r = m + int(random.integers(0 if m else 1, 3))
        a, c = definite(r), definite(r)
        spring = np.vstack([definite(m), np.zeros((r - m, m))]) if m else np.zeros((r, 0))
        lower = np.hstack([-np.linalg.solve(a, spring), -np.linalg.solve(a, c)])
        assert place_of_roots(np.vstack([np.hstack([np.zeros((m, m)), np.eye(m, r)]), lower])).hurwitz


def test_the_matrix_of_the_whole_state_has_no_spurious_zero_roots():
    """det(μ² − μB − K̂) has r − m zero roots too many when constraints are nonholonomic; H has m + r roots."""
    H = np.array([[0.0, 1, 0], [-2, -3, 0.5], [0.1, 0.2, -1]])
    assert spectrum(H).hurwitz
    mu = sp.Symbol("mu")
    printed = sp.Matrix([[mu**2 + 3 * mu + 2, -mu / 2], [-sp.Rational(1, 10) - mu / 5, mu**2 + mu]]).det()
    assert sp.rem(sp.expand(printed), mu, mu) == 0
    assert len(spectrum(H).eigenvalues) == 3


# ---------------------------------------------------------------- verdicts of equations


def test_cart_and_rod_has_two_blocks_with_the_roots_of_the_paper():
    law = hf.SpringDamper(stiffness={"home": 1, "upright": 0.05}, damping={"home": 0.3, "upright": 0.1})
    found = spectrum(two_points(law))
    assert found.names == ("y_home", "y_upright", "w_home", "w_upright")
    assert [block.constraints for block in found.blocks] == [("home",), ("upright",)]
    assert_allclose(found.block_of("home").eigenvalues, [-0.15 - 0.9886859967j, -0.15 + 0.9886859967j], atol=1e-10)
    assert_allclose(found.block_of("upright").eigenvalues, [-0.05 - 0.2179449472j, -0.05 + 0.2179449472j], atol=1e-10)
    assert found.constant
    assert found.linear
    assert found.hurwitz
    assert found.verdict is BlockStability.asymptotically_stable


def test_a_coupled_law_is_one_block():
    law = hf.SpringDamper(stiffness={"home": 1, "upright": 1, ("home", "upright"): 0.2}, damping=1)
    assert [block.constraints for block in spectrum(two_points(law)).blocks] == [("home", "upright")]


@pytest.mark.parametrize(
    ("law", "verdict", "word"),
    [
        (hf.SpringDamper(stiffness=1, damping=0.3), BlockStability.asymptotically_stable, "Re λ ≤ -0.15"),
        (hf.SpringDamper(stiffness=1, damping=0), BlockStability.stable, "semisimple"),
        (hf.Unstabilised(), BlockStability.neutral, "not attracted"),
        (hf.SpringDamper(stiffness=-1, damping=1), BlockStability.unstable, "> 0"),
        (hf.SpringDamper(stiffness=2 + sp.sin(x), damping=3), BlockStability.unknown, "prove nothing"),
        (hf.SpringDamper(stiffness=2 + sp.sin(hf.time), damping=3), BlockStability.unknown, "one P"),
    ],
)
def test_each_verdict_has_its_reason(law, verdict, word):
    block = spectrum(two_points(law)).block_of("home")
    assert block.verdict is verdict
    assert word in block.reason
    assert block.constant == (verdict is not BlockStability.unknown)


def test_nonlinear_laws_are_judged_locally_and_only_where_the_linear_part_decides():
    y, z = hf.deviations("home upright")
    attracted = hf.GeneralLaw({"home": -y - y.rate - y**3, "upright": -z - z.rate + y.rate**2})
    found = spectrum(two_points(attracted))
    assert [block.constraints for block in found.blocks] == [("home", "upright")]  # coupled by a nonlinear term
    assert found.blocks[0].locally
    assert "locally asymptotically stable" in str(found)
    undecided = spectrum(two_points(hf.GeneralLaw({"home": -(y**3), "upright": -z - z.rate})))
    assert undecided.block_of("home").verdict is BlockStability.unknown


def test_parameters_law_and_matrices_may_be_given():
    equations = two_points(hf.SpringDamper(stiffness=1, damping=0.3))
    changed = spectrum(equations, parameters={"law.damping.home": -0.3})
    assert changed.block_of("home").verdict is BlockStability.unstable
    assert changed.block_of("upright").verdict is BlockStability.asymptotically_stable
    assert spectrum(equations, law=hf.Unstabilised()).verdict is BlockStability.neutral
    alone = spectrum(deviation_matrix(1, 0.3))
    assert alone.names == ("y_1", "w_1")
    assert alone.hurwitz


def test_definiteness_of_excess_energies_is_told_at_a_state():
    found = spectrum(vector_e())
    assert not found.constant
    assert found.verdict is BlockStability.unknown  # frozen eigenvalues prove nothing
    assert_allclose(found.matrix[1:, 0], [-3.520456038285, -0.130993713052], atol=1e-11)
    assert_allclose(found.definiteness["inertia"].matrix, [[1.49, -0.08], [-0.08, 2.15]], atol=1e-14)
    assert_allclose(found.definiteness["damping"].matrix, [[3.36, 0.5], [0.5, 4.14]], atol=1e-14)
    assert_allclose(found.definiteness["stiffness"].matrix, [[5.235]], atol=1e-14)
    assert all(item.positive and (item.minors > 0).all() for item in found.definiteness.values())
    indefinite = spectrum(two_points(hf.ExcessEnergies(inertia=1, damping=1, stiffness={"home": 1, "upright": -1})))
    assert not indefinite.definiteness["stiffness"].positive
    assert indefinite.block_of("upright").verdict is BlockStability.unstable


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ((2.0, 3.0), "positive definite"),
        ((2.0, 0.0), "positive semidefinite"),
        ((0.0, 0.0), "positive semidefinite"),
        ((2.0, -1e-14), "positive semidefinite"),  # within rounding
        ((2.0, -1e-6), "indefinite or negative"),
        ((-2.0, -3.0), "indefinite or negative"),
    ],
)
def test_the_sign_of_a_matrix_is_named(values, word):
    found = Definiteness(np.diag(values))
    assert found.word == word
    assert found.positive == (word == "positive definite")
    assert str(found).startswith(f"{word}, eigenvalues ")
