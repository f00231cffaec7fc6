"""``holdfast run`` and ``holdfast report``: one page, a short verdict, and an exit code that means it."""

import json

import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main
from tests.page.pages import EXAMPLES

FREE = next(file for file in EXAMPLES if file.stem == "rlc")
HELD = next(file for file in EXAMPLES if file.stem == "piston_line")


@pytest.fixture
def typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words, **further):
        return CliRunner().invoke(main, [str(word) for word in words], **further)

    return call


def short(text):
    return text.replace("duration = 2", "duration = 0.2")


def test_run_does_everything_and_says_where_the_page_is(typed, tmp_path):
    (tmp_path / "line.toml").write_text(short(HELD.read_text("utf-8")), encoding="utf-8")
    result = typed("run", "line.toml", "--effort", "0.5")
    assert result.exit_code == 0, result.output
    assert "Proved:" in result.output
    assert "page: line.html" in result.output
    html = (tmp_path / "line.html").read_text("utf-8")
    assert "holdfast run line.toml --effort 0.5" in html
    assert 'id="certificate"' in html


def test_run_gives_data_and_reads_standard_input(typed, tmp_path):
    result = typed("run", "-", "-o", "free.html", "--json", input=FREE.read_text("utf-8"))
    assert result.exit_code == 0, result.output
    data = json.loads(result.output)
    assert (data["schema"], data["good"], data["page"]) == (1, True, "free.html")
    assert (tmp_path / "free.html").exists()


def test_a_negative_verdict_exits_1_and_stands_in_the_page(typed, tmp_path):
    text = short(HELD.read_text("utf-8")).replace("stiffness = 25", "stiffness = -25")
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    result = typed("run", "bad.toml", "--effort", "0.1")
    assert result.exit_code == 1, result.output
    assert "Failed: The law drives join away." in result.output
    assert "verdict failed" in (tmp_path / "bad.html").read_text("utf-8")


def test_a_bad_file_exits_2_with_a_caret_and_no_page(typed, tmp_path):
    (tmp_path / "bad.toml").write_text(HELD.read_text("utf-8").replace("c*x**2/2", "c*x^2/2"), encoding="utf-8")
    result = typed("run", "bad.toml")
    assert result.exit_code == 2
    assert "^" in result.output
    assert "not a power" in result.output
    assert not (tmp_path / "bad.html").exists()


@pytest.mark.parametrize("place", ["page.pdf", "nowhere/page.html"])
def test_a_place_that_cannot_be_is_refused_before_any_work(typed, place):
    result = typed("run", FREE, "-o", place)
    assert result.exit_code == 2
    assert "-o" in result.output


def test_an_interruption_keeps_what_was_computed(typed, tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("holdfast.page.study.certify", interrupted)
    (tmp_path / "line.toml").write_text(short(HELD.read_text("utf-8")), encoding="utf-8")
    result = typed("run", "line.toml", "--json")
    assert result.exit_code == 130
    assert json.loads(result.output)["interrupted"] is True
    assert "Interrupted before the certificate" in (tmp_path / "line.html").read_text("utf-8")


def test_an_adaptive_scheme_has_a_page_with_a_certificate_of_its_own_steps(typed, tmp_path):
    text = HELD.read_text("utf-8").replace('scheme = "rk4"\nstep = 0.001', 'scheme = "dop853"\ntolerance = 1e-8')
    (tmp_path / "line.toml").write_text(text, encoding="utf-8")
    result = typed("run", "line.toml")
    assert result.exit_code == 0, result.output
    assert "along the steps that this run chose" in (tmp_path / "line.html").read_text("utf-8")


def test_report_takes_a_saved_run(typed, tmp_path):
    run = hf.simulate(hf.derive(hf.load(FREE)))
    run.save(tmp_path / "run.npz")
    result = typed("report", "run.npz", "-o", "saved.html")
    assert result.exit_code == 0, result.output
    assert "holdfast report run.npz" in (tmp_path / "saved.html").read_text("utf-8")
    assert typed("report", "missing.npz").exit_code == 2


def test_gains_still_to_be_chosen_are_chosen(typed, tmp_path):
    text = short(HELD.read_text("utf-8")).replace(
        'kind = "spring-damper"\nstiffness = 25\ndamping = 10', 'kind = "tuned"'
    )
    assert "tuned" in text
    (tmp_path / "line.toml").write_text(text, encoding="utf-8")
    result = typed("run", "line.toml", "--effort", "0.1", "--json")
    assert result.exit_code in (0, 1), result.output
    data = json.loads(result.output)
    assert data["tuning"]["runs"] > 10
    assert 'id="tuning"' in (tmp_path / "line.html").read_text("utf-8")
