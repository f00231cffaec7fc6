"""Mechanisms of many states, proved in a tube: chains in Cartesian coordinates, and Andrews' squeezing mechanism."""

import pytest

import holdfast as hf
from tests.reference import benchmark
from tests.stability.tube_truth import most_attained

pytestmark = pytest.mark.prove


def cartesian_chain(links, step, duration):
    """Point masses on rods of length 1, let go from a slanted line."""
    names = [f"{axis}{k}" for k in range(links) for axis in "xy"]
    places = dict(zip(names, hf.coordinates(" ".join(names)), strict=True))
    system = hf.System(
        coordinates=tuple(places.values()),
        kinetic=sum(q.rate**2 for q in places.values()) / 2,
        potential=9.81 * sum(places[f"y{k}"] for k in range(links)),
    )
    held, start = {}, {}
    for k in range(links):
        x, y = places[f"x{k}"], places[f"y{k}"]
        before = (places[f"x{k - 1}"], places[f"y{k - 1}"]) if k else (0, 0)
        held[f"rod{k}"] = ((x - before[0]) ** 2 + (y - before[1]) ** 2 - 1) / 2
        start |= {x: 0.6 * (k + 1), y: -0.8 * (k + 1)}
    program = hf.Program(holonomic=held, law=hf.critically_damped(20))
    return hf.derive(hf.Problem(system, program, start=start, run=hf.Run(scheme="rk4", step=step, duration=duration)))


@pytest.mark.parametrize(("links", "step", "width"), [(5, 1e-3, 1e-4), (10, 1e-3, 1e-5)])
def test_a_cartesian_chain_is_proved_in_a_tube(links, step, width):
    equations = cartesian_chain(links, step, 1.0)
    certificate = hf.certify(equations, tube=True)
    assert {block.label for block in certificate.blocks} == {hf.Label.tube}
    assert all(block.proof.tube.width >= width for block in certificate.blocks)
    assert most_attained(equations, certificate, 4) > 0.2


def test_andrews_mechanism_is_proved_in_a_tube():
    case = benchmark.load("andrews")
    equations, start = hf.derive(case.problem), case.state(next(iter(case.data["states"])))
    certificate = hf.certify(
        equations, hf.RK4, step=2e-5, duration=0.01, start=start, law=hf.critically_damped(500), tube=True
    )
    assert {block.label for block in certificate.blocks} == {hf.Label.tube}
