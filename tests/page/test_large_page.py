"""The page of a chain of twenty links: found within seconds, read within six screens, mailed within 700 kB."""

import time

import pytest

import holdfast as hf
from tests.page.browser import Browser
from tests.page.chain import chain

pytestmark = pytest.mark.slow

SCREEN = 800  # pixels, of a window 1280 wide


def test_a_chain_of_twenty_is_a_short_page(tmp_path):
    begun = time.process_time()
    report = hf.study(hf.loads(chain(20)), effort=1).report()
    path = report.save(tmp_path / "chain.html")
    assert time.process_time() - begun < 30  # 8 s on an idle machine: a limit for what hangs, not a measurement
    assert path.stat().st_size < 700_000
    assert report.word == "checked"
    browser = Browser(tmp_path / "profile")
    try:
        view = browser.view(path.as_uri(), width=1280)
        assert view.js("document.documentElement.scrollHeight") <= 6 * SCREEN
        assert view.js("document.documentElement.scrollWidth") <= 1280
        assert not view.complaints
    finally:
        browser.close()
