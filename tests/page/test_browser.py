"""Pages in a real browser: nothing fetched, nothing complained of, nothing overlapping, brackets tall, motion moving.

With HOLDFAST_SHOTS=folder the screenshots are kept there, to be looked at.
"""

import os
import struct
import time
from pathlib import Path

import pytest

import holdfast as hf
from tests.page.browser import Browser
from tests.page.pages import EXAMPLES, page, section_names

pytestmark = pytest.mark.slow

FULL = ("adaptive_optics", "four_bar")
VARIANTS = [(name, width, dark) for name in FULL for width in (1200, 400) for dark in (False, True)]
VARIANTS += [(file.stem, 1200, False) for file in EXAMPLES if file.stem not in FULL]

OVERLAPS = """(() => {
  const kinds = "main h2, main h3, main p, main figure, main .formula, main .scroll, main li";
  const parts = [...document.querySelectorAll(kinds)].map((part) => [part, part.getBoundingClientRect()])
    .filter(([part, box]) => part.checkVisibility() && box.width && box.height);
  const found = [];
  for (let i = 0; i < parts.length; i += 1) for (let j = i + 1; j < parts.length; j += 1) {
    const [[a, p], [b, q]] = [parts[i], parts[j]];
    if (a.contains(b) || b.contains(a)) continue;
    const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (across > 2 && down > 2) found.push(a.textContent.slice(0, 40) + " | " + b.textContent.slice(0, 40));
  }
  return found.slice(0, 5);
})()"""

BRACKETS = """(() => {
  for (const part of document.querySelectorAll("details")) part.open = true;
  const tall = [];
  for (const table of document.querySelectorAll(".lines mtable")) {
    const bracket = table.previousElementSibling;
    if (bracket?.localName === "mo" && table.rows === undefined && table.children.length > 1)
      tall.push(bracket.getBoundingClientRect().height / table.getBoundingClientRect().height);
  }
  return tall;
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.mark.parametrize(("name", "width", "dark"), VARIANTS)
def test_a_page_in_a_real_browser(browser, shelf, tmp_path, name, width, dark):
    path, html = page(name, shelf)
    view = browser.view(path.as_uri(), width=width, dark=dark)
    try:
        assert view.js("[...document.querySelectorAll('section')].map((part) => part.id)") == section_names(html)
        assert view.js("document.documentElement.scrollWidth") <= width
        assert view.js(OVERLAPS) == []
        assert view.js(
            "document.fonts.check('16px \"Holdfast Math\"') && document.fonts.check('16px \"Holdfast Text\"')"
        )
        ground = view.js("getComputedStyle(document.body).backgroundColor")
        assert (max(map(int, ground.removeprefix("rgb(").rstrip(")").split(","))) < 60) == dark
        if hf.load(next(file for file in EXAMPLES if file.stem == name)).system.points:
            _watch(view)
        shots = Path(os.environ.get("HOLDFAST_SHOTS", tmp_path))
        shots.mkdir(exist_ok=True)
        shot = shots / f"{name}-{width}-{'dark' if dark else 'light'}.png"
        view.screenshot(shot)
        assert _size(shot) == (width, view.js("document.documentElement.scrollHeight"))  # the whole page is on it
        tall = view.js(BRACKETS)
        assert all(0.75 < ratio < 2 for ratio in tall), tall
        assert tall or name not in FULL
        assert view.outside == []
        assert view.complaints == []
    finally:
        view.close()


def _size(png):
    """Width and height of a picture, from the header of its file."""
    head = png.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", head[16:24])


def _watch(view):
    """The mechanism moves by itself, and stops and steps by the keyboard."""
    frame = "Number(document.getElementById('mechanism').dataset.frame)"
    first, until = view.js(frame), time.monotonic() + 5
    while view.js(frame) == first:
        assert time.monotonic() < until, "the mechanism does not move"
        time.sleep(0.05)
    view.js("document.getElementById('mechanism').focus()")
    view.press("Home")
    assert view.js(frame) == 0
    view.press("ArrowRight")
    assert view.js(frame) == 1
    assert view.js("document.getElementById('play').textContent") == "Play"
    drawn = "[...document.getElementById('mechanism').getContext('2d').getImageData(0, 0, 960, 400).data].some(Boolean)"
    assert view.js(drawn)
