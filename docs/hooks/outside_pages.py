"""MkDocs hook: pages made from files outside of docs/.

CHANGELOG.md and others stay in the root, where GitHub and similar sites show them. Links
between them and the pages in docs/ are relative paths in the repository; the hook rewrites them to
paths within the site.
"""

from __future__ import annotations

import io
import os
import posixpath
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from lmms_rpts import __version__

ROOT = Path(__file__).parents[2]
DOCS = "docs"
# The path and anchor of a link or picture: [text](path#anchor).
_LINK = re.compile(r"\]\((?![a-z]+:|#|/)([^)\s#]+)(#[^)\s]*)?\)")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _license(path: Path) -> str:
    return "# License\n\n" + _text(path)


PAGES: dict[str, tuple[str, Callable[[Path], str]]] = {
    "CHANGELOG.md": ("changelog.md", _text),
    "CONTRIBUTING.md": ("contributing.md", _text),
    "LICENSE": ("license.md", _license),
    "examples/own_benchmark/README.md": ("examples/own_benchmark.md", _text),
}
"""Files that become pages: path in the repository, path of the page, function for its text."""

# A link to a folder with a README is a link to the README's page.
_TARGETS = {source: page for source, (page, _) in PAGES.items()} | {
    posixpath.dirname(source): page for source, (page, _) in PAGES.items() if "/README" in source
}
_TARGETS["README.md"] = "index.md"
_SOURCES = {page: source for source, (page, _) in PAGES.items()}


def on_config(config: Any, **_: Any) -> Any:
    """Show the version in the header and the titles; link to the repository, if it is known."""
    config.site_name += f" {__version__}"
    config.edit_uri = "edit/main/docs/" if config.repo_url else None
    return config


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the pages made from files outside of docs/."""
    for source, (page, read) in PAGES.items():
        file = File.generated(config, page, content=read(ROOT / source))
        file.edit_uri = posixpath.relpath(source, DOCS)
        files.append(file)
    questions = ROOT / "examples" / "ten_questions"
    files.append(File.generated(config, f"{questions.name}.zip", content=_archive(questions)))
    return files


def _archive(folder: Path) -> bytes:
    """A folder as a zip file, the same in each build."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            archive.writestr(
                zipfile.ZipInfo(path.relative_to(folder.parent).as_posix()), path.read_bytes()
            )
    return written.getvalue()


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite the links of a page whose targets have a different path in the site.

    A link that matches no page is left unchanged: strict mode reports it.
    """
    here = page.file.src_uri
    source = _SOURCES.get(here, posixpath.join(DOCS, here))

    def rewrite(link: re.Match[str]) -> str:
        path, anchor = link[1], link[2] or ""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if target in _TARGETS:
            inside = _TARGETS[target]
        elif target.startswith(f"{DOCS}/"):
            inside = target.removeprefix(f"{DOCS}/")
        else:
            return link[0]
        start = posixpath.dirname(here) or os.curdir
        return f"]({posixpath.relpath(inside, start)}{anchor})"

    return _LINK.sub(rewrite, markdown)


def on_post_page(output: str, **_: Any) -> str:
    """Keep the theme from asking GitHub for the numbers of stars: pages fetch nothing."""
    return output.replace('data-md-component="source"', "")
