"""Does a pendulum whose bob leaks swing differently?  No, if drops fall off at rest beside it; yes, if held back."""

import sympy as sp

import holdfast as hf

theta = hf.coordinates("theta")
m0, leak, l, g = hf.parameters("m0 leak l g")
mass = m0 - leak * hf.time


def pendulum(relative):
    """The mass that leaves is at rest relative to the bob, or at rest in space."""
    bob = hf.MovingMass(
        position=(l * sp.sin(theta), -l * sp.cos(theta)),
        mass=mass,
        force=(0, -mass * g),
        streams=hf.Stream(velocity=(0, 0), relative=relative),
    )
    system = hf.System(coordinates=(theta,), masses={"bob": bob}, parameters={m0: 1, leak: 0.05, l: 1, g: 9.81})
    return hf.Problem(system, start={theta: 0.5}, title="Leaking pendulum")


problem = pendulum(relative=True)
quiet, held = (
    hf.simulate(hf.derive(pendulum(relative)), hf.DOP853, tolerance=1e-12, duration=10, at=[10])["theta"][0]
    for relative in (True, False)
)
print(f"after 10 s: {quiet:.6f} rad with drops that fall off, {held:.6f} rad with drops stopped in space")

assert abs(quiet - 0.4178618298) < 1e-9 and abs(held - 0.5158490786) < 1e-9
