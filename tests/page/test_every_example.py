"""`holdfast run` on each shipped problem: the exit code that the file expects, and one small page."""

from importlib import resources

import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main

FOLDER = resources.files("holdfast") / "examples"
EXAMPLES = sorted(entry.name for entry in FOLDER.iterdir() if entry.name.endswith(".toml"))


SLOW = {"bead_on_hoop.toml", "crane.toml", "four_bar.toml", "quadrotor.toml", "skate.toml", "ur5.toml"}  # to re-check
NAMED = [pytest.param(name, marks=[pytest.mark.prove] * (name in SLOW)) for name in EXAMPLES]


@pytest.mark.parametrize("name", NAMED)
def test_each_shipped_problem_runs_to_its_page(name, tmp_path):
    file = str(FOLDER / name)
    target = tmp_path / "page.html"
    result = CliRunner().invoke(main, ["run", file, "-q", "--effort", "0.2", "-o", str(target)])
    assert result.exit_code == (1 if hf.load(file).expect == "negative" else 0), result.output
    assert 50_000 < target.stat().st_size < 1_000_000


def test_a_page_says_what_noise_does_to_the_deviations(tmp_path):
    study = hf.study(hf.load(str(FOLDER / "gusts.toml")))
    study.report().save(tmp_path / "gusts.html")
    page = (tmp_path / "gusts.html").read_text("utf-8")
    assert "the motion without it" in page
    assert "stable in the mean square, with a floor" in page
