"""The classical inverse problem, L with D = 0, on systems whose answer is known."""

import pytest
import sympy as sp

import holdfast as hf

x, y = hf.coordinates("x y")
t, v, w, a, b = hf.time, x.rate, y.rate, x.acceleration, y.acceleration
c, k, m = hf.parameters("c k m", positive=True)


def euler(L, q):
    return hf.rate(sp.diff(L, q.rate)) - sp.diff(L, q)


@pytest.mark.parametrize(
    ("f", "q"),
    [
        ([a + 2 * v + x], (x,)),  # damped oscillator
        ([m * a + c * v + k * x], (x,)),
        ([a + 2 * v / t + x**5], (x,)),  # Emden and Fowler
        ([a + c * v**2], (x,)),  # drag
        ([a + 2 * v + x, b - 2 * w + y], (x, y)),  # Bateman's pair
        ([a + y, b - x], (x, y)),  # circulatory forces
        ([a + 2 * v + y, b + 2 * w + x], (x, y)),
        ([a + w, b - v], (x, y)),  # gyroscopic: as they stand
    ],
)
def test_a_lagrangian_that_is_known_to_exist_is_found_and_gives_the_equations(f, q):
    found = hf.lagrangian(f, coordinates=q).classical
    assert found
    F = sp.Matrix([sp.solve(e, u.acceleration)[0] for e, u in zip(f, q, strict=True)])
    rest = sp.Matrix([u.acceleration for u in q]) - F
    wanted = sp.Matrix(f) if found.multiplier is None else found.multiplier * rest
    for e, u in zip(wanted, q, strict=True):
        assert sp.simplify(euler(found.L, u) - e) == 0
    if found.multiplier is not None:
        assert sp.simplify(found.multiplier.det()) != 0


@pytest.mark.parametrize(
    ("f", "q"),
    [([a + w, b + y], (x, y)), ([a - x**2 - y**2, b - x], (x, y))],  # Douglas 1941: none exists
)
def test_where_none_exists_none_is_found_and_the_basis_is_named(f, q):
    form = hf.lagrangian(f, coordinates=q)
    assert not form.classical
    assert form.wide
    text = form.summary()
    assert text.index("none found") < text.index("with a D")
    assert "in the span of 1, t, x, y" in text
    assert form.to_dict()["classical"]["L"] is None


def test_equations_as_they_stand_need_no_factor():
    found = hf.lagrangian([m * a + k * x], coordinates=(x,)).classical
    assert found.multiplier is None
    assert sp.expand(found.L - (m * v**2 - k * x**2) / 2) == 0


def test_a_weak_answer_says_what_is_weak_in_it():
    text = hf.lagrangian([a + y, b - x], coordinates=(x, y)).summary()
    assert "even one that hides forces of position (wide)" in text
    assert "g = [[1, 0], [0, -1]]" in text


def test_noise_is_named_and_kept_out_of_L_and_D():
    def made(**options):
        system = hf.System(
            coordinates=(x,), kinetic=m * v**2 / 2, potential=k * x**2 / 2, parameters={m: 2, k: 3}, **options
        )
        return hf.lagrangian(hf.derive(hf.Problem(system)))

    calm, shaken = made(), made(noise={"wind": {x: c * x}})
    assert calm.notes == ()
    assert shaken.L == calm.L
    assert "without it" in shaken.notes[0]
    assert "x: (c*x)*xi_wind" in shaken.notes[0]
    assert "note: the problem states noise" in shaken.summary()
