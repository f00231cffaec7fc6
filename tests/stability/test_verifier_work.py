"""How much work a verification is, counted in boxes: it may not take many for each cell of the proof."""

import pytest

import holdfast as hf
from tests.stability.proofs import PROOFS

QUICK = [
    "pendulum, Heun", "pendulum, Euler", "pendulum, nanometres", "pendulum, stiff gains", "spherical pendulum",
    "slider-crank", "rolling coin", "sleigh", "arm on a circle", "unequal masses", "ellipse",
    "torus",
]  # fmt: skip
A_CELL, FIRST = 16, 16  # boxes for each cell of the proof, near the truth as it is, and for finding out where to cut


def proved(name):
    return hf.certify(hf.derive(hf.loads(PROOFS[name])), effort=20)


def affordable(certificate):
    proofs = [block.proof for block in certificate.blocks if block.proof is not None]
    assert proofs
    return sum(FIRST + A_CELL * proof.cells for proof in proofs)


@pytest.mark.parametrize("name", QUICK)
def test_a_verification_needs_few_boxes_for_each_cell_of_the_proof(name):
    certificate = proved(name)
    found = hf.verify(certificate, cells=affordable(certificate))
    assert found, found.findings


@pytest.mark.prove
@pytest.mark.parametrize("name", [name for name in PROOFS if name not in QUICK])
def test_longer_verifications_need_few_boxes_for_each_cell_of_the_proof(name):
    test_a_verification_needs_few_boxes_for_each_cell_of_the_proof(name)


def test_a_verification_that_runs_out_says_so_with_its_budget():
    certificate = proved("spherical pendulum")
    few = hf.verify(certificate, cells=5)
    assert not few
    assert "not verified within the budget: 5 cells" in few.findings[0]
    short = hf.verify(certificate, seconds=1e-3)
    assert not short
    assert "not verified within the budget: 0.001 s" in short.findings[0]
