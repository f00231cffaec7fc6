"""What attacks on regions from outside found, kept from coming back."""

import sympy as sp

import holdfast as hf


def test_a_start_that_vanishes_by_cancelling_fractions_is_verified():
    """1.39·(100/139) is 1 on the graph and 1 ± 2e-49 in somebody else's balls: what is stated leaves room for both."""
    x, y = hf.coordinates("x y")
    length = sp.Rational(139, 100)
    system = hf.System(coordinates=(x, y), kinetic=(1 + x**2 / length**2) * x.rate**2 / 2 + y.rate**2 / 2, potential=y)
    program = hf.Program(holonomic={"wave": y - length * sp.sin(x / length)}, law=hf.critically_damped(5))
    problem = hf.Problem(system, program, start={x: 0.0, y: 0.0, x.rate: 2.0})
    certificate = hf.certify(hf.derive(problem), hf.RK4, step=0.01, duration=1.0)
    assert certificate["wave"].label.name == "proved"
    found = hf.verify(certificate)
    assert found.holds, found.findings
