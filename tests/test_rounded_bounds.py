"""A bound is never written to the nearest digit: rounded up, a limit down, and a comparison so that it is seen."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.common.rounded import compared, over, rounded_down, rounded_up, within
from holdfast.page.facts import bound, limit

SOURCE = Path(holdfast.__file__).parent
SAYS_BOUND = r"(?:<=|≤|at most|never exceed\w*|stays below|settles below|beyond the proved|up to)"
TO_NEAREST = re.compile(SAYS_BOUND + r" (?:about )?\{[^{}]*(?::\.?\d*g\}|\bnumber\([^{}]*\})")
SIZES = st.floats(1e-300, 1e300)


def test_no_text_rounds_a_bound_to_the_nearest():
    """Numbers that somebody stated are written as they are; what was computed as a bound is rounded away from it."""
    stated = {"SMALLEST_TOLERANCE"}
    found = [
        f"{file.relative_to(SOURCE)}: {hit}"
        for file in SOURCE.rglob("*.py")
        for hit in TO_NEAREST.findall(file.read_text("utf-8"))
        if not any(name in hit for name in stated)
    ]
    assert found == []


@given(SIZES, SIZES)
def test_a_number_is_seen_to_exceed_its_bound(a, b):
    small, large = sorted((a, b))
    if small < large:
        seen, most = compared(large, small)
        assert float(seen) > float(most) >= small
        left, right = over(large, small).split(" > ")
        assert float(left) > float(right)
    left, right = within(small, large).split(" ≤ ")
    assert small <= float(left) <= float(right) <= large


@pytest.mark.parametrize(("value", "up", "down"), [(0.52361, "0.524", "0.523"), (1.0061e-7, "1.01e-07", "1e-07")])
def test_bounds_go_up_and_limits_down(value, up, down):
    assert rounded_up(value) == up
    assert rounded_down(value) == down


def test_the_page_rounds_alike():
    assert bound(4.6191, 2) == "4.7"
    assert limit(4.6191, 2) == "4.6"
    assert bound(1.0061e-7) == "1.01 × 10⁻⁷"
