"""Figures that answer: cursor, values, zoom, hiding and downloads, in a browser."""

import pytest

from tests.page.browser import Browser
from tests.page.pages import page

POINTER = """
(kind, selector, share) => {
  const svg = document.querySelector(selector), panel = svg.querySelector("g.panel");
  const [, , left, right] = panel.dataset.across.split(" ").map(Number);
  const [, , bottom, top] = panel.dataset.up.split(" ").map(Number);
  const place = svg.createSVGPoint();
  place.x = left + share * (right - left);
  place.y = (top + bottom) / 2;
  const at = place.matrixTransform(svg.getScreenCTM());
  svg.dispatchEvent(new PointerEvent(kind, { clientX: at.x, clientY: at.y, bubbles: true, pointerType: "mouse" }));
}
"""
MOTION = "#figure-motion-0 svg"


@pytest.fixture(scope="module")
def view(shelf, tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    path, _ = page("cart_rod", shelf)
    shown = browser.view(path.resolve().as_uri(), width=1280)
    yield shown
    shown.close()
    browser.close()


def pointer(view, kind, share, selector=MOTION):
    view.js(f"({POINTER})({kind!r}, {selector!r}, {share})")


def across(view, selector=MOTION):
    told = view.js(f"document.querySelector({selector!r}).querySelector('g.panel').dataset.across")
    return [float(part) for part in told.split()]


def test_one_cursor_runs_through_all_curves_and_tells_their_values(view):
    pointer(view, "pointermove", 0.5)
    drawn = view.js("[...document.querySelectorAll('path.cursor')].filter((line) => line.getAttribute('d')).length")
    panels = view.js("document.querySelectorAll('g.panel[data-time]').length")
    assert drawn == panels > 3
    said = view.js("document.querySelector('.hover').textContent")
    assert said.startswith("t = 30")  # half of 60 s, but for the room beside the curve
    assert "x ≈" in said
    assert not view.complaints


def test_a_click_takes_the_moving_picture_to_that_time(view):
    pointer(view, "pointerdown", 0.25)
    pointer(view, "pointerup", 0.25)
    begin, end, *_ = across(view)
    time = float(view.js("document.getElementById('clock').textContent").split("=")[1])
    assert time == pytest.approx(begin + 0.25 * (end - begin), abs=0.3)


def test_a_dragged_stretch_zooms_every_axis_of_time_and_a_button_goes_back(view):
    before = across(view)
    pointer(view, "pointerdown", 0.25)
    pointer(view, "pointerup", 0.5)
    begin, end, *_ = across(view)
    whole = before[1] - before[0]
    assert begin == pytest.approx(before[0] + 0.25 * whole, rel=1e-6)
    assert end == pytest.approx(before[0] + 0.5 * whole, rel=1e-6)
    assert across(view, "#figure-energy svg")[:2] == pytest.approx([begin, end])
    view.js("document.querySelector('#figure-energy .unzoom').click()")
    assert across(view) == before
    assert not view.complaints


def test_an_entry_of_the_legend_hides_its_curve_by_click_and_by_key(view):
    entry = "document.querySelector('#figure-energy g.entry')"
    hidden = "document.querySelectorAll('#figure-energy g[clip-path] .off').length"
    view.js(f"{entry}.dispatchEvent(new MouseEvent('click'))")
    assert view.js(hidden) == 1
    view.js(f"{entry}.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'Enter' }}))")
    assert view.js(hidden) == 0


def test_every_figure_can_be_taken_away_as_svg_png_and_its_curves_as_csv(view):
    view.js("window.taken = []; HTMLAnchorElement.prototype.click = function () { window.taken.push(this.download); }")
    view.js("window.blobs = []; URL.createObjectURL = (blob) => { window.blobs.push(blob); return 'blob:none'; }")
    for word in ("CSV", "SVG", "PNG"):
        buttons = "[...document.querySelectorAll('#figure-energy .tools button')]"
        view.js(f"{buttons}.find((button) => button.textContent === {word!r}).click()")
    view.js("new Promise((done) => setTimeout(done, 500))")
    assert view.js("window.taken") == ["energy.csv", "energy.svg", "energy.png"]
    text = view.js("window.blobs[0].text()")
    assert text.splitlines()[0] == "t,energy,kinetic,potential"
    assert len(text.splitlines()) > 200
    drawing = view.js("window.blobs[1].text()")
    assert drawing.startswith("<svg")
    assert "rgb(" in drawing
    assert "class=" not in drawing
    assert view.js("window.blobs[2].size") > 5000
    assert not view.complaints
    assert not view.outside
