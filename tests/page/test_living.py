"""Living pages in a real browser: a slider moved runs the equations again, and they are those of `hf.simulate`."""

import json
import time
from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf
from tests.page.browser import Browser
from tests.page.pages import EXAMPLES, made

pytestmark = pytest.mark.slow

MOVE = """(() => {
  const live = document.getElementById("live"), about = JSON.parse(live.dataset.sliders);
  const k = about.findIndex((slider) => slider.name === %s), input = live.querySelectorAll("input[data-number]")[k];
  delete live.dataset.last;
  input.value = %r;
  input.dispatchEvent(new Event("change"));
})()"""
NONSENSE = """new Promise((done) => {
  const input = document.querySelectorAll("input[data-number]")[5];
  input.value = "TEXT";
  input.dispatchEvent(new Event("change"));
  requestAnimationFrame(() => requestAnimationFrame(() => done(true)));
})"""
DRAWN = """(() => [...document.querySelectorAll("g.panel path[data-name]")]
  .map((path) => path.getAttribute("d")).join("|"))()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


def opened(browser, folder, name, live=True):
    report = made(name)
    path = folder / f"{name}.html"
    hf.report(report.subject.trajectory, report.certificate, command=report.subject.command, live=live).save(path)
    return browser.view(path.as_uri(), width=1200)


def moved(view, name, value):
    view.js(MOVE % (json.dumps(name), value))
    until = time.monotonic() + 10
    while (last := view.js('document.getElementById("live").dataset.last || ""')) == "":
        assert time.monotonic() < until, view.complaints
        time.sleep(0.02)
    return np.array(json.loads(last))


def derived(name):
    return hf.derive(hf.load(next(file for file in EXAMPLES if file.stem == name)))


@pytest.mark.parametrize(
    ("name", "slider", "value"),
    [
        ("four_bar", "rho", 500.0),
        ("four_bar", "law.stiffness.loop_x", 9.0),
        ("cart_rod", "m2", 2.5),
        ("cart_rod", "law.damping.home", 7.0),
        ("pendulum", "g", 4.0),
        ("bead_on_hoop", None, None),
        ("measured_path", None, None),
        ("rlc", None, None),
        ("skate", None, None),
        ("rocket_ascent", None, None),
        ("slide_with_friction", "r", 0.321),  # a start that is sought: one rate for two constraints
        ("slide_with_friction", "phi_dot", None),
    ],
)
def test_a_slider_runs_the_equations_again(browser, tmp_path, name, slider, value):
    equations, view = derived(name), opened(browser, tmp_path, name)
    start = slider in equations.state_names
    slider = slider or equations.parameter_names[0]
    if value is None:
        run = made(name, False).subject.trajectory
        value = 1.1 * float(run[slider][0] if start else run.parameters[slider])
    before, picture = view.js(DRAWN), view.js('document.getElementById("mechanism")?.toDataURL() || ""')
    last = moved(view, slider, value)
    expected = hf.simulate(equations, **{"start" if start else "parameters": {slider: value}})
    assert_allclose(last, expected.y[:, -1], rtol=1e-12, atol=1e-12 * np.abs(expected.y).max())
    assert view.js(DRAWN) != before
    assert not picture or view.js('document.getElementById("mechanism").toDataURL()') != picture
    assert view.js('document.body.classList.contains("changed")')
    assert "not this run's" in view.js('document.getElementById("live-said").textContent')
    assert not view.complaints
    assert not view.outside
    view.js('document.getElementById("live-reset").click()')
    assert not view.js('document.body.classList.contains("changed")')
    view.close()


def test_a_start_that_is_moved_keeps_the_program(browser, tmp_path):
    equations, view = derived("cart_rod"), opened(browser, tmp_path, "cart_rod")
    name = next(iter(equations.problem.start))
    value = 1.2 * float(made("cart_rod", False).subject.trajectory[name][0]) + 0.01
    last = moved(view, name, value)
    assert_allclose(last, hf.simulate(equations, start={name: value}).y[:, -1], rtol=1e-11, atol=1e-11)
    view.close()


def test_the_step_is_a_slider_too(browser, tmp_path):
    equations, view = derived("four_bar"), opened(browser, tmp_path, "four_bar")
    step = equations.problem.run.step / 2
    assert_allclose(moved(view, "step", step), hf.simulate(equations, step=step).y[:, -1], rtol=1e-11, atol=1e-12)
    view.close()


def test_a_thousand_steps_within_a_frame(browser, tmp_path):
    """1000 steps of RK4 of the four-bar: far below the 10 ms that one frame leaves."""
    view = opened(browser, tmp_path, "four_bar")
    run = made("four_bar", False).subject.trajectory
    for value in np.linspace(900.0, 1100.0, 8):
        moved(view, "rho", float(value))
    steps = round(float(run.times[-1] - run.times[0]) / run.step)
    assert float(view.js('document.getElementById("live").dataset.milliseconds')) * 1000 / steps < 40
    view.close()


def test_a_link_carries_the_values(browser, tmp_path):
    view = opened(browser, tmp_path, "cart_rod")
    last = moved(view, "m2", 2.5)
    hash_ = view.js("location.hash")
    assert hash_.startswith("#live&")
    for link, expected in ((hash_, last), ("#live&0=1e999&99=3&x=<script>alert(1)</script>&1=NaN&2=-1", None)):
        other = opened(browser, tmp_path, "cart_rod")
        other.js(f"location.hash = {json.dumps(link)}; setTimeout(() => location.reload(), 50)")
        found, until = "", time.monotonic() + 10
        while not found:
            assert time.monotonic() < until
            time.sleep(0.1)
            with suppress(AssertionError):  # while the page is loaded again there is none to be asked
                found = other.js('document.getElementById("live")?.dataset.last || ""')
        assert expected is None or np.allclose(json.loads(found), expected, rtol=1e-14)
        assert not other.complaints
        other.close()
    view.close()


def test_hostile_names_and_units_run_nothing(browser, tmp_path):
    text = """
schema = 1
title = "</script><script>window.bad=1</script> <img src=x onerror=window.bad=1>"
[parameters]
constructor = 2
[system]
coordinates = ["x", "alert"]
kinetic = "constructor*(x_dot**2 + alert_dot**2)/2"
potential = "constructor*x"
[program.holonomic]
window = "x**2 + alert**2 - 1"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x = 1
[run]
scheme = "rk4"
step = 0.01
duration = 1
"""
    path = tmp_path / "hostile.html"
    hf.report(hf.simulate(hf.derive(hf.loads(text))), live=True).save(path)
    view = browser.view(path.as_uri(), width=1200)
    moved(view, "constructor", 3.0)
    assert view.js("window.bad === undefined")
    assert not view.complaints
    view.close()


def test_without_script_or_wish_the_page_is_as_before():
    report = made("cart_rod", False)
    run = report.subject.trajectory
    plain, alive = hf.report(run, live=False), hf.report(run)
    assert "hf_run" not in plain.html
    assert "hf_run" in alive.html
    assert 'id="live" hidden' in alive.html
    assert "eval" not in alive._script
    assert alive.not_alive == ""
    assert "start" in made("servo_arm", False).not_alive  # its current follows from the program
    phases = made("slack_rope", False)
    assert phases.not_alive == "its run is made of phases"
    assert "hf_run" not in phases.html


def test_a_run_that_an_event_may_end_is_not_repeated():
    """A page has no events: with other numbers it would go on where the run would end."""
    text = next(file for file in EXAMPLES if file.stem == "cart_rod").read_text("utf-8")
    ended = text + '\n[events]\nfar = { when = "x - 100", terminal = true }\n'
    assert hf.report(hf.simulate(hf.derive(hf.loads(ended)))).not_alive == "events are watched along its run"


def test_nonsense_in_a_field_changes_nothing(browser, tmp_path):
    view = opened(browser, tmp_path, "cart_rod")
    before = moved(view, "m2", 2.5)
    for text in ("", "nan", "1e999", "-1e999", "abc"):
        view.js(NONSENSE.replace("TEXT", text))
        assert np.allclose(json.loads(view.js('document.getElementById("live").dataset.last')), before)
    view.close()
