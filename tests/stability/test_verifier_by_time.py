"""Affine blocks that are proved in a tube, re-checked by time alone: no state changes what a step adds to them."""

from dataclasses import replace

import pytest
import sympy as sp

import holdfast as hf
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.reading.file import claims
from holdfast.stability.verifier.steps.cover import Budget
from holdfast.stability.verifier.tube.check import fitting
from holdfast.stability.verifier.tube.cover import Failing, TubeCover

BUDGET = 400  # cells, of which the tube has some fifty; cut by its states, the tool took 5035


def arm(sway):
    """Three links carry a tool round a circle, where they are bent far; its angle a + b + c sways by so much."""
    links = a, b, c = hf.coordinates("a b c")
    lengths, masses, angle, x, y, kinetic, potential = (5, 4, 3), (20, 15, 10), 0, 0, 0, 0, 0
    for q, length, mass in zip(links, lengths, masses, strict=True):
        angle += q
        across, up = (sp.Rational(length, 20) * f(angle) for f in (sp.cos, sp.sin))
        speeds = hf.rate(x + across), hf.rate(y + up)
        kinetic += sp.Rational(mass, 20) * (
            sum(v**2 for v in speeds) + sp.Rational(length**2, 1200) * hf.rate(angle) ** 2
        )
        potential += mass * (y + up)
        x, y = x + 2 * across, y + 2 * up
    t = hf.time
    path = {"x": x - sp.Rational(3, 5) - sp.cos(t) / 5, "y": y - sp.Rational(3, 10) - sp.sin(t) / 5}
    program = hf.Program(
        holonomic={**path, "tool": angle - sp.pi / 6 - sway * sp.sin(3 * t)},
        controls={"first": {a: 1}, "second": {b: 1}, "third": {c: 1}},
        law=hf.critically_damped(8),
    )
    run = hf.Run(scheme="rk4", step=0.005, begin=3.5, duration=0.4, start_policy="project")
    system = hf.System(coordinates=links, kinetic=kinetic, potential=potential)
    start = {a: -0.32, b: 2.83, c: -1.98}
    return hf.certify(hf.derive(hf.Problem(system, program, start=start, run=run)), tube=True, effort=2)


def test_an_affine_block_takes_no_more_cells_than_the_others():
    certificate = arm(0)
    assert [block.label for block in certificate.blocks] == [hf.Label.tube] * 3
    assert hf.verify(certificate, cells=BUDGET).holds


def test_less_than_its_program_adds_by_time_is_not_confirmed():
    read = reading(claims(arm(1e-4).to_dict()))
    honest = [fitting(read, block) for block in read.claims.blocks]

    def over_time(share):
        tool = replace(honest[2], proof=replace(honest[2].proof, coefficient=share * honest[2].proof.coefficient))
        return TubeCover(read, read.claims.tubes[0], [*honest[:2], tool], Budget(60.0, 10_000), None).over_time()

    assert over_time(1.0) > 0
    with pytest.raises(Failing, match="does not hold: the defect is larger than stated") as failing:
        over_time(0.5)
    assert failing.value.place == 2
