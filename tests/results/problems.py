"""Small problems that the tests of results share."""

from functools import cache

import sympy as sp

import holdfast as hf

x, z = hf.coordinates("x z")
m, g, l = hf.parameters("m g l")


@cache
def pendulum(**law):
    """A bob on a rod of length l, held by its reaction; starts level with the pivot."""
    system = hf.System(
        coordinates=(x, z),
        kinetic=m * (x.rate**2 + z.rate**2) / 2,
        potential=m * g * z,
        parameters={m: 1, g: 9.81, l: 1},
    )
    program = hf.Program(holonomic={"rod": (x**2 + z**2 - l**2) / 2}, law=hf.SpringDamper(stiffness=25, damping=10))
    return hf.derive(hf.Problem(system, program, start={x: l}))


@cache
def falling():
    """A point thrown upwards: x(t) = 1 + 2t − 5t², nothing held."""
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, forces={x: -10})
    return hf.derive(hf.Problem(system, start={x: 1, x.rate: 2}))


@cache
def oscillator():
    """x(t) = cos t, nothing held."""
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=x**2 / 2)
    return hf.derive(hf.Problem(system, start={x: 1}))


@cache
def burning():
    """A first-order state beside the coordinate: a mass that burns away at the rate b."""
    s = hf.states("s")
    b = hf.parameters("b")
    system = hf.System(
        coordinates=(x,),
        kinetic=x.rate**2 / 2,
        forces={x: -x},
        parameters={b: 0.5},
        states={s: -b * s},
    )
    return hf.derive(hf.Problem(system, start={x: 1, s: 2}))


@cache
def steered():
    """A point on a rail by reaction, on its timetable by a control; starts off its timetable."""
    height = hf.parameters("height")
    system = hf.System(
        coordinates=(x, z),
        kinetic=(x.rate**2 + z.rate**2) / 2,
        potential=sp.Rational(981, 100) * z,
        parameters={height: 0.5},
    )
    program = hf.Program(
        holonomic={"rail": z - height * sp.sin(x), "timetable": x - hf.time},
        controls={"F": {x: 1}},
        reactions=("rail",),
        law=hf.SpringDamper(stiffness=25, damping=10),
    )
    return hf.derive(hf.Problem(system, program, start={x: 0.1}))
