"""Parts of a drawn SVG, for tests."""

from __future__ import annotations

from xml.etree import ElementTree

_SVG = "{http://www.w3.org/2000/svg}"


def texts_of_svg(text: str) -> list[str]:
    """The texts of a picture, as displayed."""
    return ["".join(each.itertext()) for each in labels_of_svg(text)]


def labels_of_svg(text: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(text).iter(f"{_SVG}text"))


def parts_of_svg(text: str, name: str) -> list[ElementTree.Element]:
    """The groups with this name."""
    groups = ElementTree.fromstring(text).iter(f"{_SVG}g")
    return [each for each in groups if each.get("id") == name]
