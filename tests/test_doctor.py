"""``lmms-rpts doctor``: it finds problems, explains how to fix them, and reveals no secrets."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import EntryPoint, PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub import constants
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from lmms_rpts.commands.doctor import installation
from lmms_rpts.commands.doctor.examination import Stage, plan
from lmms_rpts.judging import JudgeRequest, Usage, client
from lmms_rpts.judging.cache import FILE, AnswerCache
from lmms_rpts.judging.prompts import Prompts
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
from tests.support.validity import make_set, make_validity, write_validity
from tests.support.waiting import LONGEST

VERSION = Prompts().version()
KEY = "sk-verysecret0123456789abcdef"
Doctor = Callable[..., Result]


def judging(valid: float, invalid: float) -> Answer:
    """Scores of the plainly valid and the plainly invalid step."""

    def answer(body: Any) -> str:
        closed = "The village shop is closed today." in text_of(body)
        return f"It may follow.\nScore: {valid if closed else invalid}"

    return answer


RIGHT = judging(1, 0)


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Doctor:
    """The command without slow checks, in an environment that is fine except for the judge."""
    for name in (*VARIABLES, "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "kept"))
    monkeypatch.setenv("RPTS_PATH", str(write_folder(tmp_path / "data")))
    return lambda *arguments: CliRunner().invoke(app, ["doctor", "--quick", *arguments])


@pytest.fixture
def ask(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Result, Any]]:
    """The command with a judge on a server that answers as given."""

    def run(answer: Answer, *arguments: str, judge: str = "openai:m") -> tuple[Result, Any]:
        with JudgeServer(answer) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("LMMS_RPTS_JUDGE", judge)
            return doctor(*arguments), server

    return run


def about(said: str, name: str) -> str:
    """All lines of one check: the first, and the indented ones below it."""
    found = re.search(rf"^\S[\w ]+ {re.escape(name)}(?: .*)?$(\n {{13}}.*)*", said, re.MULTILINE)
    assert found, f"nothing about {name} in:\n{said}"
    return found[0]


def checks(result: Result) -> dict[str, dict[str, str]]:
    return {check["name"]: check for check in json.loads(result.stdout)}


def test_a_judge_that_answers_rightly(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("LMMS_RPTS_PRICE", "1000/3000")
    result, server = ask(RIGHT)
    assert result.exit_code == 0, result.output
    line = about(result.output, "judge openai:m")
    assert line.startswith("ok ")
    assert "\n" not in line
    scores = r"scores 1 for a plainly valid step, 0 for a plainly invalid one"
    assert re.search(rf"answered in \d+\.\d s; {scores}", line)
    assert "20 tokens in, 10 out; cost 0.05" in line, "20 at 1000 and 10 at 3000 a million"
    assert server.calls == 2
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in result.output
    assert "No problem found; 3 not checked." in result.output, "what --quick leaves out"
    asked = [text_of(body) for body in server.requests]
    assert "The village shop is closed today." in asked[0]
    assert "The village shop is open today." in asked[1]
    assert "Waiting for 2 replies of openai:m, at most 240 s (LMMS_RPTS_TIMEOUT)" in result.stderr


def test_a_wrong_key_is_said_without_the_key(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    result, server = ask(lambda body: ServerReply(f"Incorrect API key: {KEY}", status=401))
    assert (result.exit_code, server.calls) == (1, 1)
    said = about(result.output, "judge openai:m")
    assert said.startswith("problem ")
    assert "(401): Incorrect API key: ***" in said
    assert "-> check the key (OPENAI_API_KEY)" in said
    assert KEY not in result.output
    assert "1 problem; 3 not checked." in result.output


def test_nonsense_is_no_score(ask: Any) -> None:
    result, server = ask(constant("\x1b[31mI like [bold]bread[/bold]\x07"))
    assert (result.exit_code, server.calls) == (1, 6)
    said = about(result.output, "judge openai:m")
    assert "cannot be parsed as a score" in said
    assert "6 calls; 60 tokens in, 30 out" in said
    assert r"\x1b[31mI like [bold]bread[/bold]\x07" in said, "quoted, not obeyed"
    assert "(setting prompts)" in said
    assert "\x1b" not in result.output


@table(
    "valid, invalid, code",
    *((0.5, 0.4, 0), (0.4, 0.0, 1), (1, 0.5, 1), (1, 1, 1), (0.5, 0.5, 1), (0, 1, 1)),
)
def test_a_judge_that_does_not_tell_a_valid_step_from_an_invalid_one(
    ask: Any, valid: float, invalid: float, code: int
) -> None:
    result, _ = ask(judging(valid, invalid))
    said = about(result.output, "judge openai:m")
    assert (result.exit_code, said.split()[0]) == (code, "problem" if code else "ok")
    assert f"scores {valid:g} for a plainly valid step, {invalid:g} for a plainly" in said
    assert (f"'It may follow.\\nScore: {valid}'" in said) == bool(code)
    assert ("lmms-rpts validate --judge openai:m" in said) == bool(code)


@table("served, told", ("smollm2", True), ("m", False), (None, False), (7, False))
def test_a_server_with_another_model_than_asked_for(ask: Any, served: Any, told: bool) -> None:
    """llama.cpp accepts any name and answers with its only model."""

    def answer(body: Any) -> ServerReply:
        choice = {"message": {"content": RIGHT(body)}, "finish_reason": "stop"}
        return ServerReply(body={"choices": [choice], "model": served})

    line = about(ask(answer)[0].output, "judge openai:m")
    assert line.startswith("ok ")
    assert ("the server calls its model 'smollm2'" in line) == told
    assert ("calls its model" in line) == told


def test_a_server_that_is_not_there(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.001)  # no need to wait in this test
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{closed_port}/v1")
    result = doctor("--judge", "openai:m")
    said = about(result.output, "judge openai:m")
    assert (result.exit_code, "no connection to http://127.0.0.1" in said) == (1, True)
    assert "OPENAI_BASE_URL" in said


def test_the_address_of_openai_without_a_connection(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.001)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{closed_port}")
    said = about(doctor("--judge", "openai:gpt-4o-mini").output, "judge openai:gpt-4o-mini")
    assert said.startswith("problem      judge openai:gpt-4o-mini\n             no connection to")
    assert "-> check the internet connection or proxy; for your own server, set" in said


def test_a_server_that_hangs(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_TIMEOUT", "1")
    over = threading.Event()

    def answer(body: Any) -> str:
        over.wait(LONGEST)
        return "Score: 1"

    result, server = ask(answer)
    over.set()
    said = about(result.output, "judge openai:m")
    assert result.exit_code == 1
    assert "no answer within 1 s" in said or "too long" in said
    assert "LMMS_RPTS_TIMEOUT" in said
    assert server.calls <= 2, "retries do not add up to minutes"


def test_each_of_several_judges_is_asked_once(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_PRICE", "1000/1000+2000/2000+0/0")
    monkeypatch.setenv("LMMS_RPTS_JUDGE_SAMPLES", "3")

    def answer(body: Any) -> str | ServerReply:
        unknown = ServerReply("no such model", status=404)
        return unknown if body["model"] == "worst" else RIGHT(body)

    result, server = ask(answer, judge="openai:good + openai:worst + openai:better")
    assert result.exit_code == 1
    assert [body["model"] for body in server.requests] == [
        *("good", "good", "worst", "better", "better")
    ]
    assert "cost 0.03" in about(result.output, "judge openai:good")
    assert "(404): no such model" in about(result.output, "judge openai:worst")
    assert about(result.output, "judge openai:better").startswith("ok ")


def test_a_budget_without_room_for_one_call(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_MAX_JUDGE_TOKENS", "5")
    result, server = ask(RIGHT)
    assert (result.exit_code, server.calls) == (1, 0)
    assert "-> increase LMMS_RPTS_MAX_JUDGE_TOKENS" in about(result.output, "judge openai:m")


def test_kept_answers_are_neither_used_nor_added_to(ask: Any, tmp_path: Path) -> None:
    for _ in range(2):
        result, server = ask(RIGHT)
        assert server.calls == 2
        assert "none yet, in" in about(result.output, "cached replies")
    assert not (tmp_path / "kept").exists(), "reading changes nothing"


def test_offline_asks_nobody(ask: Any) -> None:
    result, server = ask(RIGHT, "--offline")
    assert (result.exit_code, server.calls) == (0, 0)
    assert about(result.output, "judge openai:m").startswith("not checked ")


@table(
    "judge, told",
    ("none", "responses are saved and can be scored later"),
    ("lexical", "not comparable"),
)
def test_judges_that_are_none(doctor: Doctor, judge: str, told: str) -> None:
    result = doctor("--judge", judge)
    assert result.exit_code == 0
    assert told in about(result.output, f"judge {judge}")


def test_a_model_of_ones_own_is_loaded_if_wanted(doctor: Doctor, tmp_path: Path) -> None:
    judge = f"hf:{build_tiny_lm(tmp_path / 'tiny')}"
    result = doctor("--judge", judge)
    said = about(result.stdout, f"judge {judge}")
    assert (result.exit_code, said.split()[:2]) == (0, ["not", "checked"])
    assert "--load" in said
    loaded = doctor("--judge", judge, "--load")
    assert loaded.exit_code == 1, "its reply has no score"
    assert "cannot be parsed as a score" in about(loaded.stdout, f"judge {judge}")


def test_no_judge_is_a_problem_with_the_choices(doctor: Doctor) -> None:
    result = doctor()
    said = about(result.output, "judge")
    assert (result.exit_code, said.split()[0]) == (1, "problem")
    for choice in ("openai:MODEL", "hf:NAME_OR_PATH", "lexical", "none"):
        assert choice in said


@table(
    "judge, fault, remedy",
    ("opnai:m", "Unknown judge 'opnai:m'", "Did you mean openai:MODEL?"),
    ("openai:m", "The judge 'openai:m' cannot be used", "set OPENAI_API_KEY"),
    ("lexical+lexical", "names a judge twice", "LMMS_RPTS_JUDGE_SAMPLES"),
)
def test_a_judge_that_can_not_be_used(doctor: Doctor, judge: str, fault: str, remedy: str) -> None:
    result = doctor("--judge", judge, "--json")
    found = checks(result)["judge"]
    assert (result.exit_code, found["state"]) == (1, "problem")
    assert fault in found["said"]
    assert remedy in found["remedy"]


@table(
    "name, value, fault, remedy",
    ("LMMS_RPTS_TIMEOUT", "soon", "LMMS_RPTS_TIMEOUT='soon'", "use a number from 1"),
    ("LMMS_RPTS_TIMEOT", "9", "Unknown setting LMMS_RPTS_TIMEOT", "Did you mean"),
    ("RANK", "first", "RANK='first'", "use a whole number"),
)
def test_a_wrong_setting(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch, name: str, value: str, fault: str, remedy: str
) -> None:
    monkeypatch.setenv(name, value)
    result = doctor("--judge", "lexical", "--json")
    found = checks(result)
    assert result.exit_code == 1
    assert (found["settings"]["state"], found["settings"]["said"]) == ("problem", fault)
    assert remedy in found["settings"]["remedy"]
    for dependent in ("judge", "RPTS-Eval", "cached replies"):
        assert found[dependent]["state"] == "not checked"
    assert found["lmms-eval"]["state"] == "ok", "checks that need no settings still run"


def test_settings_that_are_not_the_default_are_named(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_RPTS_CONCURRENCY", "3")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = about(doctor("--judge", "lexical").output, "settings")
    assert "\n             judge = lexical (--judge)\n" in said
    assert "concurrency = 3 (LMMS_RPTS_CONCURRENCY)" in said
    assert "timeout" not in said
    assert KEY not in said


def test_data_that_are_whole(doctor: Doctor, tmp_path: Path) -> None:
    said = doctor("--judge", "lexical").output
    for language in ("en", "zh"):
        line = about(said, f"RPTS-Eval {language}")
        assert line.startswith("ok ")
        assert f"3 instances, all images, in {tmp_path / 'data'}" in line


def test_data_that_are_not(doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "texts_zh.json").unlink()
    (tmp_path / "data" / "images" / "1.png").write_text("no image")
    found = checks(doctor("--judge", "lexical", "--json"))
    english, chinese = found["RPTS-Eval en"], found["RPTS-Eval zh"]
    assert english["state"] == chinese["state"] == "problem"
    assert "1.png (" in english["said"]
    assert english["remedy"].startswith("Fix or complete")
    assert "texts_zh.json" in chinese["said"]
    assert chinese["remedy"].startswith("Set it to a folder")
    monkeypatch.setenv("RPTS_PATH", str(tmp_path / "nowhere"))
    gone = doctor("--judge", "lexical")
    assert gone.exit_code == 1
    assert "nowhere' is not a folder with texts_en.json" in about(gone.output, "RPTS-Eval en")


def test_data_of_the_hub(doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RPTS_PATH")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    nothing = doctor("--judge", "lexical")
    assert nothing.exit_code == 0
    assert about(nothing.output, "RPTS-Eval").startswith("not checked ")
    assert "the first run will download" in about(nothing.output, "RPTS-Eval")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    cut_off = doctor("--judge", "lexical")
    assert cut_off.exit_code == 1
    assert "HF_HUB_OFFLINE" in about(cut_off.output, "RPTS-Eval")

    home = tmp_path / "hub" / "datasets--nimingshuaishi--RPTS-Eval"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text("c0ffee" * 6 + "c0ff")
    folder = write_folder(home / "snapshots" / ("c0ffee" * 6 + "c0ff"))
    whole = doctor("--judge", "lexical")
    assert "3 instances" in about(whole.output, "RPTS-Eval en")
    (folder / "images" / "2.png").unlink()
    (folder / "texts_zh.json").unlink()
    partly = doctor("--judge", "lexical")
    for language in ("en", "zh"):
        line = about(partly.output, f"RPTS-Eval {language}")
        assert line.startswith("not checked ")
        assert "download the missing files" in line
    (folder / "images" / "2.png").write_text("half of an image")
    broken = doctor("--judge", "lexical")
    assert broken.exit_code == 1
    assert f"delete {folder}" in about(broken.output, "RPTS-Eval en")


def test_kept_answers_are_counted(doctor: Doctor, tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "kept")
    for number in range(3):
        request = JudgeRequest("image", [{"role": "user", "content": f"{number}"}])
        cache.store(f"{number}", "openai:m", request, "Score: 1", Usage(1, 1))
    cache.close()
    said = doctor("--judge", "lexical").output
    assert f"3 in {tmp_path / 'kept'}" in about(said, "cached replies")


def test_a_place_where_no_answer_can_be_kept(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / FILE).write_text("no database, but long enough to be taken for one" * 50)
    spoilt = doctor("--judge", "lexical")
    assert spoilt.exit_code == 0
    assert "is damaged" in about(spoilt.output, "cached replies")
    assert "renames it and begins a new file" in about(spoilt.output, "cached replies")
    (tmp_path / "kept" / FILE).unlink()
    with closing(sqlite3.connect(tmp_path / "kept" / FILE)) as connection:
        connection.execute("PRAGMA user_version = 99")
    newer = doctor("--judge", "lexical")
    assert newer.exit_code == 1
    assert f"move {tmp_path / 'kept' / FILE}" in about(newer.output, "cached replies")
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "kept" / FILE / "below"))
    below = doctor("--judge", "lexical")
    assert below.exit_code == 1
    assert "is not a folder" in about(below.output, "cached replies")
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
    assert "is off" in about(doctor("--judge", "lexical").output, "cached replies")


def test_a_judge_that_was_never_validated(doctor: Doctor) -> None:
    said = about(doctor("--judge", "lexical").output, "validity")
    assert said.startswith("not checked ")
    assert "not validated" in said
    assert "lmms-rpts validate --judge lexical -o validity.json" in said
    for judge in ("none", "lexcal"):
        assert "validity" not in checks(doctor("--judge", judge, "--json")), judge


def test_a_judge_that_was_validated(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = (make_set(), make_set("visual\x1b[2J", blind=True), make_set("odd", metrics={}))
    path = write_validity(
        tmp_path / "v.json", make_validity(*sets, judge="lexical", prompt_version=VERSION)
    )
    monkeypatch.setenv("LMMS_RPTS_VALIDITY", str(path))
    known = doctor("--judge", "lexical")
    assert known.exit_code == 0
    assert "\x1b" not in known.output
    assert about(known.output, "validity").endswith(
        "validated on 2026-11-22: processbench AUC 0.71 [0.65, 0.77], visual�[2J without its "
        "images AUC 0.71 [0.65, 0.77]"
    )
    write_validity(
        path, make_validity(make_set(metrics={}), judge="lexical", prompt_version=VERSION)
    )
    assert "no set has an AUC" in about(doctor("--judge", "lexical").output, "validity")


def test_a_validity_file_that_is_no_use(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_validity(tmp_path / "v.json", make_validity(judge="openai:m"))
    monkeypatch.setenv("LMMS_RPTS_VALIDITY", str(path))
    other = doctor("--judge", "lexical")
    said = about(other.output, "validity")
    assert (other.exit_code, said.split()[0]) == (1, "problem")
    assert "is about the judge 'openai:m' with prompts 1, not 'lexical' with prompts " in said
    assert "-> measure this judge (lmms-rpts validate --judge lexical" in said
    path.write_text("{}")
    broken = doctor("--judge", "lexical")
    said = about(broken.output, "validity")
    assert (broken.exit_code, said.split()[0]) == (1, "problem")
    assert "format is missing" in said
    assert "-> create it again" in said


def test_lexical_is_said_to_be_what_it_is(doctor: Doctor) -> None:
    said = about(doctor("--judge", "lexical").output, "judge lexical")
    assert said.startswith("ok ")
    for figure in ("AUC 0.48 to 0.58", "docs/judging.md"):
        assert figure in said


def test_json_says_the_same(doctor: Doctor) -> None:
    as_json, as_text = doctor("--json"), doctor()
    assert as_json.exit_code == as_text.exit_code == 1
    listed = json.loads(as_json.stdout)
    for check in listed:
        assert set(check) == {"name", "state", "said", "remedy"}
        assert check["state"] in ("ok", "problem", "not checked")
        assert check["said"]
        assert check["state"] != "problem" or check["remedy"]
        assert about(as_text.output, check["name"]).startswith(check["state"])
    problems = [check["name"] for check in listed if check["state"] == "problem"]
    assert problems == ["judge"]


@table(
    "setting",
    ("LMMS_RPTS_JUDGE", f"openai:{KEY}"),
    ("LMMS_RPTS_JUDGE", KEY),
    ("LMMS_RPTS_TIMEOUT", KEY),
    ("OPENAI_BASE_URL", f"https://me:{KEY}@judge.example/v1"),
    ("OPENAI_API_KEY", f"{KEY} {KEY}"),
    ("RPTS_PATH", f"/nowhere?key={KEY}"),
)
def test_a_key_in_a_wrong_place_stays_secret(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch, setting: tuple[str, str]
) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "openai:m")
    monkeypatch.setenv(*setting)
    for arguments in (("--offline",), ("--offline", "--json")):
        result = doctor(*arguments)
        assert result.exit_code in (0, 1)
        assert "verysecret" not in result.output


@table(
    "said",
    f"key {KEY}",
    "proxy http://me:pass-w0rd@proxy.example:3128 refused",
    "GET https://x.example/v1?api_key=pass-w0rd&b=1",
    "Azure key: pass-w0rd",
)
def test_a_check_that_crashes_is_a_problem_without_secrets(
    monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("AZURE_API_KEY", "pass-w0rd")

    def crash() -> Any:
        raise LookupError(f"{said}\x1b[2J")

    (check,) = Stage("odd", "", crash).perform()
    assert (check.name, check.state) == ("odd", "problem")
    assert "LookupError" in check.said
    assert check.remedy
    for secret in ("verysecret", "pass-w0rd", "\x1b"):
        assert secret not in check.said


def test_one_crash_leaves_the_other_checks_alone(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge of another package whose check raises."""
    package = tmp_path / "odd_judge-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-judge\nVersion: 1\n")
    (package / "entry_points.txt").write_text("[lmms_rpts.judges]\nodd = odd_judge:BACKEND\n")
    (tmp_path / "odd_judge.py").write_text(
        "from lmms_rpts.judging import Backend\n"
        "BACKEND = Backend(usage='odd', purpose='odd', check=lambda m, s: 1 // 0, open=None)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    result = doctor("--judge", "odd")
    assert result.exit_code == 1
    assert "ZeroDivisionError" in about(result.output, "judge")
    assert about(result.output, "RPTS-Eval en").startswith("ok ")


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


def test_a_copy_that_was_never_installed() -> None:
    def installed(name: str) -> str:
        raise PackageNotFoundError(name)

    found = installation.check_packages(installed)
    assert [(each.name, each.state) for each in found] == [("lmms-rpts", "problem")]


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


def test_the_command_of_another_environment(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "bin" / "lmms-eval"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    result = doctor("--judge", "lexical")
    assert result.exit_code == 1
    assert str(other) in about(result.output, "tasks")
    link = tmp_path / "links" / "lmms-eval"
    link.parent.mkdir()
    link.symlink_to(Path(sys.executable).with_name("lmms-eval"))
    monkeypatch.setenv("PATH", str(link.parent))
    assert doctor("--judge", "lexical").exit_code == 0, "a link to ours is ours"


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


def test_lmms_eval_really_finds_our_tasks(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch and lmms-eval start in separate processes that import lmms-eval and us."""

    def run(command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(forked(command, importing=True), **how)

    known = {name: getattr(subprocess, name) for name in ("DEVNULL", "TimeoutExpired")}
    monkeypatch.setattr(installation, "subprocess", SimpleNamespace(run=run, **known))
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    stages = plan(offline=True)
    found = {check.name: check for stage in stages for check in stage.perform()}
    assert {check.state for name, check in found.items() if name != "validity"} == {"ok"}
    assert re.match(
        r"lmms-eval finds \d+ tasks: rpts_eval, rpts_eval_en, .* and \d+ more$", found["tasks"].said
    )
    assert re.match(r"\d+\.\d+", found["torch"].said)


def test_the_real_command_in_a_terminal_of_its_own(tmp_path: Path) -> None:
    environment = clean_environment() | {"RPTS_PATH": str(write_folder(tmp_path / "data"))}
    command = [Path(sys.executable).with_name("lmms-rpts"), "doctor", "--quick"]
    for judge, code in (("lexical", 0), ("lexcal", 1)):
        done = subprocess.run(
            [*command, "--judge", judge],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert about(done.stdout, "RPTS-Eval zh").startswith("ok ")


def test_romes_data(doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ROME" not in doctor("--judge", "lexical").output
    folder = tmp_path / "rome"
    folder.mkdir()
    monkeypatch.setenv("ROME_PATH", str(write_rome(folder)))
    whole = doctor("--judge", "lexical")
    assert about(whole.output, "ROME").startswith("ok ")
    assert "all images" in about(whole.output, "ROME")
    next(each for each in folder.rglob("*") if each.suffix in (".png", ".jpg")).unlink()
    broken = doctor("--judge", "lexical")
    assert about(broken.output, "ROME").startswith("problem ")
    assert broken.exit_code == 1


def test_cmmaths_data(doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "CMMaTH" not in doctor("--judge", "lexical").output
    folder = write_cmmath(tmp_path / "cmmath")
    monkeypatch.setenv("CMMATH_PATH", str(folder))
    whole = about(doctor("--judge", "lexical").output, "CMMaTH")
    assert whole.startswith("ok ")
    assert "4 problems (1 without an answer left out), all images" in " ".join(whole.split())
    monkeypatch.setenv("CMMATH_GRADER", "judge")
    unjudged = doctor("--judge", "lexical")
    assert about(unjudged.output, "CMMaTH").startswith("problem ")
    monkeypatch.delenv("CMMATH_GRADER")
    (folder / "images" / "90004_b.png").unlink()
    broken = doctor("--judge", "lexical")
    assert about(broken.output, "CMMaTH").startswith("problem ")
    assert broken.exit_code == 1


def without(module: str) -> subprocess.CompletedProcess[str]:
    code = (
        f"import sys; sys.modules[{module!r}] = None; from lmms_rpts.cli import app; "
        "app(['doctor', '--quick'])"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_without_lmms_eval_the_other_checks_are_made() -> None:
    done = without("lmms_eval")
    assert "Traceback" not in done.stderr
    assert re.search(r"^ok +lmms-rpts", done.stdout, re.MULTILINE)


def test_a_broken_installation_is_said_in_one_message() -> None:
    done = without("jinja2")
    assert done.returncode == 1
    assert done.stderr.startswith("Cannot load lmms-rpts (ModuleNotFoundError: ")
    assert "pip install" in done.stderr
    assert len(done.stderr.splitlines()) == 1


# ---- judges with vision


def red_disc(body: Any) -> str | ServerReply:
    """A judge that sees the drawn image, and gives a high score only if the claim matches."""
    seen = images_of(body)
    if not seen:
        return RIGHT(body)
    assert [image.size for image in seen] == [(224, 224)]
    red, green, blue = seen[0].colour
    assert red > green == pytest.approx(blue, abs=2)
    return f"Score: {0.9 if 'red disc' in text_of(body) else 0.1}"


def test_without_the_setting_no_image_is_shown(ask: Any) -> None:
    result, server = ask(red_disc)
    assert (result.exit_code, server.calls) == (0, 2)
    assert "images" not in about(result.output, "judge openai:m")


@table("evidence", "image", "both")
def test_a_judge_that_sees(ask: Any, monkeypatch: pytest.MonkeyPatch, evidence: str) -> None:
    monkeypatch.setenv("LMMS_RPTS_EVIDENCE", evidence)
    result, server = ask(red_disc)
    assert (result.exit_code, server.calls) == (0, 4), result.output
    line = about(result.output, "judge openai:m: images")
    assert line.startswith("ok ")
    assert (
        "it has vision: scores 0.9 for what a drawn image shows, 0.1 for what it does not" in line
    )


@table(
    "answer, message",
    (constant("Score: 1"), "does not see the image: scores 1 for what"),
    (constant("Score: 0"), "does not see the image: scores 0 for what"),
    (blind("image input is not supported", otherwise=RIGHT), "(400): image input is not supported"),
)
def test_a_judge_that_does_not_see(
    ask: Any, monkeypatch: pytest.MonkeyPatch, answer: Any, message: str
) -> None:
    monkeypatch.setenv("LMMS_RPTS_EVIDENCE", "image")
    result, _ = ask(answer)
    said = about(result.output, "judge openai:m: images")
    assert (result.exit_code, said.split()[0]) == (1, "problem")
    assert message in " ".join(said.split())
    assert "LMMS_RPTS_EVIDENCE=facts" in said


@table("evidence, code", ("image", 1), ("facts", 0))
def test_a_judge_of_words_cannot_see(
    ask: Any, monkeypatch: pytest.MonkeyPatch, evidence: str, code: int
) -> None:
    monkeypatch.setenv("LMMS_RPTS_EVIDENCE", evidence)
    result, server = ask(RIGHT, judge="lexical")
    assert (result.exit_code, server.calls) == (code, 0)
    said = about(result.output, "judge lexical")
    assert ("has no vision" in said) == bool(code)
