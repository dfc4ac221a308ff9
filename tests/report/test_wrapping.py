"""Wrapping by estimated widths: lines fit, no text is lost, clusters stay whole."""

from __future__ import annotations

import unicodedata
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.report.wrapping import LONGEST, clean, width_of, wrap
from tests.support.growth import assert_linear_in_text
from tests.support.tables import table


@table(
    "text, width, lines",
    ("", 62, ()),
    ("one", 62, ("one",)),
    ("The clock shows nine", 62, ("The clock ", "shows nine")),
    ("anticonstitutionnellement", 62, ("anticonstituti", "onnellement")),
    ("well-known", 62, ("well-known",)),
    ("very-well-known", 62, ("very-well-", "known")),
    ("钟指向九点", 42, ("钟指向九", "点")),
    ("钟指向九。点", 42, ("钟指向", "九。点")),  # no line begins with a full stop
    ("钟指向「九点", 42, ("钟指向", "「九点")),  # nor ends with an opening bracket
    ("e\u0301" * 9, 62, ("e\u0301" * 9,)),
    ("e\u0301" * 3, 6, ("e\u0301",) * 3),
)
def test_lines(text: str, width: int, lines: tuple[str, ...]) -> None:
    assert wrap(text, width, 10, 9).lines == lines


def test_what_is_left_out_is_shown() -> None:
    found = wrap("one two three four five", 40, 10, 2)
    assert found.cut
    assert len(found.lines) == 2
    assert found.lines[-1].endswith("…")
    assert not wrap("one two", 40, 10, 2).cut


@given(st.text(max_size=300), st.integers(20, 200), st.integers(1, 6))
def test_any_text(text: str, width: int, most: int) -> None:
    shown = clean(text)
    found = wrap(shown, width, 10, most)
    assert len(found.lines) <= most
    joined = "".join(found.lines)
    assert shown.startswith(joined[:-1].rstrip()) if found.cut else joined == shown
    for line in found.lines:
        letters = [each for each in line.rstrip() if width_of(each, 10)]
        assert width_of(line.rstrip(), 10) <= width + 1e-6 or len(letters) <= 7


@given(st.text(st.characters(), max_size=200))
def test_a_clean_text_is_valid_in_xml(text: str) -> None:
    shown = clean(text)
    element = ElementTree.Element("a")
    element.text = shown
    assert (ElementTree.fromstring(ElementTree.tostring(element)).text or "") == shown
    assert clean(shown) == shown
    assert not any(unicodedata.category(each) in ("Cc", "Cs") for each in shown)


@table(
    "text, shown",
    ("  two\n lines\t", "two lines"),
    ("nul\x00 bell\x07", "nul� bell�"),
    ("\ud800", "�"),
    ("\ufffe\uffff\ufdd0", "���"),
    ("a\u202eb\u2066c\u2069", "a�b�c�"),  # overrides of the text direction
    ("e\u0301 钟 \u05d0", "e\u0301 钟 \u05d0"),
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_a_clean_text_is_bounded() -> None:
    shown = clean("word " * 10**6)
    assert len(shown) == LONGEST
    assert shown.endswith("…")
    assert clean("x" * LONGEST) == "x" * LONGEST


def test_widths_are_those_of_the_font() -> None:
    """Estimates are at least the width of English text in Liberation Sans, and 25% more at most."""
    matplotlib = pytest.importorskip("matplotlib")
    from matplotlib import font_manager, textpath

    names = {each.name for each in font_manager.fontManager.ttflist}
    if "Liberation Sans" not in names:
        pytest.skip(f"Liberation Sans is not installed (matplotlib {matplotlib.__version__})")
    text = "The shop closes at eight, so nobody is there; 12 of 34 (WAMIT) are open."
    for bold in (False, True):
        font = font_manager.FontProperties(
            family="Liberation Sans", weight="bold" if bold else "normal"
        )
        real = textpath.TextPath((0, 0), text, size=12, prop=font).get_extents().width
        assert real <= width_of(text, 12, bold) <= 1.25 * real


@table("part", "word ", "x", "钟", "e\u0301", "\u0301", " ", "👩\u200d", "-", "。")
def test_long_texts_take_no_longer_than_their_length(part: str) -> None:
    text = part * (100_000 // len(part))
    assert_linear_in_text(lambda given: wrap(clean(given, 10**6), 170, 12, 10**6), text)
