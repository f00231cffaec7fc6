"""The page of a run: complete, closed to the outside, honest at its top, and inert whatever a problem is called."""

import base64
import hashlib
import re
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.stability.certificate.certificate import established, made_here
from tests.page.pages import EXAMPLES, attribute_names, made, page, parsed, section_names

ALWAYS = {"warnings", "motion", "problem", "equations", "certificate", "energy", "phase", "provenance"}
HELD = {"forces", "law", "deviation"}
HOSTILE = "</title></script><img src=x onerror=alert(1)> \"'& $x^{$ \\frac ]]> --> <!-- \u202e"


def name(file):
    return file.stem


def pendulum(title="", law=None, points=True, **further):
    x, z = hf.coordinates("x z")
    mass, gravity = hf.parameters("mass gravity")
    system = hf.System(
        coordinates=(x, z),
        kinetic=mass * (x.rate**2 + z.rate**2) / 2,
        potential=mass * gravity * z,
        parameters={mass: 1, gravity: 9.81},
        points={"O": (0, 0), "bob": (x, z)} if points else {},
    )
    program = hf.Program(holonomic={"rod": (x**2 + z**2 - 1) / 2}, law=law or hf.critically_damped(5))
    return hf.Problem(system, program, start={x: 1}, title=title, **further)


def run_of(problem, **asked):
    return hf.simulate(hf.derive(problem), hf.RK4, **{"step": 0.01, "duration": 0.5, **asked})


# ── every shipped example ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("file", EXAMPLES, ids=name)
def test_every_section_of_an_example_is_there(file, shelf):
    _, html = page(file.stem, shelf)
    problem, tree = hf.load(file), parsed(html)
    stated = {"lyapunov"} if problem.lyapunov else set()
    stated |= {"exhaust"} if any(mass.thrust for mass in problem.system.masses.values()) else set()
    assert set(section_names(html)) - {"live"} == ALWAYS | (HELD if problem.program.constraints else set()) | stated
    assert tree.find(".//*[@id='verdict']") is not None
    anchors = {link.get("href").removeprefix("#") for link in tree.iter("a")}
    assert anchors == {*section_names(html), "content"}  # the skip link leads to the content
    assert (tree.find(".//canvas") is not None) == bool(problem.system.points)
    assert len(list(tree.iter("math"))) > 3
    assert len(list(tree.iter("svg"))) >= 3


@pytest.mark.parametrize("file", EXAMPLES, ids=name)
def test_a_page_is_small_and_closed_to_the_outside(file, shelf):
    path, html = page(file.stem, shelf)
    assert path.stat().st_size < 1_000_000
    assert "http" not in html.replace('http-equiv="Content-Security-Policy"', "")
    assert not re.search(r"url\((?!#|data:font/woff2)", html)
    tree = parsed(html)
    assert not {key for key in attribute_names(tree) if key.startswith("on") or key in ("style", "src", "action")}
    assert all(part.get("href", "#").startswith("#") for part in tree.iter())
    names = [part.get("id") for part in tree.iter() if part.get("id") and part.tag != "path"]  # glyphs are shared
    assert len(names) == len(set(names))


@pytest.mark.parametrize("file", EXAMPLES[:2], ids=name)
def test_only_the_style_and_script_of_the_page_itself_are_allowed(file, shelf):
    _, html = page(file.stem, shelf)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)[1].replace("&#x27;", "'")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for kind in ("style", "script"):
        text = re.search(rf"<{kind}>(.*?)</{kind}>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
        assert html.count(f"<{kind}") == 1


def test_a_page_names_its_certificate_block_by_block_with_bounds(shelf):
    _, html = page("cart_rod", shelf)
    text = " ".join(parsed(html).find(".//section[@id='certificate']").itertext())
    for word in ("home", "upright", "bound", "One step contracts", "y home", "w upright"):
        assert word in text
    assert "".join(parsed(html).find(".//*[@id='verdict']").itertext()).startswith("Proved: ")
    assert "holdfast run cart_rod.toml" in html
    assert "sha256:" in html


# ── verdicts ──────────────────────────────────────────────────────────────────────────────────────


def test_a_law_that_drives_away_is_said_at_the_top():
    page = hf.report(run_of(pendulum(law=hf.SpringDamper(stiffness=-4, damping=1))))
    assert not page.good
    assert page.verdict.startswith("Failed: The law drives rod away.")
    banner = parsed(page.html).find(".//*[@id='verdict']")
    assert banner.get("class") == "verdict failed"
    assert "".join(banner.itertext()).startswith(page.verdict)


def test_a_run_that_ends_badly_is_said_at_the_top():
    problem = pendulum(law=hf.SpringDamper(stiffness=40_000, damping=400))
    run = hf.simulate(hf.derive(problem), hf.Euler, step=0.02, duration=4)
    assert not run.success
    page = hf.report(run)
    assert not page.good
    assert run.outcome.value.rstrip(".") in page.verdict
    assert "the run blew up" in "".join(parsed(page.html).find(".//section[@id='warnings']").itertext())


def test_a_refused_certificate_is_said_at_the_top():
    """A run of an implicit adaptive scheme may be good; no step of it is followed, so nothing is promised."""
    equations = hf.derive(pendulum())
    run = hf.simulate(equations, hf.Radau, tolerance=1e-9, duration=1)
    certificate = hf.certify(equations, hf.Radau, tolerance=1e-9, trajectory=run)
    assert certificate.label is hf.Label.refused
    page = hf.report(run, certificate)
    assert page.word == "no promise"
    assert page.good
    assert page.verdict.startswith("No promise: ")
    (fault,) = page.faults
    assert fault.startswith("No promise for rod: an adaptive scheme changes its step, and no one step is there")
    banner = parsed(page.html).find(".//*[@id='verdict']")
    assert banner.get("class") == "verdict no-promise"


def _refused(certificate):
    blocks = tuple(replace(block, label=hf.Label.refused, reason="because of 2e-05") for block in certificate.blocks)
    return replace(certificate, blocks=blocks)


@pytest.mark.parametrize("what", ["block", "number in it", "words in it"])
def test_a_certificate_that_was_altered_since_it_was_made_is_not_believed(what):
    equations = hf.derive(pendulum(law=hf.SpringDamper(stiffness=1e6, damping=2000)))
    run = hf.simulate(equations, hf.RK4, step=0.002, duration=0.02)
    certificate = established(_refused(hf.certify(equations, hf.RK4, step=0.002, trajectory=run, effort=0.1)))
    assert made_here(certificate)
    (block,) = certificate.blocks
    forged = replace(block, label=hf.Label.checked, bounds=(1e-9, 1e-9), reason="all is well")
    if what == "block":
        object.__setattr__(certificate, "blocks", (forged,))
    else:
        for name in ("label", "bounds") if what == "number in it" else ("reason",):
            object.__setattr__(block, name, getattr(forged, name))
    assert not made_here(certificate)
    page = hf.report(run, certificate)
    assert page.word == "no promise"
    assert page.html.count("all is well") == page.html.count("not verified: all is well")


def test_work_that_brings_a_start_back_is_no_fault():
    x, z = hf.coordinates("x z")
    problem = pendulum(law=hf.SpringDamper(stiffness=400, damping=40))
    run = hf.simulate(hf.derive(problem), hf.RK4, step=0.01, duration=1, start={x: 1.6, z: 0}, start_policy="keep")
    page = hf.report(run)
    assert "held at a price" not in page.verdict
    assert page.good


def test_a_good_run_is_called_good_and_its_start_is_warned_of():
    x = hf.coordinates("x")
    run = run_of(pendulum(), start={x: 1.001}, start_policy="keep")
    page = hf.report(run)
    assert page.good
    warned = " ".join(parsed(page.html).find(".//section[@id='warnings']").itertext())
    assert "The start deviates" in warned
    assert "No certificate" in warned


def test_a_run_of_one_row_that_deviates_by_nothing_is_drawn_without_a_warning(recwarn):
    equations = hf.derive(pendulum())
    run = hf.simulate(equations, hf.DOP853, tolerance=1e-6, duration=0.1, at=[0])
    assert len(run.times) == 1
    assert not run.deviation.any()
    assert 'id="figure-deviation-0"' in hf.report(run, state_error=False).html
    assert not list(recwarn)


# ── hostile names ─────────────────────────────────────────────────────────────────────────────────


def test_a_hostile_title_is_inert():
    html = hf.report(run_of(pendulum(HOSTILE))).html
    tree = parsed(html)
    assert "".join(tree.find(".//h1").itertext()) == HOSTILE
    assert "".join(tree.find(".//title").itertext()) == HOSTILE
    assert not list(tree.iter("img"))
    assert html.count("</script>") == 1
    assert html.count("<!--") == 0


def test_hostile_links_commands_and_remarks_are_inert():
    problem = pendulum("$", animation={"links": [["O", HOSTILE]], "traces": ["bob"]})
    html = hf.report(run_of(problem), command=HOSTILE, remarks=[HOSTILE]).html
    tree = parsed(html)
    assert not list(tree.iter("img"))
    warned = " ".join(tree.find(".//section[@id='warnings']").itertext())
    assert "which is not among the points O, bob" in warned
    assert "".join(HOSTILE.split()) in "".join(warned.split())  # x is a coordinate: it is set as one


def test_odd_names_are_typeset():
    odd = hf.coordinates(["alpha_1_", "x_y_z", "sin_", "mathrm", "a" * 41])
    k = hf.parameters("k")
    energy = sum(q.rate**2 for q in odd) / 2
    system = hf.System(coordinates=odd, kinetic=energy, potential=k * sum(q**2 for q in odd) / 2, parameters={k: 4})
    run = hf.simulate(hf.derive(hf.Problem(system, start={odd[0]: 1})), hf.RK4, step=0.01, duration=0.1)
    assert "equations" in section_names(hf.report(run).html)


# ── kinds of runs ─────────────────────────────────────────────────────────────────────────────────


def test_an_adaptive_run_of_a_python_problem_says_how_to_make_it_again():
    run = hf.simulate(hf.derive(pendulum(points=False)), hf.DOP853, tolerance=1e-9, duration=1)
    html = hf.report(run).html
    assert "tolerance=1e-09" in html
    assert "<canvas" not in html


def test_what_cannot_be_a_file_still_has_a_page():
    q = hf.coordinates("q")
    system = hf.System(coordinates=(q,), kinetic=q.rate**2 / 2, potential=sp.Piecewise((q**2, q > 0), (0, True)))
    run = hf.simulate(hf.derive(hf.Problem(system, start={q: 1})), hf.RK4, step=0.01, duration=0.1)
    assert "has no form as a file" in hf.report(run).html


def test_a_law_that_does_not_attract_has_words_in_the_place_of_a_limit():
    html = hf.report(run_of(pendulum(law=hf.Unstabilised()))).html
    assert "<td>none: kept, not attracted</td>" in html
    assert "<td>none: the law itself grows</td>" in hf.report(run_of(pendulum(law=hf.SpringDamper(stiffness=-1)))).html
    assert "none: kept" not in hf.report(run_of(pendulum())).html


def test_the_page_of_a_tuned_run_names_the_law_that_was_chosen():
    equations = hf.derive(pendulum())
    tuning = hf.tune(equations, hf.RK4, step=0.01, duration=0.5)
    html = hf.report(hf.simulate(tuning.equations, hf.RK4, step=0.01, duration=0.5), tuning=tuning).html
    assert re.search(r">(★ )?chosen here<", html)
    assert "the problem&#x27;s own law" in html


def test_symplectic_euler_shows_its_multipliers():
    run = hf.simulate(hf.derive(pendulum()), hf.SymplecticEuler, step=0.01, duration=0.3)
    assert "within the unit circle" in hf.report(run).html


def test_a_saved_run_has_the_same_page_byte_for_byte(tmp_path):
    run = run_of(pendulum("Saved"))
    run.save(tmp_path / "run.npz")
    again = hf.report(hf.Trajectory.load(tmp_path / "run.npz"))
    assert again.html == hf.report(run).html


def test_changed_parameters_are_shown_and_told():
    run = run_of(pendulum(), parameters={"gravity": 1.62})
    html = hf.report(run).html
    assert "1.62" in html
    assert "parameters={&#x27;gravity&#x27;: 1.62}" in html


def test_what_is_no_run_is_refused():
    with pytest.raises(hf.BadRequest, match="takes a Trajectory"):
        hf.report("run.npz")


def test_a_page_is_written_as_a_whole_or_not_at_all(tmp_path):
    report = hf.report(run_of(pendulum()))
    with pytest.raises(hf.BadRequest, match="cannot write"):
        report.save(tmp_path / "nowhere" / "page.html")
    assert not list(tmp_path.iterdir())
    report.save(tmp_path / "page.html")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_a_tuned_run_shows_its_map():
    equations = hf.derive(pendulum())
    tuning = hf.tune(equations, hf.RK4, step=0.02, duration=1)
    run = hf.simulate(tuning.equations, hf.RK4, step=0.02, duration=1)
    html = hf.report(run, tuning=tuning).html
    section = parsed(html).find(".//section[@id='tuning']")
    assert section.find(".//svg") is not None
    assert "no gains" in "".join(section.itertext())
    assert "<image" not in html
    assert len(html) < 1_000_000


def test_numbers_are_written_for_reading():
    from holdfast.page.facts import number, sentence

    assert number(1.234e-9) == "1.234 × 10⁻⁹"
    assert number(-0.05) == "−0.05"
    assert number(1e6, 2) == "10⁶"
    assert number(np.inf) == "∞"
    assert sentence("adds 5e-05 at 3.2e+12, not name_1e-3") == "adds 5 × 10⁻⁵ at 3.2 × 10¹², not name_1e-3"


def test_the_certificate_section_says_that_there_is_none():
    report = made("cart_rod", certified=False)
    said = " ".join(parsed(report.html).find(".//section[@id='certificate']").itertext())
    assert "No certificate was made for this run" in said
    assert "bound" not in said
    assert report.verdict.startswith("No promise: ")
    assert report.verdict.endswith(", without a certificate.")


@pytest.mark.parametrize(("direction", "ideal"), [((1, 0), False), ((2, 2), True)], ids=["axis", "gradient"])
def test_a_control_that_does_work_along_the_program_is_said_to(direction, ideal):
    """x + y is held by a push along x alone, which also drives the motion along the line; or by one along (1, 1)."""
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=x)
    push = {c: d for c, d in zip((x, y), direction, strict=True) if d}
    program = hf.Program(holonomic={"line": x + y}, controls={"push": push}, law=hf.critically_damped(4))
    run = hf.simulate(hf.derive(hf.Problem(system, program)), hf.RK4, step=0.01, duration=1)
    assert ("The controls are not ideal" in hf.report(run, state_error=False).html) is not ideal
