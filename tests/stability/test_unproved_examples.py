"""Shipped examples of which something is not proved, at all or with little effort: each says why, by name."""

from importlib import resources

import pytest

import holdfast as hf

EXAMPLES = resources.files("holdfast") / "examples"
WHY = {
    "slide_with_friction": "forces use lambda_slide, which no region is covered with",
    "weak_motor": "the law holds only within the limits of tau",
}


@pytest.mark.parametrize("name", WHY)
def test_what_is_not_proved_says_why(name):
    certificate = hf.certify(hf.derive(hf.load(str(EXAMPLES / f"{name}.toml"))), effort=0.1)
    for block in certificate.blocks:
        assert not block.label.is_proof
        assert WHY[name] in block.reason


def test_a_sampled_controller_is_refused_by_name():
    with pytest.raises(hf.BadRequest, match="controls are held between samples"):
        hf.certify(hf.derive(hf.load(str(EXAMPLES / "wrong_payload.toml"))))
