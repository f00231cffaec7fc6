"""Bodies of the moving picture in a real browser, and in GIFs: wheels turn, arrows push, the camera follows."""

import json
from io import StringIO

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

import holdfast as hf
from holdfast.results.gif_bodies import BODY, FORCE
from tests.page.browser import Browser
from tests.page.pages import made
from tests.page.rolling import rolling
from tests.page.test_living import moved

pytestmark = pytest.mark.slow

STOP = 'document.getElementById("mechanism").seek(0)'
PICTURE = 'document.getElementById("mechanism").toDataURL()'
INK_AT = """(() => {
  const canvas = document.getElementById("mechanism"), pen = canvas.getContext("2d");
  const found = pen.getImageData(Math.round(%s * canvas.width) - 2, 0, 4, canvas.height).data;
  let count = 0;
  for (let k = 3; k < found.length; k += 4) count += found[k] > 0;
  return count;
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def wheel():
    return hf.simulate(rolling())


def seen(browser, report, folder):
    path = folder / "page.html"
    report.save(path)
    return browser.view(path.as_uri(), width=1200)


def test_wheel_arrow_and_camera_move(browser, wheel, tmp_path):
    view = seen(browser, hf.report(wheel), tmp_path)
    pictures = set()
    for time in (0, 0.4, 0.8, 1.6):
        view.js(f'document.getElementById("mechanism").seek({time})')
        pictures.add(view.js(PICTURE))
        assert view.js(INK_AT % 0.5) > 20  # the hub stays in the middle, and its wheel about it
    assert len(pictures) == 4
    view.close()


def test_arrows_and_wheels_are_those_of_the_run_made_again(browser, wheel, tmp_path):
    view = seen(browser, hf.report(wheel, live=True), tmp_path)
    moved(view, "push", 6.0)
    other = hf.simulate(rolling(), parameters={"push": 6.0})
    longest = max(np.abs(wheel["lambda_rolls"]).max(), np.abs(other["lambda_rolls"]).max())
    ((across, up),) = json.loads(view.js('document.getElementById("mechanism").dataset.arrows'))
    assert_allclose([across, up], [other["lambda_rolls"][-1] / longest, 0], rtol=1e-6, atol=1e-12)
    view.js(STOP)
    first = view.js(PICTURE)
    view.js('document.getElementById("mechanism").seek(0.8)')
    assert view.js(PICTURE) != first
    assert not view.complaints
    view.close()


def test_a_mechanism_in_space_is_turned_also_after_another_run(browser, tmp_path):
    view = seen(browser, hf.report(made("bead_on_hoop", False).subject.trajectory, live=True), tmp_path)
    turn = """(() => { const canvas = document.getElementById("mechanism"); canvas.seek(0); canvas.dispatchEvent(
      new KeyboardEvent("keydown", { key: "ArrowLeft", shiftKey: true })); return canvas.toDataURL(); })()"""
    pictures = [view.js(turn), view.js(turn)]
    moved(view, "omega", 6.0)
    pictures += [view.js(turn), view.js(turn)]
    assert len(set(pictures)) == 4
    assert not view.complaints
    view.close()


def test_a_figure_gives_the_numbers_of_the_run_in_full(browser, wheel, tmp_path):
    view = seen(browser, hf.report(wheel, live=True), tmp_path)
    text = 'document.body.csv(document.querySelector("#figure-motion-0 svg"))'
    table = np.genfromtxt(StringIO(view.js(text)), delimiter=",", names=True)
    rows = np.searchsorted(wheel.times, table["t"])
    assert len(rows) > 200
    assert (table["x"] == wheel["x"][rows]).all()  # to the last bit: shortest decimals
    assert (table["phi"] == wheel["phi"][rows]).all()
    moved(view, "push", 6.0)
    again = np.genfromtxt(StringIO(view.js(text)), delimiter=",", names=True)
    assert_allclose(again["x"], hf.simulate(rolling(), parameters={"push": 6.0})["x"], rtol=1e-11, atol=1e-12)
    view.js('document.getElementById("live-reset").click()')
    assert (np.genfromtxt(StringIO(view.js(text)), delimiter=",", names=True)["x"] == table["x"]).all()
    view.close()


def test_a_root_that_leaves_the_axes_widens_them(browser, wheel, tmp_path):
    view = seen(browser, hf.report(wheel, live=True), tmp_path)
    moved(view, "law.stiffness.rolls", 40000.0)
    inside = """(() => [...document.querySelectorAll("circle[data-name]")].every((mark) => {
      const panel = mark.closest("g.panel"), [, , left, right] = panel.dataset.across.split(" ").map(Number);
      const [, , bottom, top] = panel.dataset.up.split(" ").map(Number);
      const x = Number(mark.getAttribute("cx")), y = Number(mark.getAttribute("cy"));
      return left + 3 < x && x < right - 3 && top + 3 < y && y < bottom - 3;
    }))()"""
    assert view.js(inside)
    drawn = view.js("""(() => {
      const mark = document.querySelector('circle[data-name="root 0"]'), panel = mark.closest("g.panel");
      const [y0, y1, bottom, top] = panel.dataset.up.split(" ").map(Number);
      return y0 + (Number(mark.getAttribute("cy")) - bottom) / (top - bottom) * (y1 - y0);
    })()""")
    assert abs(drawn) == pytest.approx(np.sqrt(40000 - 400), rel=0.02)  # as drawn: λ = −20 ± 199 i
    view.js('document.getElementById("live-reset").click()')
    assert view.js(inside)
    view.close()


def test_a_step_too_small_for_the_page_is_refused_in_words(browser, wheel, tmp_path):
    view = seen(browser, hf.report(wheel, live=True), tmp_path)
    before = moved(view, "push", 4.0)
    view.js("""(() => { const all = [...document.querySelectorAll("input[data-number]")], input = all[all.length - 1];
      input.value = 1e-12; input.dispatchEvent(new Event("change")); })()""")
    view.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert "the last run stays" in view.js('document.getElementById("live-said").textContent')
    assert np.allclose(json.loads(view.js('document.getElementById("live").dataset.last')), before)
    view.close()


def test_a_gif_draws_bodies_and_forces(tmp_path, wheel):
    path = wheel.animate(tmp_path / "wheel.gif", frames=20)
    with Image.open(path) as picture:
        picture.seek(10)
        colours = {colour: count for count, colour in picture.convert("RGB").getcolors(1 << 16)}
        changed = picture.convert("RGB").tobytes()
        picture.seek(12)
        assert picture.convert("RGB").tobytes() != changed
    for name in (BODY, FORCE):
        assert colours.get(tuple(int(name[k : k + 2], 16) for k in (1, 3, 5)), 0) > 5
