"""The exhaust as formulas: u = v + P/m', β = u/v, |u − v|, against the tabulated rocket and its numbers along a run."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from tests.equations.mechanisms import example

y, z = hf.coordinates("y z")
burn = hf.parameters("burn")


def test_the_rockets_exhaust_is_the_papers():
    found = hf.exhaust_formulas(example("rocket_ascent"))
    P2, P3 = hf.controls("P2 P3")
    assert found.velocity[1:] == (y.rate - P2 / burn, z.rate - P3 / burn)
    assert [sp.simplify(b - w) for b, w in zip(found.ratio[1:], (1 - P2 / (burn * y.rate), 1 - P3 / (burn * z.rate)),
                                               strict=True)] == [0, 0]  # fmt: skip
    assert sp.simplify(found.speed**2 - (P2**2 + P3**2) / burn**2) == 0
    assert set(found.controls) == {"P2", "P3"}
    assert r"\beta_y = 1 - \frac{P_{2}}{\mathrm{burn} \dot{y}}" in found.latex()


def test_written_out_they_are_the_numbers_along_a_run():
    equations = example("rocket_ascent")
    found = hf.exhaust_formulas(equations)
    run = hf.simulate(equations, hf.RK4, step=0.1, duration=1, start_policy="keep")
    along = hf.exhaust(run)
    assert_allclose(along.velocity[0, 1:], [236.02258396, -1604.17311866], rtol=0, atol=6e-9)
    shown = [found.written(u) for u in found.velocity] + [found.written(found.speed)]
    for row in (0, 7):
        numbers = {name: float(run[name][row]) for name in run.names} | equations.parameter_values
        numbers["t"] = float(run.times[row])
        values = [float(f.subs({symbol: numbers[symbol.name] for symbol in f.free_symbols})) for f in shown]
        assert_allclose(values, [*along.velocity[row], along.speed[row]], rtol=1e-12)


def test_a_mass_that_burns_by_its_thrust_has_formulas():
    P = hf.controls("P")
    m = hf.states("m")
    rocket = hf.MovingMass(position=(0, z), mass=m, force=(0, -9.81 * m), thrust=(0, "P"))
    system = hf.System(coordinates=z, masses={"rocket": rocket}, states={m: -abs(P) / 2000})
    climb = hf.Program(holonomic={"climb": z - 2 * hf.time**2}, controls={"P": {z: 1}}, law=hf.critically_damped(2))
    equations = hf.derive(hf.Problem(system, climb, start={m: 100}))
    found = hf.exhaust_formulas(equations)
    assert sp.simplify(found.speed - 2000) == 0
    assert found.ratio[0] is None  # it cannot move that way
    run = hf.simulate(equations, hf.RK4, step=0.1, duration=2)
    assert np.nanmax(abs(hf.exhaust(run).speed - 2000)) < 1e-9


@pytest.mark.parametrize("mass", [None, "rocket"])
def test_what_has_no_exhaust_is_refused_by_name(mass):
    with pytest.raises(hf.BadRequest, match="exhaust is wanted" if mass is None else "'rocket' is not a mass"):
        hf.exhaust_formulas(example("pendulum"), mass)
    steady = hf.MovingMass(position=(0, z), mass=5, thrust=(0, "P"))
    climb = hf.Program(holonomic={"climb": z}, controls={"P": {z: 1}}, law=hf.critically_damped(2))
    equations = hf.derive(hf.Problem(hf.System(coordinates=z, masses={"rocket": steady}), climb))
    with pytest.raises(hf.BadRequest, match="does not change"):
        hf.exhaust_formulas(equations, mass)
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        hf.exhaust_formulas(3)
