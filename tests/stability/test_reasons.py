"""A reason names the cause: what of a law, or of H, stands in the way of a proof."""

import pytest
import sympy as sp

import holdfast as hf

x, y = hf.coordinates("x y")
rod, up = hf.deviations("rod up")
PLANE = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)


def certified(law, effort=1.5):
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=law)
    equations = hf.derive(hf.Problem(PLANE, program, start={x: 0.6, y: -0.8}))
    (block,) = hf.certify(equations, hf.RK4, step=0.01, duration=0.5, effort=effort).blocks
    return block.reason


@pytest.mark.parametrize(
    ("law", "reason"),
    [
        (hf.GeneralLaw({"rod": -4 * rod - 3 * rod.rate - sp.Abs(rod)}), "the law branches on the deviations"),
        (hf.GeneralLaw({"rod": -4 * rod - 3 * rod.rate - sp.sign(rod.rate) * rod**2}), "the law branches on the"),
    ],
)
def test_what_is_not_proved_says_why(law, reason):
    assert f"No proof: {reason}" in certified(law)


@pytest.mark.parametrize(
    "law",
    [
        hf.GeneralLaw({"rod": -4 * rod - 3 * rod.rate - rod**3}),
        hf.Quadratic(a0=4, a1=3, a2=1),
        hf.SpringDamper(stiffness=4 + x**2, damping=3 + y.rate**2),
        hf.SpringDamper(stiffness=4 + sp.sin(hf.time), damping=3),
    ],
)
def test_a_law_that_varies_is_no_reason(law):
    assert "One step contracts by" in certified(law)


def test_a_constant_H_is_not_called_frozen():
    assert "with H as it is on the program" in certified(hf.Quadratic(a0=4, a1=3, a2=1), 1e-9)
    assert "with H frozen at each step" in certified(hf.SpringDamper(stiffness=4 + x**2, damping=3), 1e-9)


def test_a_linear_row_beside_a_bent_one_is_judged_as_linear():
    law = hf.GeneralLaw({"rod": -4 * rod - 3 * rod.rate - rod**3, "up": -2 * up - 3 * up.rate})
    program = hf.Program(holonomic={"rod": x - 1, "up": y}, controls={"F": {x: 1}, "G": {y: 1}}, law=law)
    equations = hf.derive(hf.Problem(PLANE, program, start={x: 1}))
    blocks = {block.constraints: block for block in hf.spectrum(equations).blocks}
    assert blocks[("rod",)].locally
    assert "nonlinear terms" in blocks[("rod",)].reason
    assert not blocks[("up",)].locally
    assert "nonlinear" not in blocks[("up",)].reason
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=0.5, effort=1)
    assert certificate["rod"].label is hf.Label.proved
    assert certificate["up"].label is hf.Label.proved
    assert hf.verify(certificate)


def test_a_linear_row_that_a_bent_one_pulls_is_not():
    law = hf.GeneralLaw({"rod": -4 * rod - 3 * rod.rate - rod**3, "up": -2 * up - 3 * up.rate + rod})
    program = hf.Program(holonomic={"rod": x - 1, "up": y}, controls={"F": {x: 1}, "G": {y: 1}}, law=law)
    (block,) = hf.spectrum(hf.derive(hf.Problem(PLANE, program, start={x: 1}))).blocks
    assert block.locally
