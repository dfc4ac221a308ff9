"""The SVG of a tree: valid XML for any text, compact, and with hooks for the page's scripts."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_rpts.reasoning import Clue, ReasoningChain, Step, build_tree, locate_error, parse_chain
from lmms_rpts.report.trees import TreePicture, figure_svg, inline_svg, light_colours, template_text
from tests.reasoning.strategies import texts
from tests.report.test_hostile import ATTACKS
from tests.support.growth import assert_linear
from tests.support.tables import table

SVG = "{http://www.w3.org/2000/svg}"
INVENTED = "cites evidence that does not exist"
LINES = (
    "Image0 + Image9 -> Conclusion0:The clock shows nine.",
    "Conclusion0 + Text0 + Context -> Conclusion1:The shop is closed.",
)


def draw(*lines: str, scores: list[float] | None = None) -> TreePicture:
    tree = build_tree(parse_chain(list(lines), "en"), 2, 2)
    error = None if scores is None else locate_error(tree, scores)
    return TreePicture(tree, scores or (), error)


def draw_text(text: str) -> TreePicture:
    step = Step((Clue("image", 0), Clue("text", None)), text)
    return TreePicture(build_tree(ReasoningChain((step,)), 1, 0), [0.25])


def parsed(picture: TreePicture, title: str = "") -> ElementTree.Element:
    return ElementTree.fromstring(figure_svg([(title, picture)], title, legend=True))


def of_class(svg: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [each for each in svg.iter() if name in each.get("class", "").split()]


def text_of(element: ElementTree.Element) -> str:
    return "".join("".join(each.itertext()) for each in element.iter(f"{SVG}text"))


def test_the_parts_of_a_picture() -> None:
    svg = parsed(draw(*LINES, scores=[0.2, 0.9]))
    steps = [each for each in of_class(svg, "step") if each.find(f"{SVG}text") is not None]
    assert [text_of(each) for each in steps] == [
        "Conclusion 0 0.20 first wrong step The clock shows nine.",
        "Conclusion 1 0.90 The shop is closed.",
    ]
    assert [each.get("class") for each in steps] == ["step s2 first", "step s9"]
    assert [text_of(each) for each in of_class(svg, "leaf")] == [
        *("Image 0", "Image 9", "Text 0", "Context"),
        "ab",  # the sample in the legend
    ]
    assert len(of_class(svg, "path")) == 2, "the line and the legend"
    assert "first wrong step is Conclusion 0" in (svg.findtext(f"{SVG}desc") or "")


def test_a_page_gets_links_and_leaves_that_scripts_find() -> None:
    drawn = inline_svg(draw(*LINES), "here")
    assert re.findall(r'href="([^"]+)"', drawn) == ["#here-s0", "#here-s1"]
    assert re.findall(r'data-leaf="([^"]+)"', drawn) == ["image:0", "text:0", "context"]
    assert drawn.count('tabindex="0"') == 4
    assert 'aria-label="Image 9, which does not exist"' in drawn
    assert "<title>there are only 2 images, numbered from 0</title>" in drawn
    assert 'class="tree-svg plain"' in drawn
    assert "style=" not in drawn


def test_a_file_has_neither_links_nor_variables() -> None:
    drawn = figure_svg([("", draw(*LINES))], "x")
    for part in ("href", "tabindex", "data-leaf", "var(", "@import", "url("):
        assert part not in drawn
    assert "tree-svg" in drawn
    assert 'class="bg"' in drawn
    assert 'class="bg"' not in figure_svg([("", draw(*LINES))], "x", background=False)


def test_every_colour_is_known() -> None:
    used = set(re.findall(r"var\(--([\w-]+)\)", template_text("tree_svg.css")))
    assert used <= set(light_colours())
    assert {"wrong", "faint", "ink", "card", "ground", "sx", *(f"s{n}" for n in range(11))} <= used


@table("text", *ATTACKS)
def test_hostile_texts_are_texts(text: str) -> None:
    svg = parsed(draw_text(text), text)
    assert {each.tag.removeprefix(SVG) for each in svg.iter()} == {
        *("svg", "title", "desc", "style", "rect", "g", "path", "text")
    }
    names = {name for each in svg.iter() for name in each.attrib}
    assert not any(name.startswith("on") or "href" in name for name in names)
    inline = inline_svg(draw_text(text), "a")
    assert len(re.findall("<text", inline)) == inline.count("</text>")
    ElementTree.fromstring(inline)


@settings(max_examples=60)
@given(st.text(st.characters(), max_size=400) | texts, st.text(st.characters(), max_size=40))
def test_any_text_is_valid_xml(text: str, title: str) -> None:
    svg = parsed(draw_text(text), title)
    (step,) = [each for each in of_class(svg, "step") if each.find(f"{SVG}text") is not None]
    assert step.find(f"{SVG}text") is not None
    ElementTree.fromstring(inline_svg(draw_text(text), "a"))


def test_a_million_characters_and_four_hundred_steps() -> None:
    assert len(inline_svg(draw_text("x" * 10**6), "a")) < 10_000
    premises = [" + ".join(f"Conclusion{b}" for b in range(at)) or "Image0" for at in range(400)]
    picture = draw(*(f"{each} -> Conclusion{at}:{'y' * 9}" for at, each in enumerate(premises)))
    assert len(inline_svg(picture, "a")) < 500_000


def test_several_trees_are_below_one_another() -> None:
    tree = draw(*LINES)
    trees = [("model a", tree), ("model b", tree), ("none", draw())]
    drawn = ElementTree.fromstring(figure_svg(trees, "x"))
    titles = [(each.text, int(each.get("y", ""))) for each in of_class(drawn, "title")]
    first, second = (
        int(each.get("transform", "").rstrip(")").split()[1]) for each in of_class(drawn, "plain")
    )
    assert [text for text, _ in titles] == ["model a", "model b", "none"]
    assert titles[0][1] < first < first + tree.height < titles[1][1] < second
    assert [each.text for each in of_class(drawn, "note")] == ["no steps of reasoning"]
    assert int(drawn.get("width", "")) > tree.width
    assert int(drawn.get("height", "")) > second + tree.height


@table(
    "scores, words",
    (
        [0.2, 0.9],
        ["score from 0 to 1", "first wrong step", "path from it to the last step", INVENTED],
    ),
    ([0.9, 0.9], ["score from 0 to 1", INVENTED]),
    (None, [INVENTED]),
)
def test_a_legend_explains_what_occurs(scores: list[float] | None, words: list[str]) -> None:
    assert [each.text for each in of_class(parsed(draw(*LINES, scores=scores)), "note")] == words
    assert not of_class(parsed(draw("Image0 -> Conclusion0:Nine.")), "note")


def test_work_grows_no_faster_than_the_tree() -> None:
    def make(count: int) -> TreePicture:
        return draw(*(f"Image0 + Conclusion{at - 1} -> Conclusion{at}:x" for at in range(count)))

    assert_linear(lambda picture: inline_svg(picture, "a"), make, 20)
