"""Names that any language bears, whatever a problem is called."""

import pytest

from holdfast.exchange.names import IDENTIFIER, LONGEST, c_string, comment, distinct, identifier


@pytest.mark.parametrize("text", ["λ", "φ1", "x'", "law.stiffness.rod", "", "9", "a b", "_", "é", "学", "x" * 500, "—"])
def test_any_text_has_an_identifier(text):
    found = identifier(text)
    assert IDENTIFIER.fullmatch(found)
    assert len(found) <= LONGEST + 2
    assert "__" not in found


def test_identifiers_stay_apart():
    found = distinct(["a.b", "a_b", "A_B", "a b", "a_b_2", "é", "e"])
    assert len({name.lower() for name in found}) == 7


@pytest.mark.parametrize("text", ["*/", "/*", "*" * 9 + "/" * 9, "??/\n", "a\\", '"""', "\u202e", "//", "?" * 7])
def test_a_comment_stays_one(text):
    found = comment(text)
    assert found.isprintable()
    assert not any(end in found for end in ("*/", "/*", "??", "\\", '"""', "//"))


def test_a_string_of_c_is_plain():
    assert c_string('a"b\\c?é\n') == '"a\\042b\\134c\\077\\303\\251\\012"'
