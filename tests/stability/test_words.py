"""What certificates and tunings say, word for word, for each kind of thing they may have to say."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import holdfast as hf
from holdfast.common.rounded import written_range
from holdfast.stability.certificate.certificate import (
    BlockCertificate,
    Certificate,
    Label,
    Proof,
    certificate_from,
    established,
    made_here,
)
from holdfast.stability.tuning.tuning import GainMap, MarkedGains, MarkedPenalty, Numbers, Tuning
from tests.stability.held import pendulum

# ── certificates ──────────────────────────────────────────────────────────────────────────────────

PROOF = Proof(
    factor=((1.0, 0.0), (0.0, 1.0)), gamma=0.5, tube=1.0, coefficient=2.0, rounding=1e-15, radius=0.25,
    region=(("t", 0.0, 2.0), ("x", -1.0, 1.0)), limits=(), cells=12,
)  # fmt: skip
PROVED = BlockCertificate(
    ("rod",), Label.proved, "It contracts.", names=("y_rod", "w_rod"), matrix=((0.0, 1.0), (-25.0, -10.0)), gamma=0.5,
    defect=0.125, epsilon=0.25, bounds=(0.25, 0.5), observed=(0.1, 0.2), stayed=True, proof=PROOF,
)  # fmt: skip
CHECKED = BlockCertificate(
    ("plane",), Label.checked, "It was seen.", names=("y_plane",), matrix=((0.0,),), bounds=(0.125,), observed=(0.1,),
    stayed=False,
)  # fmt: skip
NEUTRAL = BlockCertificate(("line",), Label.neutral, "Nothing attracts it.")


def certificate(*blocks, **changed):
    given = {"problem": "schema = 1", "title": "Rod", "scheme": "rk4", "step": 0.01, "begin": 0.0, "duration": 2.0}
    return Certificate(blocks=blocks, **(given | changed))


def test_a_certificate_is_told_block_by_block():
    assert certificate(PROVED, CHECKED, NEUTRAL).summary().splitlines() == [
        "Rod: rk4, step 0.01",
        "  rod: proved while in Omega (|y_rod| <= 0.25, |w_rod| <= 0.5)",
        "    It contracts.",
        "    Proved: from any start in Omega that deviates no more than this one in the norm of the proof, every "
        "step of rk4 with step 0.01 keeps |y_rod| <= 0.25, |w_rod| <= 0.5 while the state stays in Omega.",
        "    Omega: t in [0, 2], |x| <= 1",
        "    checked: this run stayed in Omega",
        f"  plane: {Label.checked.value} (|y_plane| <= 0.125)",
        "    It was seen.",
        "    checked: this run LEFT Omega",
        f"  line: {Label.neutral.value}",
        "    Nothing attracts it.",
    ]
    assert str(certificate(PROVED)) == certificate(PROVED).summary()


def test_a_certificate_of_a_start_that_deviates_says_so():
    text = certificate(replace(PROVED, settles=True, start_size=0.75)).summary()
    assert (
        "rod: proved while in Omega (once settled |y_rod| <= 0.25, |w_rod| <= 0.5; |y_rod| <= 0.751, |w_rod| <= 0.751 "
        "from the start on)" in text
    )
    assert (
        "Proved: from any start in Omega that deviates no more than this one in the norm of the proof, rk4 with step "
        "0.01 keeps |y_rod| <= 0.751, |w_rod| <= 0.751 from the start on, and, as that deviation dies away by 0.5 a "
        "step, |y_rod| <= 0.25, |w_rod| <= 0.5 once settled, while the state stays in Omega." in text
    )
    later = certificate(replace(PROVED, settles=True, start_size=0.75, from_step=40)).summary()
    assert "(this run: from step 40 on; the steps before it are only checked)" in later
    assert "from the start on" not in later


def test_a_certificate_of_nothing_says_so():
    assert certificate(title="", step=None).summary() == f"Certificate: rk4\n  {Label.nothing.value}\n"
    assert BlockCertificate(("a",), Label.refused, "").promise("rk4", 0.1) == ""


def test_a_certificate_is_as_good_as_its_weakest_block():
    assert certificate(PROVED).label is Label.proved
    assert certificate(PROVED, CHECKED).label is Label.checked
    assert certificate(PROVED, NEUTRAL).label is Label.neutral
    assert certificate(PROVED, NEUTRAL).attracted is Label.proved
    assert certificate(NEUTRAL).attracted is Label.neutral
    assert certificate().label is Label.nothing
    assert certificate(PROVED, CHECKED)["plane"] is CHECKED
    with pytest.raises(hf.BadRequest, match="no constraint 'rope'") as refused:
        certificate(PROVED, CHECKED)["rope"]
    assert refused.value.fix == "known: rod, plane"


def test_a_certificate_is_its_data():
    data = certificate(PROVED, CHECKED, parameters={"g": 9.81}, start=(1.0, 0.0), overrides=("g",)).to_dict()
    assert json.loads(json.dumps(data)) == data
    assert "cells" not in data["blocks"][0]["proof"]
    assert "observed" not in data["blocks"][0]
    assert data["blocks"][1]["observed"] == [0.1]
    back = certificate_from(data)
    assert back.to_dict()["blocks"][0] == data["blocks"][0]
    assert (back.parameters, back.start, back.overrides) == ({"g": 9.81}, (1.0, 0.0), ("g",))
    assert back.blocks[0].proof == replace(PROOF, cells=0)
    assert back.blocks[0].reason == (
        "One step contracts by 0.5 and adds at most 0.125 (1e-15 of it rounding) for every state of the region."
    )
    again = certificate_from(back.to_dict())
    assert back.blocks[1].reason == again.blocks[1].reason
    assert back.blocks[1].reason.endswith("It was seen.")
    assert back.blocks[1].reason != "It was seen."


def test_what_is_not_finite_is_no_number_of_a_file():
    wild = replace(CHECKED, bounds=(math.inf,), observed=(math.nan,), slack=-math.inf, gamma=math.nan, defect=1.0)
    entry = certificate(wild).to_dict()["blocks"][0]
    assert (entry["bounds"], entry["observed"], entry["slack"], entry["gamma"]) == ([], [], None, None)
    assert entry["defect"] == 1.0


def test_only_what_was_made_here_is_known_as_such():
    made = established(certificate(PROVED))
    assert made_here(made)
    assert not made_here(replace(made))
    assert not made_here(certificate(PROVED))
    object.__setattr__(made, "step", 0.02)
    assert not made_here(made)


# ── tunings ───────────────────────────────────────────────────────────────────────────────────────


def numbers(deviation, state=0.5, energy=0.25, evaluations=100):
    return Numbers(deviation, state, energy, evaluations)


def tuning(**changed):
    law = hf.SpringDamper(stiffness=25, damping=10)
    marks = (MarkedGains("alpha = beta = 5", 5.0, 1.0, numbers(2e-3), True),)
    given = {
        "equations": hf.derive(pendulum(law=law)), "law": law, "scheme": "rk4", "step": 0.01, "tolerance": None,
        "duration": 2.0, "rate": 5.0, "ratio": 1.0, "numbers": numbers(1e-3), "unstabilised": numbers(4e-3, state=0.25),
        "own": None, "textbook": marks, "tightest": None,
        "map": GainMap(np.ones(1), np.ones(1), np.ones((1, 1)), np.ones((1, 1), dtype=bool)),
        "scales": {"rod": 2.0}, "limits": {"state_error": 1.0, "energy_error": 0.5}, "runs": 7,
    }  # fmt: skip
    return Tuning(**(given | changed))


def lines(found):
    return found.summary().splitlines()


def test_a_tuning_is_told_with_what_it_gains_and_costs():
    text = lines(tuning(notes=("one", "two"), criterion="chosen by drift"))
    assert text[0] == (
        "Gains for rk4, step 0.01, over 2: rate 5, damping ratio 1; 4 times less deviation than without, at 2 times "
        "its state error."
    )
    assert text[1].startswith("  rod: ")
    assert text[2:5] == [
        "  chosen here       deviation 0.001, state error 0.5, energy error 0.25",
        "  no gains          deviation 0.004, state error 0.25, energy error 0.25",
        "  alpha = beta = 5  deviation 0.002, state error 0.5, energy error 0.25",
    ]
    assert text[5:] == ["  chosen by drift", "  deviations are scaled: rod / 2", "  one", "  two"]
    assert (
        repr(tuning())
        == "<Tuning rk4: rate 5, damping ratio 1; 4 times less deviation than without, at 2 times its state error.>"
    )


def test_a_law_that_does_worse_is_told_as_such():
    worse = tuning(numbers=numbers(8e-3), unstabilised=numbers(4e-3, state=0.0))
    assert "2 times the deviation without." in lines(worse)[0]
    assert "state error." not in lines(worse)[0]
    assert worse.gain == 0.5
    assert tuning(numbers=numbers(0.0)).gain == math.inf
    assert tuning(numbers=numbers(0.0), unstabilised=numbers(0.0)).gain == 1.0


def test_a_pair_for_each_constraint_is_told_as_such():
    assert "one pair for each constraint; 4 times less" in lines(tuning(rate=None, ratio=None))[0]


@pytest.mark.parametrize("changed", [{"feedback": True}, {"numbers": numbers(1e-15), "unstabilised": numbers(2e-15)}])
def test_gains_that_only_bring_a_start_back_are_told_as_such(changed):
    assert "rate 5; the program is held to rounding with any gains" in lines(tuning(**changed))[0]


def test_no_gains_are_told_with_their_reason():
    none = tuning(law=hf.Unstabilised(), rate=None, ratio=None, numbers=numbers(4e-3), own=numbers(5e-3))
    assert "none; no law that was tried lowers the deviation enough to be worth it." in lines(none)[0]
    assert list(none.rows) == ["chosen here: no gains", "the problem's own law", "alpha = beta = 5"]
    assert not none.stabilised
    assert none.to_dict()["gains"] == {}


def test_what_the_tightest_law_would_cost_is_told():
    tight = MarkedGains("least deviation, whatever the errors", 40.0, 1.0, numbers(1e-4, state=2.0, energy=5.0), False)
    found = tuning(tightest=tight)
    said = "the law with the least deviation, 10 times less, has 8 times the state error and 20 times the energy error"
    assert f"  {said} without gains." in lines(found)
    assert list(found.rows)[-1] == "least deviation, whatever the errors: rate 40"
    fine = tuning(tightest=replace(tight, allowed=True))
    assert "least deviation" not in fine.summary()
    assert said not in tuning(tightest=replace(tight, numbers=numbers(1e-3, state=2.0))).summary()
    assert said not in tuning(tightest=tight, feedback=True).summary()
    one = tuning(tightest=replace(tight, numbers=numbers(1e-4, state=2.0, energy=0.5)))
    assert "10 times less, has 8 times the state error without gains." in one.summary()


def test_the_penalty_is_told_as_a_rival():
    rival = MarkedPenalty("k", 30.0, {"a": 900.0, "b": 900.0, "c": 450.0}, numbers(3e-3))
    assert rival.name == "penalty k = 900, 450"
    found = tuning(penalty=rival)
    assert list(found.rows)[-1] == rival.name
    assert any(line.startswith("  penalty: nothing is held") for line in lines(found))
    assert found.to_dict()["penalty"]["rate"] == 30.0
    assert tuning().to_dict()["penalty"] is None


def test_a_run_that_diverged_has_one_word():
    assert str(numbers(math.inf)) == "diverges"
    assert numbers(math.inf).diverged
    assert not numbers(1.0).diverged


def test_a_tuning_is_its_data():
    data = tuning(own=numbers(5e-3), limits={"state_error": math.inf}).to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["gains"] == {"law.stiffness.rod": 25.0, "law.damping.rod": 10.0}
    assert data["limits"] == {"state_error": None}
    assert (data["runs"], data["stabilised"], data["schema"]) == (7, True, 1)
    assert data["own_law"]["deviation"] == 5e-3
    assert data["textbook"]["alpha = beta = 5"]["deviation"] == 2e-3
    assert data["dialects"]["rod"]["spring and damper"] == {"b": 10.0, "k": 25.0}


def test_a_tolerance_stands_where_there_is_no_step():
    assert lines(tuning(step=None, tolerance=1e-7))[0].startswith("Gains for rk4, tolerance 1e-07, over 2: ")


def test_a_promise_names_the_very_step_that_it_is_about():
    """0.0123457 is another step, of which nothing is proved."""
    step = 1 / 81
    certificate = hf.certify(hf.derive(pendulum()), hf.RK4, step=step, duration=10 * step, effort=0.1, tube=True)
    (block,) = certificate.blocks
    assert f"rk4, step {step!r}\n" in certificate.summary()
    assert f"every run of rk4 with step {step!r} that starts" in block.promise("rk4", step)
    assert "with step 0.01 that" in block.promise("rk4", 0.01)


def test_a_range_of_one_number_is_written_as_that_number():
    assert written_range(1 / 81, 1 / 81) == f"[{1 / 81!r}, {1 / 81!r}]"
    assert written_range(0.5, 0.5) == "[0.5, 0.5]"
