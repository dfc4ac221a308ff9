"""``lmms-rpts validate``: judges on a real server, on made-up labelled steps and answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from lmms_rpts.base.settings import Settings
from lmms_rpts.cli import app
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import Verdict
from lmms_rpts.reasoning import Clue, ReasoningChain, Step, plan_steps
from lmms_rpts.runs.validity import stored_validity
from lmms_rpts.scoring.question import judge_images
from lmms_rpts.scoring.steps import judge_step
from lmms_rpts.validation.loading import OWN, load_set
from lmms_rpts.validation.run import requests_of
from tests.support.judge_server import Answer, Body, JudgeServer, ServerReply, images_of, text_of
from tests.support.labelled_rows import knowing, make_rows, share_of, write_rows
from tests.support.tables import table

Command = Callable[..., Result]
Serve = Callable[[Answer], JudgeServer]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LMMS_RPTS_JUDGE", raising=False)
    return lambda *arguments: CliRunner().invoke(app, ["validate", *map(str, arguments)])


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    with ExitStack() as stack:

        def serve(answer: Answer) -> JudgeServer:
            server = stack.enter_context(JudgeServer(answer))
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("OPENAI_API_KEY", "none")
            return server

        yield serve


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "data" / "gsm8k.json", make_rows(60))


def columns(path: Path) -> dict[str, dict[str, Any]]:
    """The columns of the first table in a JSON file, by measure."""
    rows = json.loads(path.read_text())["tables"][0]["rows"]
    return {name: {row["metric"]: row[name] for row in rows} for name in rows[0]}


def test_two_judges_side_by_side(
    command: Command, served: Serve, data: Path, tmp_path: Path
) -> None:
    """One knows the labels, the other refuses some steps and is undecided about all others."""

    def answer(body: Body) -> str | ServerReply:
        if body["model"] == "good":
            return knowing(float)(body)
        return knowing(lambda sound: 0.5, lambda text: share_of(text) < 0.3)(body)

    server, out = served(answer), tmp_path / "v.json"
    judges = ["--judge", "openai:good", "--judge", "openai:other"]
    done = command(*judges, "--data", f"ours={data}", "-o", out, "-o", tmp_path / "v.tex")
    assert done.exit_code == 0, done.output
    asked = [text for row in make_rows(60) for text in row["steps"][: row["label"] + 1 or None]]
    assert f"ours: 60 chains, {len(asked)} labelled steps, 30 wrong" in done.output
    assert f"openai:other: {len(asked)} calls, about" in done.output
    good, other = columns(out)["openai:good"], columns(out)["openai:other"]
    assert {good[it] for it in good if it not in ("Brier score", "unscored steps")} == {1.0}
    refused = sum(share_of(text) < 0.3 for text in asked)
    assert (other["AUC"], other["sensitivity"], other["specificity"]) == (0.5, 0, 1)
    assert other["unscored steps"] == pytest.approx(refused / len(asked))
    assert columns(out)["shortness"]["sensitivity"] is None
    assert columns(out)["lexical"]["sensitivity"] is not None
    assert "Warning: judge openai:other: AUC 0.50" in done.output
    # A second run asks nothing; what was measured is kept for other commands.
    calls = server.calls
    assert command("--judge", "openai:good", "--data", f"ours={data}", "-o", out).exit_code == 0
    assert server.calls == calls
    assert columns(out)["openai:good"] == good
    stored = stored_validity(Settings(cache=tmp_path / "cache"))
    (kept,) = (each for each in stored if each.judging == ("openai:good", Prompts().version()))
    assert (kept.set, kept.auc, kept.steps) == ("ours", 1, len(asked))


@table(
    "rows, options, chains",
    (130, [], "100 of 130"),
    (130, ["--limit", "0"], "130 of 130"),
    (None, ["--limit", "12"], "12 of 127"),  # the steps in the package
    (None, [], "127 of 127"),
)
def test_how_many_chains_are_drawn(
    rows: int | None, options: list[str], chains: str, command: Command, tmp_path: Path
) -> None:
    data = ["--data", write_rows(tmp_path / "x.json", make_rows(rows))] if rows else []
    assert f": {chains} chains" in command("--judge", "lexical", *data, *options).output


@table(
    "arguments, said",
    ("--data nowhere", "does not exist"),
    ("--data =x", "does not exist"),
    ("--judge none", "No judge to measure"),
    ("--judge lexicl", "Did you mean lexical"),
    ("--judge lexical -o v.xlsx", "use a file name that ends in"),
    ("--data {steps} --data {steps}", "Two sets have the name processbench"),
    ("--data {steps} -o {steps}", "one of the input files"),
    ("--judge openai:m -o {steps}/v.json", "Cannot write to"),
    ("--judge lexical --field x", "expected OURS=THEIRS"),
    ("--answers {answers} --data {steps}", "--answers cannot be combined with"),
    ("--answers {steps}", "has the layout processbench: use --data"),
    ("--data {answers}", "has the layout answers: use --answers"),
    ("--answers {answers} --judge lexical", "'lexical' cannot grade answers"),
)
def test_invalid_arguments_are_refused_before_any_call(
    arguments: str, said: str, command: Command, served: Serve, data: Path, tmp_path: Path
) -> None:
    server = served(knowing(float))
    files = {"answers": write_answers(tmp_path / "own.json"), "steps": data}
    judge = ["--judge", "lexical"] if "--data" in arguments else []
    done = command(*judge, *arguments.format(**files).split())
    assert done.exit_code == 1, done.output
    assert said in done.output
    assert server.calls == 0


def test_what_stops_judging(
    command: Command, served: Serve, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong key at once, without a file; a budget that runs out leaves figures of the part."""
    arguments = ("--judge", "openai:m", "--data", data, "-o", tmp_path / "v.json")
    server = served(lambda body: ServerReply("this key is not valid", status=401))
    done = command(*arguments)
    assert (done.exit_code, "this key is not valid" in done.output) == (1, True)
    assert not (tmp_path / "v.json").exists()
    assert server.calls <= 32
    monkeypatch.setenv("LMMS_RPTS_MAX_JUDGE_TOKENS", "20000")
    monkeypatch.setenv("LMMS_RPTS_CONCURRENCY", "2")
    served(lambda body: ServerReply(str(knowing(float)(body)), usage=(300, 20)))
    done = command(*arguments)
    assert (done.exit_code, "Judging stopped" in done.output) == (1, True)
    judge = columns(tmp_path / "v.json")["openai:m"]
    assert judge["AUC"] == 1
    assert 0.2 < judge["unscored steps"] < 0.9
    assert not (tmp_path / "cache" / "validity.json").exists(), "the rest is missing"


def test_images_are_shown_to_a_judge_with_vision(
    command: Command, served: Serve, tmp_path: Path
) -> None:
    """Files lie beside the rows, in ``images``; one is missing, one outside of the folder."""
    rows, folder = [], tmp_path / "data" / "images"
    folder.mkdir(parents=True)
    Image.new("RGB", (64, 48), "red").save(tmp_path / "secret.png")
    for at in range(14):
        colour, word = ("red", "blue")[at % 2], ("red", "blue")[at // 2 % 2]
        steps = {"steps": [f"It is {word}."], "process_correctness": [1 if colour == word else -1]}
        name = f"{at}.png" if at < 13 else "../../secret.png"
        rows.append({"image": name, "question": f"Which colour has {at}?", "response": steps})
        if at < 12:
            Image.new("RGB", (64, 48), colour).save(folder / name)

    def answer(body: Body) -> str:
        red, _, blue = images_of(body)[0].colour
        return f"Score: {float(('red' in text_of(body)) is (red > blue))}"

    server, out = served(answer), tmp_path / "v.json"
    data = write_rows(tmp_path / "data" / "test.json", rows)
    done = command("--judge", "openai:m", "--judge", "lexical", "--data", data, "-o", out)
    assert done.exit_code == 0, done.output
    assert "images of 2 chains are missing" in done.output
    assert len(server.requests) == 12
    assert columns(out)["openai:m"]["AUC"] == 1
    assert columns(out)["lexical without images"]["AUC"] != 1
    done = command("--judge", "lexical", "--data", data)
    assert "14 of 14 chains" in done.output
    assert "(visualprocessbench without images, " in done.output


def test_a_request_is_the_one_of_a_run() -> None:
    """Keys are equal: messages, images with their names, what is cached."""
    chains = load_set(OWN["drawings"]).chains
    for (number, at), request in requests_of(chains, Settings(), 1536).items():
        chain, asked = chains[number], list[Any]()
        clues = [Clue("conclusion", chain.steps.index(it)) for it in (chain.premises or ())[at]]
        steps = [Step((Clue("image", 0),), text) for text in chain.steps]
        steps[at] = replace(steps[at], premises=(Clue("image", 0), *clues))
        doc = {"context": chain.context, "visual_clue": list(chain.images)}
        doc |= {"textual_clue": [], "reasoning": []}
        language: Any = chain.language
        query = plan_steps(ReasoningChain(tuple(steps), language), doc, "image")[at]
        images = judge_images(lambda own=chain: [Image.open(own.files[0])], 1, 1536, language)  # type: ignore[misc]

        async def ask(it: Any, asked: list[Any] = asked) -> Verdict:
            asked.append(it)
            return Verdict(kind=it.kind, prompt_version="", value=1.0)

        question: Any = SimpleNamespace(language=language, images=images)
        judge: Any = SimpleNamespace(ask=ask)
        options: Any = SimpleNamespace(prompts=Prompts())
        asyncio.run(judge_step(query, question, judge, options))
        assert request.key({}) == asked[0].key({})


# --- graders of answers

SEVEN, WORDS = "1+6等于几？ $$\\underline{}$$", "说明理由"
LABELLED = [
    *[(f"{at}. {SEVEN}", "7", "答案是7", "Yes", "sum") for at in range(12)],
    *[(f"{at}. {SEVEN}", "7", "答案是8", "No", "sum") for at in range(10)],
    *[(f"{at}. {SEVEN}", "7", "答案是8", "Yes", "sum") for at in range(10, 14)],  # wrong labels
    *[(f"{at}. {WORDS}", "两点之间线段最短", "直线最短", "Yes", "all") for at in range(6)],
    # Thinking is not graded; nobody is asked about a missing answer.
    ("8+1", "9", "<think>The answer is 9", "No", "sum"),
]


def write_answers(path: Path, *names: str) -> Path:
    names = names or ("question", "reference", "response", "label", "type")
    return write_rows(path, [dict(zip(names, row, strict=True)) for row in LABELLED])


def test_graders_of_answers_are_compared_with_labels(
    command: Command, served: Serve, tmp_path: Path
) -> None:
    def answer(body: Body) -> ServerReply | str:
        """Accepts 7, all texts and one 8; refuses one problem. The strict one rejects all."""
        text = text_of(body)
        if f"5. {WORDS}" in text:
            return ServerReply("not that one", status=400)
        accepted = any(each in text for each in ("答案是7", WORDS, "13. 1+6"))
        return "<Yes>" if accepted and body["model"] != "strict" else "<No>"

    server, out = served(answer), tmp_path / "a.json"
    data = write_answers(tmp_path / "own.json")
    judges = ["--judge", "openai:m", "--judge", "openai:strict"]
    done = command("--answers", f"mine={data}", *judges, "-o", out)
    assert done.exit_code == 0, done.output
    assert server.calls == 64
    rows = json.loads(out.read_text())["tables"][0]["rows"]
    by_grader = {(row["answers"], row["grader"]): row for row in rows}
    # Right accepted and rejected, wrong accepted and rejected, undecided; worked by hand.
    for kind, grader, hit, missed, alarm, passed, undecided in (
        ("all", "rules", 12, 4, 0, 11, 6),
        ("all", "openai:m", 18, 3, 0, 11, 1),
        ("all", "rules, then openai:m", 17, 4, 0, 11, 1),
        ("all", "rules, then openai:strict", 12, 9, 0, 11, 1),
        ("sum", "rules", 12, 4, 0, 11, 0),
    ):
        row, graded = by_grader[kind, grader], hit + missed + alarm + passed
        expected = [(hit + passed) / graded, hit / (hit + missed), passed / (alarm + passed)]
        measures = [row[name] for name in ("agreement", "sensitivity", "specificity", "undecided")]
        assert measures == pytest.approx([*expected, undecided / (graded + undecided)]), grader
    assert {(row["right"], row["wrong"]) for row in rows if row["answers"] == "all"} == {(22, 11)}
    assert {row["answers"] for row in rows} == {"all", "sum"}, "a type named all counts once"


def test_rules_need_no_judge_and_fields_may_have_other_names(
    command: Command, tmp_path: Path
) -> None:
    data = write_answers(tmp_path / "own.json", "ask", "gold", "said", "ok", "type")
    names = ["question=ask", "reference=gold", "response=said", "label=ok"]
    assert command("--answers", data).exit_code == 1
    done = command("--answers", data, *(part for each in names for part in ("--field", each)))
    assert done.exit_code == 0, done.output
    assert re.search(r"all +rules", done.output)
