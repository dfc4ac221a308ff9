"""``lmms-rpts doctor``: it finds problems, explains how to fix them, and reveals no secrets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lmms_rpts.commands.doctor as module
from lmms_rpts.cli import app
from lmms_rpts.judging import client
from lmms_rpts.judging.cache import FILE
from tests.support.cmmath import write_cmmath
from tests.support.environment import VARIABLES
from tests.support.instances import write_folder
from tests.support.judge_server import (
    Answer,
    JudgeServer,
    ServerReply,
    blind,
    constant,
    images_of,
    text_of,
)
from tests.support.lmms import clean_environment
from tests.support.rome import write_rome
from tests.support.tables import table
from tests.support.tiny_lm import build_tiny_lm
from tests.support.waiting import LONGEST

KEY = "sk-verysecret0123456789abcdef"
JUDGE = "judge openai:m"


@dataclass(frozen=True)
class Shown:
    """What the command printed, and what it asked the judge."""

    code: int
    text: str
    asked: list[Any]

    def about(self, name: str) -> str:
        """One check: its state, and its lines in one."""
        pattern = rf"^\S[\w ]+ {re.escape(name)}(?: .*)?$(\n {{13}}.*)*"
        lines = re.search(pattern, self.text, re.MULTILINE)
        assert lines, f"nothing about {name} in:\n{self.text}"
        return " ".join(lines[0].split())


Doctor = Callable[..., Shown]


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Doctor:
    """The command without its slow check, in an environment that is fine; ``env``: settings.

    With ``answer`` there is a judge ``openai:m`` on a server, else the judge is ``lexical``.
    """
    for name in (*VARIABLES, "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "kept"))
    monkeypatch.setenv("RPTS_PATH", str(write_folder(tmp_path / "data")))
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.001)  # no need to wait in these tests
    monkeypatch.setattr(module, "check_lmms_eval", list)

    def examine(*arguments: str, answer: Answer | None = None, **env: str) -> Shown:
        with JudgeServer(answer or constant("")) as server, pytest.MonkeyPatch.context() as patch:
            own = {"OPENAI_BASE_URL": server.url} if answer else {}
            judge = {"LMMS_RPTS_JUDGE": "openai:m" if answer else "lexical"}
            for name, value in {**judge, **own, **env}.items():
                patch.setenv(name, value)
            done = CliRunner().invoke(app, ["doctor", *arguments])
            assert "verysecret" not in done.output
            assert "\x1b" not in done.output
            return Shown(done.exit_code, done.output, server.requests)

    return examine


# ---- the judge is asked about a plainly valid and a plainly invalid step


def judging(valid: float, invalid: float) -> Answer:
    def answer(body: Any) -> str:
        closed = "The village shop is closed today." in text_of(body)
        return f"It may follow.\nScore: {valid if closed else invalid}"

    return answer


RIGHT = judging(1, 0)
WEAK = ("problem ", "its reply: 'It may", "lmms-rpts validate --judge openai:m")
WRONG_KEY = ("problem ", "(401): Incorrect API key: ***", "-> check ", "OPENAI_API_KEY")
QUOTED = ("problem ", "cannot be parsed as a score", r"\x1b[31mI like [bold]bread[/bold]\x07")


@table(
    "answer, env, calls, shown",
    (RIGHT, {"LMMS_RPTS_PRICE": "1000/3000"}, 2, ("ok ", "scores 1 for what is plainly right, 0 ",
                                                    "20 tokens in, 10 out; cost 0.05")),
    (judging(0.5, 0.4), {}, 2, ("ok ", "scores 0.5 for what is plainly right, 0.4 for")),
    *((judging(*scores), {}, 2, WEAK) for scores in ((0.4, 0.0), (0.5, 0.5), (0, 1))),
    (lambda _: ServerReply(f"Incorrect API key: {KEY}", status=401), {}, 1, WRONG_KEY),
    (constant("\x1b[31mI like [bold]bread[/bold]\x07"), {}, 6, QUOTED),
    (RIGHT, {"LMMS_RPTS_MAX_JUDGE_TOKENS": "5"}, 0, ("problem ", "the budget of 5 (judge tokens)")),
)  # fmt: skip
def test_a_judge_that_answers(
    doctor: Doctor, answer: Answer, env: dict[str, str], calls: int, shown: tuple[str, ...]
) -> None:
    said = doctor(answer=answer, OPENAI_API_KEY=KEY, **env)
    line = said.about(JUDGE)
    assert [words for words in shown if words not in line] == []
    assert (said.code, len(said.asked)) == (int(shown[0] == "problem "), calls)
    assert re.search(r"Asking openai:m at http://[\d.:]+/v1: 2 questions", said.text)
    assert re.search(r"http://[\d.:]+/v1", line)
    assert ("1 problem." if said.code else "No problem found.") in said.text
    assert len(doctor(answer=answer, **env).asked) == calls, "nothing is cached"


def test_a_server_that_is_not_there_or_hangs(doctor: Doctor, closed_port: int) -> None:
    address = f"http://127.0.0.1:{closed_port}/v1"
    said = doctor("--judge", "openai:m", OPENAI_API_KEY=KEY, OPENAI_BASE_URL=address)
    assert said.code == 1
    assert f"no connection to {address}" in said.about(JUDGE)
    assert "-> check that the server runs, OPENAI_BASE_URL" in said.about(JUDGE)
    over = threading.Event()

    def answer(body: Any) -> str:
        over.wait(LONGEST)
        return "Score: 1"

    said = doctor(answer=answer, LMMS_RPTS_TIMEOUT="1")
    over.set()
    line = said.about(JUDGE)
    assert said.code == 1
    assert "no answer within 2 s (LMMS_RPTS_TIMEOUT)" in line
    assert len(said.asked) <= 2, "retries do not add up to minutes"


def red_disc(body: Any) -> str | ServerReply:
    """A judge that sees the drawn image, and gives a high score only if the claim matches."""
    seen = images_of(body)
    if not seen:
        return RIGHT(body)
    (image,) = seen
    red, green, blue = image.colour
    assert image.size == (224, 224)
    assert red > green == pytest.approx(blue, abs=2)
    return f"Score: {0.9 if 'red disc' in text_of(body) else 0.1}"


@table(
    "evidence, answer, shown",
    ("image", red_disc, ("ok ", "scores 0.9 for what is plainly right, 0.1 for", "a drawn image")),
    ("both", lambda body: "Score: 1" if images_of(body) else RIGHT(body),
     ("problem ", "scores 1 for what is plainly right, 1 for", "-> choose a model with vision")),
    ("image", blind("image input is not supported", otherwise=RIGHT),
     ("problem ", "(400): image input is not supported", "LMMS_RPTS_EVIDENCE=facts")),
)  # fmt: skip
def test_a_judge_is_shown_an_image_if_that_is_set(
    doctor: Doctor, evidence: str, answer: Answer, shown: tuple[str, ...]
) -> None:
    said = doctor(answer=answer, LMMS_RPTS_EVIDENCE=evidence)
    line = said.about(f"{JUDGE}: images")
    assert [words for words in shown if words not in line] == []
    assert "4 questions" in said.text
    assert "images" not in doctor(answer=red_disc).about(JUDGE)


@table(
    "judge, code, shown",
    ("none", 0, ("responses are saved and can be scored later",)),
    ("lexical", 0, ("ok ", "about as well as chance", "docs/judging.md")),
    ("", 1, ("problem ", "openai:MODEL", "hf:NAME_OR_PATH", "lexical", "none")),
    ("opnai:m", 1, ("Unknown judge 'opnai:m'", "Did you mean openai?")),
    ("openai:m", 1, ("The judge 'openai:m' cannot be used", "set OPENAI_API_KEY")),
)
def test_a_judge_without_a_server(doctor: Doctor, judge: str, code: int, shown: Any) -> None:
    said = doctor(LMMS_RPTS_JUDGE=judge)
    line = said.about(f"judge {judge}" if code == 0 else "judge")
    assert said.code == code
    assert [words for words in shown if words not in line] == []


def test_a_local_model_is_loaded_and_asked(doctor: Doctor, tmp_path: Path) -> None:
    judge = f"hf:{build_tiny_lm(tmp_path / 'tiny')}"
    said = doctor("--judge", judge)
    assert f"Asking {judge} at this machine" in said.text
    assert "cannot be parsed as a score" in said.about(f"judge {judge}")


# ---- settings, secrets


@table(
    "name, value, fault, remedy",
    ("LMMS_RPTS_TIMEOUT", "soon", "LMMS_RPTS_TIMEOUT='soon'", "should be a valid number"),
    ("LMMS_RPTS_TIMEOT", "9", "Unknown setting LMMS_RPTS_TIMEOT", "-> Did you mean"),
)
def test_a_wrong_setting(doctor: Doctor, name: str, value: str, fault: str, remedy: str) -> None:
    said = doctor(**{name: value})
    line = said.about("settings")
    assert [line.startswith("problem "), fault in line, remedy in line] == [True] * 3
    assert said.about("lmms-eval").startswith("ok "), "checks that need no settings still run"
    assert "data and judge were not checked.\n\n1 problem." in said.text


@table(
    "name, value",
    ("LMMS_RPTS_JUDGE", f"openai:{KEY}"),
    ("LMMS_RPTS_TIMEOUT", KEY),
    ("OPENAI_BASE_URL", f"https://me:{KEY}@judge.example/v1"),
    ("RPTS_PATH", f"/nowhere?key={KEY}"),
)
def test_a_key_in_a_wrong_place_stays_secret(doctor: Doctor, name: str, value: str) -> None:
    assert "judge" in doctor(**{name: value}).text  # the fixture looks for the key


def test_a_check_that_crashes_is_a_problem_without_secrets(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash() -> Any:
        raise LookupError(f"key {KEY}, https://me:pass-w0rd@x.example/v1, Azure: pass-w0rd\x1b[2J")

    monkeypatch.setattr(module, "check_packages", crash)
    said = doctor(AZURE_API_KEY="pass-w0rd")
    assert said.about("installation").startswith("problem installation this check failed: Lookup")
    assert "pass-w0rd" not in said.text


# ---- data, cache


@table(
    "name, variable, write, shown",
    ("RPTS-Eval", "RPTS_PATH", write_folder, "questions: en: 3, zh: 3 (RPTS_PATH="),
    ("ROME", "ROME_PATH", write_rome, "geo: 2"),
    ("CMMaTH", "CMMATH_PATH", write_cmmath, "images: 4"),
)
def test_data_in_a_folder(
    doctor: Doctor, tmp_path: Path, name: str, variable: str, write: Any, shown: str
) -> None:
    assert name not in doctor(RPTS_PATH="").text, "nothing is said of what is not set up"
    (tmp_path / name).mkdir()
    folder = write(tmp_path / name)
    whole = doctor(**{variable: str(folder)}).about(name)
    assert whole.startswith(f"ok {name} all images; questions: ")
    assert shown in whole
    for path in folder.rglob("*"):
        if path.suffix in (".png", ".jpg"):
            path.unlink()
    assert f"problem {name}" in " ".join(doctor(**{variable: str(folder)}).text.split())


def test_data_that_are_missing_or_damaged(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "data" / "texts_zh.json").unlink()
    part = doctor()
    assert "texts_zh.json" in part.about("RPTS-Eval, zh")
    assert "-> Set it to a folder" in part.about("RPTS-Eval, zh")
    assert "questions: en: 3" in part.text
    (tmp_path / "data" / "images" / "1.png").write_text("no image")
    assert "1.png (" in doctor().about("RPTS-Eval, en")


def test_a_cache_that_cannot_be_used(doctor: Doctor, tmp_path: Path) -> None:
    assert doctor().about("settings").startswith("ok ")
    (tmp_path / "kept" / FILE).write_text("no database, but long enough to be taken for one" * 50)
    said = doctor().about("settings")
    assert said.startswith("problem ")
    assert f"{tmp_path / 'kept' / FILE} cannot be used" in said


# ---- the installation


def test_versions_are_held_against_our_requirements(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed(name: str) -> str:
        if name == "tqdm":
            raise PackageNotFoundError(name)
        return {"lmms-eval": "0.9.1"}.get(name) or version(name)

    monkeypatch.setattr(module, "version", installed)
    said = doctor()
    assert "0.9.1 is installed, but lmms-rpts needs <0.8,>=0.7.3" in said.about("lmms-eval")
    assert "-> pip install 'tqdm>=" in said.about("tqdm")
    assert said.about("datasets").startswith("ok ")
    assert "ruff" not in said.text, "extras are not needed"
    assert "registered with lmms-eval" in said.about("lmms-rpts")
    point = EntryPoint("lmms_rpts", "lmms_rpts.old:plugin", "lmms_eval.models")
    monkeypatch.setattr(module, "entry_points", lambda group: [point])
    assert "is not registered with lmms-eval" in doctor().about("lmms-rpts")


def test_lmms_eval_really_finds_our_tasks() -> None:
    """Its program runs in a process of its own, which imports lmms-eval and torch."""
    (tasks,) = module.check_lmms_eval()
    assert tasks.state == "ok"
    assert re.match(r"lmms-eval finds \d+ tasks: rpts_eval, rpts_eval_en, .* more$", tasks.said)


def test_a_package_that_is_missing(tmp_path: Path) -> None:
    """The command itself works, and says what its subprocess says."""
    (tmp_path / "lmms_eval").mkdir()
    (tmp_path / "lmms_eval" / "__init__.py").write_text("raise ImportError('broken here')")
    code = "from lmms_rpts.cli import app; app(['doctor'])"
    env = clean_environment()
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), env.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search("^ok +lmms-rpts", done.stdout, re.MULTILINE)
    assert "lmms-eval does not find rpts_eval_en: ImportError: broken here" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
