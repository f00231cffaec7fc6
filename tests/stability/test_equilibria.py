"""States of rest and their stability: closed forms, and NumPy's roots of linearisations written by hand."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

R = sp.Rational


def pendulum(**more):
    """A mass on a rod, in the plane: hanging and upright."""
    x, z = hf.coordinates("x z")
    g, length = hf.parameters("g l")
    system = hf.System(
        coordinates=(x, z), kinetic=(x.rate**2 + z.rate**2) / 2, potential=g * z, parameters={g: R("9.81"), length: 1}
    )
    rod = hf.Program(holonomic={"rod": (x**2 + z**2 - length**2) / 2}, law=hf.critically_damped(5))
    return hf.Problem(system, rod, start={x: length}, **more)


def double_pendulum(damping):
    """Unit masses and lengths; a from the vertical, b between the links."""
    a, b = hf.coordinates("a b")
    X, Z = sp.sin(a), -sp.cos(a)
    U, W = X + sp.sin(a + b), Z - sp.cos(a + b)
    kinetic = (hf.rate(X) ** 2 + hf.rate(Z) ** 2 + hf.rate(U) ** 2 + hf.rate(W) ** 2) / 2
    loss = R(damping) * (a.rate**2 + b.rate**2) / 2
    return hf.Problem(hf.System(coordinates=(a, b), kinetic=kinetic, potential=9 * (Z + W), dissipation=loss))


def linearised(a, b, damping):
    """Roots of M q'' + C q' + K q = 0 of the double pendulum at rest, by hand."""
    c = np.cos(b)
    M = np.array([[3 + 2 * c, 1 + c], [1 + c, 1]])
    outer = 9 * np.cos(a + b)
    K = np.array([[18 * np.cos(a) + outer, outer], [outer, outer]])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -damping * np.linalg.inv(M)]])
    return np.linalg.eigvals(A)


def sorted_roots(roots):
    return sorted(roots, key=lambda root: (round(root.real, 6), root.imag))


@pytest.mark.parametrize(("length", "pace"), [(1, np.sqrt(9.81)), (4, np.sqrt(9.81 / 4))])
def test_a_pendulum_hangs_stable_and_stands_unstable(length, pace):
    hanging, upright = hf.equilibria(pendulum(), parameters={"l": length})
    assert_allclose([hanging["x"], hanging["z"]], [0, -length], atol=1e-9)
    assert_allclose([upright["x"], upright["z"]], [0, length], atol=1e-9)
    assert (hanging.word, upright.word) == ("stable", "unstable")
    assert hanging.stable
    assert not upright.stable
    assert_allclose(hanging.roots, [1j * pace, -1j * pace], atol=1e-8)
    assert_allclose(upright.roots, [pace, -pace], atol=1e-8)
    assert "z = -" in str(hanging)
    assert "stable (root ±" in str(hanging)


@pytest.mark.parametrize("damping", [0, R(1, 5)])
def test_all_rests_of_a_double_pendulum_have_the_roots_of_their_linearisation(damping):
    found = hf.equilibria(hf.derive(double_pendulum(damping)))
    places = {(round(abs(one["a"]) / np.pi), round(abs(one["b"]) / np.pi)): one for one in found}
    assert set(places) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert len(found) == 4
    for (a, b), one in places.items():
        expected = linearised(a * np.pi, b * np.pi, float(damping))
        assert_allclose(sorted_roots(one.roots), sorted_roots(expected), atol=1e-6)
        best = "asymptotically stable" if damping else "stable"
        assert one.word == (best if (a, b) == (0, 0) else "unstable")


def test_rests_along_a_line_are_one_family():
    """A cart that may stand anywhere, with a pendulum below or above."""
    x, phi = hf.coordinates("x phi")
    X, Z = x + sp.sin(phi), -sp.cos(phi)
    kinetic = x.rate**2 + (hf.rate(X) ** 2 + hf.rate(Z) ** 2) / 2
    found = hf.equilibria(hf.Problem(hf.System(coordinates=(x, phi), kinetic=kinetic, potential=9 * Z)))
    assert [one.word for one in found] == ["drifts", "unstable"]
    assert [one.family for one in found] == [("x",), ("x",)]
    assert "x may stand elsewhere" in str(found[0])


def test_the_law_counts_where_controls_hold():
    """A cart brought home by its motor: nothing is free, and whether it rests is the law's doing."""

    def cart(law):
        x = hf.coordinates("x")
        program = hf.Program(holonomic={"home": x - 1}, controls={"F": {x: 1}}, law=law)
        return hf.Problem(hf.System(coordinates=x, kinetic=x.rate**2 / 2), program)

    words = [
        hf.equilibria(cart(law))[0].word
        for law in (
            hf.SpringDamper(stiffness=4, damping=1),
            hf.SpringDamper(stiffness=4, damping=0),
            hf.SpringDamper(stiffness=-4, damping=1),
        )
    ]
    assert words == ["asymptotically stable", "neutral", "unstable"]


def test_energy_without_a_minimum_is_not_called_stable():
    """x³ has a rest at 0 that is no minimum; gyroscopic forces may hold a maximum to first order only."""
    x, y = hf.coordinates("x y")
    kinetic = (x.rate**2 + y.rate**2) / 2 + 3 * (x * y.rate - y * x.rate) / 2
    (top,) = hf.equilibria(hf.Problem(hf.System(coordinates=(x, y), kinetic=kinetic, potential=-(x**2 + y**2) / 2)))
    assert_allclose(np.abs(top.roots.real), 0, atol=1e-6)
    assert top.word == "neutral"
    assert not top.stable


def test_what_changes_with_time_has_no_rest():
    x = hf.coordinates("x")
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, forces={x: sp.cos(hf.time)})
    with pytest.raises(hf.BadRequest, match="change with time"):
        hf.equilibria(hf.Problem(system))
    with pytest.raises(hf.BadRequest, match="takes a Problem"):
        hf.equilibria("pendulum.toml")


def test_a_falling_mass_has_no_rest_and_the_same_seed_finds_the_same():
    z = hf.coordinates("z")
    assert hf.equilibria(hf.Problem(hf.System(coordinates=z, kinetic=z.rate**2 / 2, potential=z))) == ()
    first, again = ([one.to_dict() for one in hf.equilibria(pendulum(), seed=2)] for _ in range(2))
    assert first == again
