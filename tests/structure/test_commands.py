"""`holdfast lagrangian` and `holdfast family` say the same as the calls."""

import json
from pathlib import Path

from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main

EXAMPLES = Path(hf.__file__).parent / "examples"


def typed(*words):
    return CliRunner().invoke(main, [*words], catch_exceptions=False)


def test_a_circuit_has_L_and_D():
    done = typed("lagrangian", str(EXAMPLES / "rlc.toml"))
    assert done.exit_code == 0
    assert "terms linear in the rates (strict)      yes" in done.output
    assert "f minus the right side is 0 (symbolic)" in done.output
    assert "K5 holds: forces at rest have no curl" in done.output
    data = json.loads(typed("lagrangian", str(EXAMPLES / "rlc.toml"), "--json").output)
    assert data["dissipative"]["condition"] == "R >= 0"
    assert typed("lagrangian", str(EXAMPLES / "rlc.toml"), "--latex").output.startswith("L = ")


def test_a_held_pendulum_has_none_and_the_exit_code_says_so():
    done = typed("lagrangian", str(EXAMPLES / "pendulum.toml"))
    assert done.exit_code == 1
    lines = done.output.splitlines()
    assert "no: the curl of the forces in the rates does not fit the mass matrix (K2 fails)" in done.output
    assert "the classical question" in lines[0]
    assert "none found: as the equations stand K2 fails" in lines[1]
    assert done.output.count("-2*m*z/(x**2 + z**2)") == 1
    assert "       at (x, z, x) by -2*m*z/(x**2 + z**2)" in lines
    assert "    K1 holds: M is symmetric, and so are its derivatives by the rates" in lines


def test_a_long_defect_is_told_by_its_size_and_a_value():
    done = typed("lagrangian", str(EXAMPLES / "bead_on_hoop.toml"))
    assert done.exit_code == 1
    assert max(map(len, done.output.splitlines())) < 160
    assert "operations, " in done.output
    data = json.loads(typed("lagrangian", str(EXAMPLES / "bead_on_hoop.toml"), "--json").output)
    assert max(len(defect["value"]) for defect in data["defects"]) > 200


def test_equations_too_large_to_be_written_are_judged_by_their_values():
    done = typed("lagrangian", str(EXAMPLES / "four_bar.toml"))
    assert done.exit_code == 1
    assert "K2 fails" in done.output
    assert "K1 not seen to fail" in done.output


def test_the_family_of_a_problem_needs_neither_energies_nor_controls():
    done = typed("family", str(EXAMPLES / "bertrand.toml"))
    assert done.exit_code == 0
    assert "No tangential freedom" in done.output
    data = json.loads(typed("family", str(EXAMPLES / "pendulum.toml"), "--json").output)
    assert data["family"]["freedom"] == 1
    assert data["family"]["rank"] == 1
    assert typed("family", str(EXAMPLES / "pendulum.toml"), "--latex").output


def test_a_missing_file_is_misuse():
    assert typed("lagrangian", "nowhere.toml").exit_code == 2
