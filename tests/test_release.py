"""The release: the wheel and the source archive, their description, the citation, the CI."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

import pytest
import yaml

import lmms_rpts
from tests.support.fork_server import ROOT
from tests.support.instances import write_folder
from tests.support.lmms import clean_environment
from tests.support.tables import table

PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
_SKIPPED = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "site", "shared", "*.egg-info", "__pycache__", ".*_cache",
    ".hypothesis", "demo-results",
)  # fmt: skip
_MADE = re.compile(r"(PKG-INFO|setup\.cfg|lmms_rpts\.egg-info(/.*)?|)$")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source archive, and that archive; in a copy of the checkout.

    Never in the checkout itself: building rewrites its ``*.egg-info``, which other tests' processes
    read at the same moment to find the plugin.
    """
    folder = tmp_path_factory.mktemp("release")
    copy = shutil.copytree(ROOT, folder / "checkout", ignore=_SKIPPED)
    build = [sys.executable, "-m", "build", "--no-isolation", "-o", str(folder / "dist")]
    run([*build, str(copy)], folder)
    return folder / "dist"


def run(command: list[str], folder: Path, **changes: str) -> str:
    """The output of a command, which must succeed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=clean_environment() | changes,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def wheel_of(dist: Path) -> Path:
    (wheel,) = dist.glob("*.whl")
    return wheel


def files_below(checkout: Path, *folders: str) -> set[str]:
    files = [path for folder in folders for path in (checkout / folder).rglob("*")]
    return {path.relative_to(checkout).as_posix() for path in files if path.is_file()}


@pytest.mark.slow
def test_twine_accepts_both(dist: Path) -> None:
    files = sorted(map(str, dist.iterdir()))
    assert len(files) == 2
    said = run([sys.executable, "-m", "twine", "check", "--strict", *files], dist)
    assert said.count("PASSED") == 2


@pytest.mark.slow
def test_the_wheel_has_all_that_is_needed(dist: Path) -> None:
    with zipfile.ZipFile(wheel_of(dist)) as wheel:
        inside = set(wheel.namelist())
        (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
        found = HeaderParser().parsestr(wheel.read(name).decode("utf-8"))
    assert found["Version"] == lmms_rpts.__version__
    assert found["Requires-Python"] == ">=3.10"
    assert found["License-Expression"] == "MIT"
    assert found["Description-Content-Type"] == "text/markdown"
    assert "lmms-eval<0.8,>=0.7.3" in found.get_all("Requires-Dist", [])
    assert files_below(dist.with_name("checkout"), "lmms_rpts") <= inside
    assert not [each for each in inside if each.startswith("tests")]


def git_files(*options: str) -> list[str]:
    """The tracked files of the checkout, or others; skips the test if Git cannot say."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", *options]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("Git is not installed")
    if listed.returncode:
        pytest.skip("not a git checkout")
    return listed.stdout.split("\0")


@pytest.mark.slow
def test_the_source_archive_holds_tracked_files_alone(dist: Path) -> None:
    """Without other files in the checkout, such as data of other projects."""
    tracked = {*git_files(), *git_files("--others", "--exclude-standard")}
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        inside = {each.name.partition("/")[2] for each in packed.getmembers() if each.isfile()}
    assert {name for name in inside if not _MADE.match(name)} <= tracked
    folders = ("docs", "tests", "benchmarks", "lmms_rpts")
    files = ("CITATION.cff", "CONTRIBUTING.md", "mkdocs.yml", "LICENSE", "Makefile", "CHANGELOG.md")
    assert {*files, *files_below(dist.with_name("checkout"), *folders)} <= inside
    assert archive.stat().st_size < 10e6


@pytest.mark.slow
def test_the_wheel_works_in_a_bare_environment(dist: Path, tmp_path: Path) -> None:
    """Installed by pip, with its dependencies on the path: no checkout, no editable install."""
    run([sys.executable, "-m", "venv", str(tmp_path / "bare")], tmp_path)
    python = tmp_path / "bare" / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--no-deps", "--no-index", "--quiet"]
    # The checkout must not be on the path: pip would treat its *.egg-info as the installed package.
    run([*pip, str(wheel_of(dist))], tmp_path, PYTHONPATH="")
    installed = Path(
        run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], tmp_path)
        .strip()
    )  # fmt: skip
    (installed / "needed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    said = run(
        [str(python.with_name("lmms-rpts")), "doctor", "--judge", "lexical"],
        tmp_path,
        PATH=f"{python.parent}:{os.defpath}",  # another environment may be active
        PYTHONPATH="",
        RPTS_PATH=str(write_folder(tmp_path / "data")),
    )
    registered = rf"^ok +lmms-rpts +{re.escape(lmms_rpts.__version__)}, registered with lmms-eval"
    assert re.search(registered, said, re.MULTILINE)
    code = "import lmms_rpts; print(lmms_rpts.__file__)"
    place = run([str(python), "-c", code], tmp_path, PYTHONPATH="")
    assert Path(place.splitlines()[-1]).is_relative_to(installed), place


def test_the_citation_is_of_this_version() -> None:
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert found["cff-version"] == "1.2.0"
    assert found["version"] == lmms_rpts.__version__
    assert {"message", "title", "authors"} <= found.keys(), "required by CFF 1.2"
    assert found["type"] == "software"
    assert found["license"] == "MIT"
    (paper,) = found["references"]
    assert {"type", "title", "authors"} <= paper.keys(), "required by CFF 1.2"
    assert [each["family-names"] for each in paper["authors"]] == ["Wang", "Zhang"]
    assert paper["url"].endswith("2511.06899")


def test_each_dependency_has_a_range_and_a_reason() -> None:
    """Dependencies that users install; test tools may have any version."""
    section = PROJECT[PROJECT.index("dependencies = [") : PROJECT.index("test = [")]
    lines = [line.strip() for line in section.splitlines()]
    for at, line in enumerate(lines):
        if re.match(r'"(?!lmms-rpts)', line):
            assert re.search(r"[<>=]=?\d", line), line
            assert "#" in line or lines[at - 1].startswith("#"), line


@table("name, jobs", ("ci", {"check", "test"}), ("release", {"build", "test", "publish"}))
def test_the_workflows(name: str, jobs: set[str]) -> None:
    """They parse, have minimal permissions, and use pinned actions."""
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    found: dict[Any, Any] = yaml.safe_load(text)
    assert found["permissions"] == {"contents": "read"}
    assert set(found["jobs"]) == jobs
    allowed = {"publish": {"id-token": "write"}}
    for title, job in found["jobs"].items():
        assert job.get("permissions") == allowed.get(title)
        assert job["timeout-minutes"]
        for step in job["steps"]:
            assert "${{" not in step.get("run", ""), "an expression in a script can inject code"
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used
    for action, comment in used:
        assert re.search(r"@[0-9a-f]{40}$", action), action
        assert re.match(r" # v\d", comment), action


def test_the_syntax_is_that_of_the_oldest_python() -> None:
    assert 'requires-python = ">=3.10"' in PROJECT
    assert 'python_version = "3.10"' in PROJECT
    for path in (ROOT / "lmms_rpts").rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 10))


@pytest.mark.parametrize("target", ["check", "docs", "docs-serve", "dist"])
def test_make_targets_exist(target: str) -> None:
    make = ["make", "-n", target]
    subprocess.run(make, cwd=ROOT, check=True, capture_output=True)
