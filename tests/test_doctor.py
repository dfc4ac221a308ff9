"""``lmms-rpts doctor``: it finds problems, explains how to fix them, and reveals no secrets."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.commands.doctor import examination as installation
from lmms_rpts.commands.doctor.examination import Stage, plan
from lmms_rpts.judging import client
from lmms_rpts.judging.cache import FILE, AnswerCache
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import Reply, Usage
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
from tests.support.lmms import clean_environment, forked
from tests.support.rome import write_rome
from tests.support.tables import table
from tests.support.tiny_lm import build_tiny_lm
from tests.support.waiting import LONGEST

VERSION = Prompts().version()
KEY = "sk-verysecret0123456789abcdef"
JUDGE = "judge openai:m"


@dataclass(frozen=True)
class Said:
    """What the command printed, and what it asked the judge."""

    code: int
    text: str
    asked: list[Any]

    def about(self, name: str) -> str:
        """One check: its state, and its lines in one."""
        pattern = rf"^\S[\w ]+ {re.escape(name)}(?: .*)?$(\n {{13}}.*)*"
        found = re.search(pattern, self.text, re.MULTILINE)
        assert found, f"nothing about {name} in:\n{self.text}"
        return " ".join(found[0].split())

    @property
    def checks(self) -> dict[str, dict[str, str]]:
        """The checks by name, of ``--json``."""
        return {check["name"]: check for check in json.loads(self.text)}


Doctor = Callable[..., Said]


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Doctor:
    """The command without slow checks, in an environment that is fine except for the judge.

    With ``answer`` there is a judge ``openai:m`` on a server; ``env`` are further settings.
    """
    for name in (*VARIABLES, "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "kept"))
    monkeypatch.setenv("RPTS_PATH", str(write_folder(tmp_path / "data")))
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.001)  # no need to wait in these tests

    def examine(*arguments: str, answer: Answer | None = None, **env: str) -> Said:
        with JudgeServer(answer or constant("")) as server, pytest.MonkeyPatch.context() as patch:
            if answer:
                env = {"OPENAI_BASE_URL": server.url, "LMMS_RPTS_JUDGE": "openai:m", **env}
            for name, value in env.items():
                patch.setenv(name, value)
            done = CliRunner().invoke(app, ["doctor", "--quick", *arguments])
            assert KEY not in done.output
            assert "\x1b" not in done.output
            return Said(done.exit_code, done.output, server.requests)

    return examine


def lexical(doctor: Doctor, *arguments: str, **env: str) -> Said:
    return doctor("--judge", "lexical", *arguments, **env)


# ---- the judge is asked about a plainly valid and a plainly invalid step


def judging(valid: float, invalid: float) -> Answer:
    def answer(body: Any) -> str:
        closed = "The village shop is closed today." in text_of(body)
        return f"It may follow.\nScore: {valid if closed else invalid}"

    return answer


RIGHT = judging(1, 0)


def called(model: object) -> Answer:
    """A server that names its model: llama.cpp accepts any name and answers with its only one."""

    def answer(body: Any) -> ServerReply:
        choice = {"message": {"content": RIGHT(body)}, "finish_reason": "stop"}
        return ServerReply(body={"choices": [choice], "model": model})

    return answer


def no_telling(valid: float, invalid: float) -> tuple[str, ...]:
    scores = f"scores {valid:g} for a plainly valid step, {invalid:g} for a plainly"
    return scores, f"'It may follow.\\nScore: {valid}'", "lmms-rpts validate --judge openai:m"


@table(
    "answer, env, calls, state, shown",
    (
        *(RIGHT, {"OPENAI_API_KEY": KEY, "LMMS_RPTS_PRICE": "1000/3000"}, 2, "ok"),
        ("scores 1 for a plainly valid step, 0 for", "20 tokens in, 10 out; cost 0.05"),
    ),
    (
        *(lambda _: ServerReply(f"Incorrect API key: {KEY}", status=401), {"OPENAI_API_KEY": KEY}),
        *(1, "problem", ("(401): Incorrect API key: ***", "-> check the key (OPENAI_API_KEY)")),
    ),
    (
        *(constant("\x1b[31mI like [bold]bread[/bold]\x07"), {}, 6, "problem"),
        (
            *("cannot be parsed as a score", "6 calls; 60 tokens in, 30 out", "(setting prompts)"),
            r"\x1b[31mI like [bold]bread[/bold]\x07",  # quoted, not obeyed
        ),
    ),
    (judging(0.5, 0.4), {}, 2, "ok", no_telling(0.5, 0.4)[:1]),
    *(
        (judging(*scores), {}, 2, "problem", no_telling(*scores))
        for scores in ((0.4, 0.0), (1, 0.5), (1, 1), (0.5, 0.5), (0, 1))
    ),
    *((called(name), {}, 2, "ok", ()) for name in ("m", None, 7)),
    (
        *(RIGHT, {"LMMS_RPTS_MAX_JUDGE_TOKENS": "5"}, 0, "problem"),
        ("-> increase LMMS_RPTS_MAX_JUDGE_TOKENS",),
    ),
)
def test_a_judge_that_answers(
    doctor: Doctor, answer: Answer, env: dict[str, str], calls: int, state: str, shown: Any
) -> None:
    said = doctor(answer=answer, **env)
    line = said.about(JUDGE)
    assert (said.code, len(said.asked)) == (int(state == "problem"), calls)
    assert line.startswith(f"{state} ")
    for words in shown:
        assert words in line
    assert ("calls its model" in line) == ("calls its model" in str(shown))
    assert ("lmms-rpts validate" in line) == ("lmms-rpts validate" in str(shown))
    asked = "Waiting for 2 replies of openai:m, at most 240 s (LMMS_RPTS_TIMEOUT)"
    assert asked in said.text
    count = "1 problem" if state == "problem" else "No problem found"
    assert f"{count}; " in said.text


def test_answers_are_neither_cached_nor_asked_for_offline(doctor: Doctor, tmp_path: Path) -> None:
    assert [len(doctor(answer=RIGHT).asked) for _ in range(2)] == [2, 2]
    said = doctor("--offline", answer=RIGHT)
    assert (said.code, said.asked) == (0, [])
    assert said.about(JUDGE).startswith("not checked ")
    assert "none yet, in" in said.about("cached replies")
    assert not (tmp_path / "kept").exists(), "reading changes nothing"


@table(
    "variable, address, shown",
    ("OPENAI_BASE_URL", "http://127.0.0.1:{}/v1", ("no connection to http://127", "OPENAI_BASE")),
    (
        *("HTTPS_PROXY", "http://127.0.0.1:{}"),
        ("no connection to", "-> check the internet connection or proxy; for your own server, set"),
    ),
)
def test_a_server_that_is_not_there(
    doctor: Doctor, closed_port: int, variable: str, address: str, shown: tuple[str, ...]
) -> None:
    env = {"OPENAI_API_KEY": KEY, variable: address.format(closed_port)}
    said = doctor("--judge", "openai:m", **env)
    for words in shown:
        assert words in said.about(JUDGE)
    assert said.code == 1


def test_a_server_that_hangs(doctor: Doctor) -> None:
    over = threading.Event()

    def answer(body: Any) -> str:
        over.wait(LONGEST)
        return "Score: 1"

    said = doctor(answer=answer, LMMS_RPTS_TIMEOUT="1")
    over.set()
    line = said.about(JUDGE)
    assert said.code == 1
    assert "no answer within 1 s" in line or "too long" in line
    assert "LMMS_RPTS_TIMEOUT" in line
    assert len(said.asked) <= 2, "retries do not add up to minutes"


def red_disc(body: Any) -> str | ServerReply:
    """A judge that sees the drawn image, and gives a high score only if the claim matches."""
    seen = images_of(body)
    if not seen:
        return RIGHT(body)
    assert [image.size for image in seen] == [(224, 224)]
    red, green, blue = seen[0].colour
    assert red > green == pytest.approx(blue, abs=2)
    return f"Score: {0.9 if 'red disc' in text_of(body) else 0.1}"


@table(
    "evidence, answer, state, message",
    *(
        (
            evidence,
            red_disc,
            "ok",
            "it has vision: scores 0.9 for what a drawn image shows, 0.1 for",
        )
        for evidence in ("image", "both")
    ),
    ("image", constant("Score: 1"), "problem", "does not see the image: scores 1 for what"),
    ("image", constant("Score: 0"), "problem", "does not see the image: scores 0 for what"),
    (
        *("image", blind("image input is not supported", otherwise=RIGHT), "problem"),
        "(400): image input is not supported",
    ),
)
def test_a_judge_is_shown_an_image_if_that_is_set(
    doctor: Doctor, evidence: str, answer: Answer, state: str, message: str
) -> None:
    said = doctor(answer=answer, LMMS_RPTS_EVIDENCE=evidence)
    line = said.about(f"{JUDGE}: images")
    assert (said.code, line.split()[0]) == (int(state == "problem"), state)
    assert message in line
    assert ("LMMS_RPTS_EVIDENCE=facts" in line) == (state == "problem")
    assert "images" not in doctor(answer=red_disc).about(JUDGE)
    assert ("has no vision" in lexical(doctor, LMMS_RPTS_EVIDENCE=evidence).text) is True


# ---- judges without a server


@table(
    "judge, code, shown",
    ("none", 0, ("responses are saved and can be scored later",)),
    ("lexical", 0, ("ok ", "not comparable", "AUC 0.48 to 0.58", "docs/judging.md")),
    ("", 1, ("problem ", "openai:MODEL", "hf:NAME_OR_PATH", "lexical", "none")),
    ("opnai:m", 1, ("Unknown judge 'opnai:m'", "Did you mean openai?")),
    ("openai:m", 1, ("The judge 'openai:m' cannot be used", "set OPENAI_API_KEY")),
)
def test_a_judge_without_a_server(doctor: Doctor, judge: str, code: int, shown: Any) -> None:
    said = doctor(LMMS_RPTS_JUDGE=judge)
    assert said.code == code
    line = said.about(f"judge {judge}" if code == 0 else "judge")
    for words in shown:
        assert words in line


def test_a_local_model_is_loaded_if_wanted(doctor: Doctor, tmp_path: Path) -> None:
    judge = f"hf:{build_tiny_lm(tmp_path / 'tiny')}"
    assert "--load" in doctor("--judge", judge).about(f"judge {judge}")
    loaded = doctor("--judge", judge, "--load")
    assert "cannot be parsed as a score" in loaded.about(f"judge {judge}")


# ---- settings, secrets


@table(
    "name, value, fault, remedy",
    ("LMMS_RPTS_TIMEOUT", "soon", "LMMS_RPTS_TIMEOUT='soon'", "should be a valid number"),
    ("LMMS_RPTS_TIMEOT", "9", "Unknown setting LMMS_RPTS_TIMEOT", "Did you mean"),
    ("RANK", "first", "RANK='first'", "should be a valid integer"),
)
def test_a_wrong_setting(doctor: Doctor, name: str, value: str, fault: str, remedy: str) -> None:
    found = lexical(doctor, "--json", **{name: value}).checks
    assert (found["settings"]["state"], found["settings"]["said"]) == ("problem", fault)
    assert remedy in found["settings"]["remedy"]
    for dependent in ("judge", "RPTS-Eval", "cached replies"):
        assert found[dependent]["state"] == "not checked"
    assert found["lmms-eval"]["state"] == "ok", "checks that need no settings still run"


def test_settings_that_are_not_the_default_are_named(doctor: Doctor) -> None:
    said = lexical(doctor, LMMS_RPTS_CONCURRENCY="3", OPENAI_API_KEY=KEY).about("settings")
    assert "judge = lexical (--judge)" in said
    assert "concurrency = 3 (LMMS_RPTS_CONCURRENCY)" in said
    assert "timeout" not in said


def test_json_says_the_same(doctor: Doctor) -> None:
    as_json, as_text = doctor("--json"), doctor()
    assert as_json.code == as_text.code == 1
    for name, check in as_json.checks.items():
        assert set(check) == {"name", "state", "said", "remedy"}
        assert check["said"]
        assert (check["state"] == "problem") == (name == "judge") == bool(check["remedy"])
        assert as_text.about(name).startswith(check["state"])


@table(
    "name, value",
    ("LMMS_RPTS_JUDGE", f"openai:{KEY}"),
    ("LMMS_RPTS_JUDGE", KEY),
    ("LMMS_RPTS_TIMEOUT", KEY),
    ("OPENAI_BASE_URL", f"https://me:{KEY}@judge.example/v1"),
    ("OPENAI_API_KEY", f"{KEY} {KEY}"),
    ("RPTS_PATH", f"/nowhere?key={KEY}"),
)
def test_a_key_in_a_wrong_place_stays_secret(doctor: Doctor, name: str, value: str) -> None:
    for arguments in (("--offline",), ("--offline", "--json")):
        said = doctor(*arguments, **{"LMMS_RPTS_JUDGE": "openai:m", name: value})
        assert said.code in (0, 1)
        assert "verysecret" not in said.text


@table(
    "words",
    f"key {KEY}",
    "GET https://me:pass-w0rd@x.example/v1?api_key=pass-w0rd&b=1",
    "Azure key: pass-w0rd",
)
def test_a_check_that_crashes_is_a_problem_without_secrets(
    monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("AZURE_API_KEY", "pass-w0rd")

    def crash() -> Any:
        raise LookupError(f"{words}\x1b[2J")

    (check,) = Stage("odd", "", crash).perform()
    assert (check.name, check.state, bool(check.remedy)) == ("odd", "problem", True)
    assert "LookupError" in check.said
    for secret in ("verysecret", "pass-w0rd", "\x1b"):
        assert secret not in check.said


# ---- data


def test_data_in_a_folder(doctor: Doctor, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "whole")
    whole = lexical(doctor, RPTS_PATH=str(folder)).about("RPTS-Eval")
    assert whole.startswith("ok RPTS-Eval all images; questions: en: 3, zh: 3")
    assert str(folder) in whole
    (tmp_path / "data" / "texts_zh.json").unlink()
    part = lexical(doctor, "--json").checks
    assert part["RPTS-Eval"]["state"] == "ok"
    chinese = part["RPTS-Eval, zh"]
    assert "texts_zh.json" in chinese["said"]
    assert chinese["remedy"].startswith("Set it to a folder")
    (tmp_path / "data" / "images" / "1.png").write_text("no image")
    found = lexical(doctor, "--json").checks["RPTS-Eval"]
    assert found["state"] == "problem"
    assert "1.png (" in found["said"]
    assert found["remedy"].startswith("Fix or complete")
    gone = lexical(doctor, RPTS_PATH=str(tmp_path / "nowhere"))
    assert "nowhere' is not a folder with texts_en.json" in gone.about("RPTS-Eval")


def test_data_of_the_hub_is_left_to_the_first_run(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RPTS_PATH")
    nothing = lexical(doctor)
    assert (nothing.code, nothing.about("RPTS-Eval").split()[:2]) == (0, ["not", "checked"])
    assert "the first run downloads" in nothing.about("RPTS-Eval")


@table(
    "name, variable, write, shown",
    ("ROME", "ROME_PATH", write_rome, "geo: 2"),
    ("CMMaTH", "CMMATH_PATH", write_cmmath, "images: 4"),
)
def test_data_of_other_benchmarks(
    doctor: Doctor, tmp_path: Path, name: str, variable: str, write: Any, shown: str
) -> None:
    assert name not in lexical(doctor).text
    (tmp_path / name).mkdir()
    folder = write(tmp_path / name)
    whole = lexical(doctor, **{variable: str(folder)}).about(name)
    assert whole.startswith("ok ")
    assert shown in whole
    for each in folder.rglob("*"):
        if each.suffix in (".png", ".jpg"):
            each.unlink()
    assert f"problem {name}" in " ".join(lexical(doctor, **{variable: str(folder)}).text.split())


def test_a_grader_without_a_judge(doctor: Doctor, tmp_path: Path) -> None:
    env = {"CMMATH_PATH": str(write_cmmath(tmp_path / "cmmath")), "CMMATH_GRADER": "judge"}
    assert lexical(doctor, **env).about("CMMaTH").startswith("problem ")


# ---- cached replies, validity


def test_cached_replies(doctor: Doctor, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    cache = AnswerCache(folder)
    for number in range(3):
        cache.store(f"{number}", "openai:m", "image", Reply("Score: 1", Usage(1, 1)))
    cache.close()
    assert f"in {folder}" in lexical(doctor).about("cached replies")
    (folder / FILE).write_text("no database, but long enough to be taken for one" * 50)
    assert f"{folder / FILE} cannot be used" in lexical(doctor).about("cached replies")
    below = lexical(doctor, LMMS_RPTS_CACHE=str(folder / FILE / "below"))
    assert (below.code, "is not a folder" in below.about("cached replies")) == (1, True)
    assert "is off" in lexical(doctor, LMMS_RPTS_CACHE="off").about("cached replies")


# ---- the installation


def test_versions_are_held_against_our_requirements() -> None:
    def installed(name: str) -> str:
        if name == "tqdm":
            raise PackageNotFoundError(name)
        return {"lmms-eval": "0.9.1"}.get(name) or version(name)

    found = {check.name: check for check in installation.check_packages(installed)}
    wrong = found["lmms-eval"]
    assert wrong.state == found["tqdm"].state == "problem"
    assert wrong.said.startswith("0.9.1 is installed, but lmms-rpts needs")
    for bound in (">=0.7.3", "<0.8"):
        assert bound in wrong.said
        assert bound in (wrong.remedy or "")
    assert str(found["tqdm"].remedy).startswith("pip install 'tqdm>=")
    assert found["datasets"].state == "ok"
    assert "pytest" not in found, "extras are not needed"

    def nothing(name: str) -> str:
        raise PackageNotFoundError(name)

    found_none = installation.check_packages(nothing)
    assert [(each.name, each.state) for each in found_none] == [("lmms-rpts", "problem")]


@table(
    "values, state",
    (["lmms_rpts.plugin:manifests"], "ok"),
    ([], "problem"),
    (["lmms_rpts.old:plugin"], "problem"),
)
def test_the_entry_point(values: list[str], state: str) -> None:
    found = [EntryPoint("lmms_rpts", value, "lmms_eval.models") for value in values]
    found.append(EntryPoint("other", "other:manifests", "lmms_eval.models"))
    (check,) = installation.check_entry_point(lambda: found)
    assert check.state == state
    assert installation.check_entry_point()[0].state == "ok", "the real one"


def test_the_command_of_another_environment(doctor: Doctor, tmp_path: Path) -> None:
    other, link = tmp_path / "bin" / "lmms-eval", tmp_path / "links" / "lmms-eval"
    for each in (other, link):
        each.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    said = lexical(doctor, PATH=str(other.parent))
    assert str(other) in said.about("tasks")
    link.symlink_to(Path(sys.executable).with_name("lmms-eval"))
    assert lexical(doctor, PATH=str(link.parent)).code == 0, "a link to ours is ours"


@table(
    "code, reason",
    ("import no_such_thing", "No module named 'no_such_thing'"),
    ("raise SystemExit(3)", "status 3"),
    ("import os; os.abort()", "status -6"),
    ("import time; time.sleep(3600)", "over 1 s"),
)
def test_a_python_that_ends_otherwise(code: str, reason: str) -> None:
    with pytest.raises(installation.ProbeError, match=reason):
        installation._ask_python(code, 1.0 if "sleep" in code else LONGEST)


def test_what_lies_in_the_working_folder_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rich.py").write_text("raise RuntimeError('not this one')")
    monkeypatch.chdir(tmp_path)
    code = "print('noise'); import rich; found = [rich.__name__]"
    assert installation._ask_python(code, LONGEST) == ["rich"]


@pytest.mark.usefixtures("doctor")
def test_lmms_eval_really_finds_our_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch and lmms-eval start in separate processes that import lmms-eval and us."""

    def run(command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(forked(command, importing=True), **how)

    known = {name: getattr(subprocess, name) for name in ("DEVNULL", "TimeoutExpired")}
    monkeypatch.setattr(installation, "subprocess", SimpleNamespace(run=run, **known))
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    found = {check.name: check for stage in plan(offline=True) for check in stage.perform()}
    assert {check.state for name, check in found.items() if name != "validity"} == {"ok"}
    names = r"lmms-eval finds \d+ tasks: rpts_eval, rpts_eval_en, .* and \d+ more$"
    assert re.match(names, found["tasks"].said)
    assert re.match(r"\d+\.\d+", found["torch"].said)


@table("module, output, error", ("lmms_eval", r"^ok +lmms-rpts", r"\A(?!.*Traceback)"))
def test_a_package_that_is_missing(module: str, output: str, error: str) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = None; from lmms_rpts.cli import app; "
        "app(['doctor', '--quick'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean_environment(), capture_output=True, text=True
    )
    assert done.returncode == 1
    assert re.search(output, done.stdout, re.MULTILINE)
    assert re.search(error, done.stderr, re.DOTALL)
