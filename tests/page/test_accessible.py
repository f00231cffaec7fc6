"""Every page can be read and used by everybody: contrast, names of controls, order of headings, in light and dark.

In the deep suite axe-core judges each page too, where it is found (HOLDFAST_AXE, or build/axe by tools/axe.sh).
"""

import json
import os
from pathlib import Path

import pytest

from tests.page.browser import Browser
from tests.page.pages import EXAMPLES, page

pytestmark = pytest.mark.slow
SOME = [pytest.param(f.stem, marks=[pytest.mark.prove] * (k % 4 > 0)) for k, f in enumerate(EXAMPLES)]

AXE = Path(os.environ.get("HOLDFAST_AXE", Path(__file__).parents[2] / "build/axe/node_modules/axe-core/axe.min.js"))

COMPLAINTS = """(() => {
  const LEAST_CONTRAST = 4.5;  // of text and what is behind it, WCAG 2.1 AA
  const found = [], all = (kinds) => [...document.querySelectorAll(kinds)].filter((part) => part.checkVisibility());
  const light = (colour) => {
    const [r, g, b] = colour.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.03928 ? part / 12.92 : Math.pow((part + 0.055) / 1.055, 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const opaque = (colour) => !/, 0\\)$|transparent/.test(colour);
  const behind = (part) => {
    for (let at = part; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (opaque(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = "h1, h2, h3, p, li, td, th, summary, figcaption, a, button, label, output, pre, .label, svg text";
  for (const part of all(texts)) {
    if (!part.textContent.trim()) continue;
    const style = getComputedStyle(part), colour = part.closest("svg") ? style.fill : style.color;
    const [a, b] = [light(colour), light(behind(part))].sort((p, q) => q - p), ratio = (a + 0.05) / (b + 0.05);
    if (ratio < LEAST_CONTRAST) found.push("contrast " + ratio.toFixed(2) + ": " + part.textContent.slice(0, 40));
  }
  for (const part of all("button, a, input, canvas, [role=img], [role=button], [role=group]")) {
    const label = part.id && document.querySelector(`label[for="${part.id}"]`);
    const name = part.getAttribute("aria-label") || part.textContent.trim() || part.title || label?.textContent;
    if (!name) found.push("no name: " + part.outerHTML.slice(0, 60));
  }
  const ids = [...document.querySelectorAll("[id]")].map((part) => part.id);
  for (const id of new Set(ids.filter((id, k) => ids.indexOf(id) !== k))) found.push("two of id " + id);
  let level = 0;
  for (const part of all("h1, h2, h3")) {
    const now = Number(part.tagName[1]);
    if (now > level + 1) found.push("heading leaps: " + part.textContent.slice(0, 40));
    level = now;
  }
  const ordered = document.querySelector("[tabindex]:not([tabindex='0']):not([tabindex='-1'])");
  if (ordered) found.push("an order of tabs of its own");
  const once = all("main").length === 1 && all("h1").length === 1;
  if (document.documentElement.lang !== "en" || !once) found.push("landmarks");
  return found;
})()"""


SILENTLY_CUT = """[...document.querySelectorAll(".piece, .scroll:not(.lines)")]
  .filter((part) => part.checkVisibility() && part.scrollWidth > part.clientWidth + 1 && !part.matches(".cut"))
  .map((part) => part.textContent.slice(0, 60))"""
ASKEW = """[...document.querySelectorAll(".lines")].filter((part) => part.checkVisibility()).flatMap((lines) => {
  let row = 0, end = 0;
  const levels = [];  // of the signs in each row, as far as they are not set smaller
  for (const piece of lines.querySelectorAll(".piece")) {
    const { left, right } = piece.getBoundingClientRect();
    if (left < end - 1) row += 1;
    end = right;
    for (const sign of piece.matches(".long, .longest") ? [] : piece.querySelectorAll(":scope > math > mo")) {
      const { top, bottom } = sign.getBoundingClientRect();
      if ("=+\\u2212".includes(sign.textContent)) (levels[row] ??= []).push((top + bottom) / 2);
    }
  }
  const apart = levels.flat(0).filter((some) => Math.max(...some) - Math.min(...some) > 2);
  return apart.map(() => lines.textContent.slice(0, 60));
})"""  # signs in one row of a formula that do not stand on one level
OPENED = "for (const part of document.querySelectorAll('details')) part.open = true"
SERIOUS = """axe.run(document, { resultTypes: ["violations"] }).then((found) => JSON.stringify(found.violations
  .filter((one) => one.impact === "serious" || one.impact === "critical")
  .map((one) => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 120)])))"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.mark.parametrize("name", SOME)
def test_a_page_is_for_everybody(browser, shelf, name):
    path, _ = page(name, shelf)
    view = browser.view(path.as_uri(), width=1200)
    view.js(OPENED)
    for scheme in ("light", "dark"):
        view.scheme(scheme)
        assert view.js(COMPLAINTS) == []
    for width in (400, 1280):
        view.resize(width)
        assert view.js("document.documentElement.scrollWidth") <= width
        assert view.js(SILENTLY_CUT) == []
        assert view.js(ASKEW) == []
    assert not view.complaints
    view.close()


@pytest.mark.prove
@pytest.mark.skipif(not AXE.exists(), reason="no axe-core; tools/axe.sh fetches it")
@pytest.mark.parametrize("name", [file.stem for file in EXAMPLES])
def test_axe_finds_nothing_serious(browser, shelf, name):
    path, _ = page(name, shelf)
    view = browser.view(path.as_uri(), width=1200)
    view.js(OPENED)
    view.js(AXE.read_text("utf-8") + "; true")
    for scheme in ("light", "dark"):
        view.scheme(scheme)
        assert json.loads(view.js(SERIOUS)) == []
    view.close()


def test_the_reader_of_pages_would_complain(browser, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<html lang=en><body><main><h1>One</h1><h3 id=a>Three</h3><p id=a style='color:#999'>pale</p>"
        "<button></button></main></body></html>",
        "utf-8",
    )
    view = browser.view(bad.as_uri(), width=1200)
    found = " ".join(view.js(COMPLAINTS))
    for word in ("contrast", "no name", "two of id a", "heading leaps"):
        assert word in found
    view.close()
