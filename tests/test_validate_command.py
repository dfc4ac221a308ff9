"""``lmms-rpts validate``: judges on a real server, on made-up labelled steps."""

from __future__ import annotations

import asyncio
import functools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from lmms_rpts.judging.images import encode_image
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import Request, Verdict
from lmms_rpts.reasoning import Clue, ReasoningChain, Step, plan_steps
from lmms_rpts.runs.validity import ValidatedSet, read_validity_file
from lmms_rpts.scoring.question import judge_images
from lmms_rpts.scoring.steps import judge_step
from lmms_rpts.validation.own_steps import drawn_set
from lmms_rpts.validation.run import questions_of
from tests.support.judge_server import (
    Answer,
    Body,
    JudgeServer,
    SentImage,
    ServerReply,
    constant,
    images_of,
    sent_image,
    text_of,
)
from tests.support.labelled_rows import knowing, make_rows, share_of, write_rows
from tests.support.tables import table

Command = Callable[..., Result]
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror=alert(1)> \x1b[31m\u202e"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "cache"))
    return lambda *arguments: CliRunner().invoke(app, ["validate", *map(str, arguments)])


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer], JudgeServer]]:
    servers: list[JudgeServer] = []

    def serve(answer: Answer) -> JudgeServer:
        server = JudgeServer(answer)
        server.__enter__()
        servers.append(server)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        return server

    yield serve
    for server in servers:
        server.__exit__(None, None, None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "data" / "gsm8k.json", make_rows(60))


def figures(path: Path) -> ValidatedSet:
    (found,) = read_validity_file(path).validity.sets
    return found


def values(found: ValidatedSet) -> dict[str, float | None]:
    return {name: each.value for name, each in found.metrics.items()}


JUDGES: dict[str, tuple[Callable[[bool], float], dict[str, float | None]]] = {
    "perfect": (
        float,
        {"auc": 1, "auc_within": 1, "macro_f1": 1, "sensitivity": 1, "specificity": 1, "mcc": 1}
        | {"acc_err": 1, "acc_ok": 1, "f1_first": 1, "brier": 0, "ece": 0, "unscored": 0},
    ),
    "inverted": (
        lambda sound: float(not sound),
        {"auc": 0, "auc_within": 0, "macro_f1": 0, "sensitivity": 0, "specificity": 0, "mcc": -1}
        | {"acc_ok": 0, "f1_first": 0, "brier": 1, "ece": 1, "unscored": 0},
    ),
    "undecided": (
        lambda sound: 0.5,
        {"auc": 0.5, "auc_within": 0.5, "sensitivity": 0, "specificity": 1, "mcc": 0}
        | {"acc_err": 0, "acc_ok": 1, "f1_first": 0, "brier": 0.25, "f1_wrong": 0},
    ),
}


@table("name", *JUDGES)
def test_metrics_of_judges_with_known_error_rates(
    name: str, command: Command, served: Callable[[Answer], JudgeServer], data: Path, tmp_path: Path
) -> None:
    score, expected = JUDGES[name]
    server = served(knowing(score))
    out = tmp_path / "v.json"
    done = command("--judge", "openai:m", "--data", f"ours={data}", "-o", out)
    assert done.exit_code == 0, done.output
    found = figures(out)
    assert (found.name, found.layout, found.n_chains) == ("ours", "processbench", 60)
    wrong = sum(row["label"] >= 0 for row in make_rows(60))
    asked = sum(row["label"] + 1 or len(row["steps"]) for row in make_rows(60))
    assert (found.n_steps, found.n_wrong) == (asked, wrong)
    got = values(found)
    assert {metric: got[metric] for metric in expected} == pytest.approx(expected, abs=1e-9)
    assert server.calls == asked
    assert found.usage is not None
    assert (found.usage.calls, found.usage.input_tokens) == (asked, 10 * asked)


def test_a_judge_that_fails_for_a_part_is_counted_and_not_wrong(
    command: Command, served: Callable[[Answer], JudgeServer], data: Path, tmp_path: Path
) -> None:
    served(knowing(float, lambda text: share_of(text) < 0.3))
    out = tmp_path / "v.json"
    done = command("--judge", "openai:m", "--data", data, "-o", out)
    assert done.exit_code == 0, done.output
    found = figures(out)
    failed = sum(
        share_of(text) < 0.3
        for row in make_rows(60)
        for text in row["steps"][: row["label"] + 1 or None]
    )
    got = values(found)
    assert got["unscored"] == pytest.approx(failed / found.n_steps)
    assert 0.2 < failed / found.n_steps < 0.4
    assert (got["auc"], got["sensitivity"], got["specificity"], got["acc_ok"]) == (1, 1, 1, 1)
    assert got["unscored_chains"] is not None
    assert got["unscored_chains"] > 0


def test_a_second_run_asks_nothing_and_gives_the_same(
    command: Command, served: Callable[[Answer], JudgeServer], data: Path, tmp_path: Path
) -> None:
    server = served(knowing(lambda sound: 0.9 if sound else 0.2))
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in files:
        assert command("--judge", "openai:m", "--data", data, "-o", path).exit_code == 0
    first, second = map(figures, files)
    assert server.calls == first.n_steps
    assert second.usage is not None
    assert (second.usage.calls, second.usage.found) == (0, first.n_steps)
    assert first.model_copy(update={"usage": None}) == second.model_copy(update={"usage": None})


def test_a_dry_run_asks_nobody_and_says_what_it_would_cost(
    command: Command,
    served: Callable[[Answer], JudgeServer],
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LMMS_RPTS_PRICE", "1000/1000")
    server = served(constant("Score: 1"))
    done = command("--judge", "openai:m", "--data", data, "--dry-run", "--limit", "10")
    assert done.exit_code == 0
    assert "10 of 60 chains" in done.output
    assert re.search(r"^About [\d,]+ calls to openai:m: ", done.output, re.MULTILINE), "no bound"
    assert "cost about" in done.output
    assert server.calls == 0


@table(
    "rows, options, chains",
    (60, ["--limit", "7"], 7),
    (60, ["--limit", "1000"], 60),
    (130, [], 100),
    (130, ["--limit", "0"], 130),
    (None, ["--limit", "12"], 12),  # the steps in the package
    (None, [], 127),
)
def test_how_many_chains_are_drawn(
    rows: int | None, options: list[str], chains: int, command: Command, tmp_path: Path
) -> None:
    out = tmp_path / "v.json"
    data = ["--data", write_rows(tmp_path / "x.json", make_rows(rows))] if rows else []
    done = command("--judge", "lexical", *data, *options, "-o", out)
    assert done.exit_code == 0, done.output
    found = figures(out)
    assert (found.n_chains, found.available) == (chains, rows or 127)


def test_without_data_the_steps_of_the_package_are_used(command: Command, tmp_path: Path) -> None:
    outputs = [tmp_path / f"v.{kind}" for kind in ("json", "md", "csv")]
    chosen = [part for path in outputs for part in ("-o", path)]
    done = command("--judge", "lexical", *chosen)
    assert done.exit_code == 0, done.output
    found = figures(tmp_path / "v.json")
    assert not found.blind
    assert 0 < found.n_wrong < found.n_steps
    for shown in (done.output, *(path.read_text() for path in outputs[:2])):
        assert "built-in" in shown
    assert {line.split(",")[0] for line in outputs[2].read_text().splitlines()[1:]} == {"built-in"}


@table(
    "arguments, status, said",
    (["--data", "nowhere"], 2, "does not exist"),
    (["--data", "=x"], 1, "expected NAME=PATH"),
    (["--judge", "none"], 1, "judges nothing"),
    (["--judge", "lexicl"], 1, "Did you mean lexical"),
    (["-o", "v.xlsx"], 1, ".json, .md, .csv"),
    (["--limit", "-1"], 2, "limit"),
    # Help showed these ranges up to 9223372036854775807.
    (["--seed", str(2**32)], 2, "4294967295"),
    (["--limit", "1000001"], 2, "1000000"),
)
def test_invalid_arguments_are_refused_before_any_call(
    arguments: list[str], status: int, said: str, command: Command
) -> None:
    judge = [] if "--judge" in arguments else ["--judge", "lexical"]
    done = command(*judge, *arguments)
    assert done.exit_code == status, done.output
    assert said in done.output


@table("option", "-o")
def test_unwritable_outputs_are_refused_before_any_call(
    option: str,
    command: Command,
    served: Callable[[Answer], JudgeServer],
    data: Path,
    tmp_path: Path,
) -> None:
    suffix = ".json" if option == "-o" else ".html"
    (tmp_path / f"file{suffix}").write_text("a file")
    (tmp_path / f"folder{suffix}").mkdir()
    server = served(knowing(float))
    places = {f"folder{suffix}": "Is a directory", f"file{suffix}/v{suffix}": "Cannot write to"}
    for place, said in places.items():
        done = command("--judge", "openai:m", "--data", data, option, tmp_path / place)
        assert done.exit_code == 1, done.output
        assert said in done.output
    assert server.calls == 0


def test_what_was_read_is_not_overwritten(command: Command, data: Path, tmp_path: Path) -> None:
    before = data.read_bytes()
    for given in (data, data.parent):
        done = command("--judge", "lexical", "--data", given, "-o", data)
        assert done.exit_code == 1, done.output
        assert "one of the input files" in done.output
    assert data.read_bytes() == before


def test_a_judge_is_needed(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LMMS_RPTS_JUDGE", raising=False)
    done = command()
    assert done.exit_code == 1
    assert "--judge" in done.output


def test_a_wrong_key_stops_with_the_servers_words_and_writes_nothing(
    command: Command, served: Callable[[Answer], JudgeServer], data: Path, tmp_path: Path
) -> None:
    server = served(lambda body: ServerReply("this key is not valid", status=401))
    done = command("--judge", "openai:m", "--data", data, "-o", tmp_path / "v.json")
    assert done.exit_code == 1
    assert "scored no step" in done.output
    assert "this key is not valid" in done.output
    assert not (tmp_path / "v.json").exists()
    assert server.calls <= 32


def test_a_budget_that_runs_out_leaves_figures_of_the_part(
    command: Command,
    served: Callable[[Answer], JudgeServer],
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LMMS_RPTS_MAX_JUDGE_TOKENS", "20000")
    monkeypatch.setenv("LMMS_RPTS_CONCURRENCY", "2")

    def answer(body: Any) -> ServerReply:
        text = knowing(float)(body)
        assert isinstance(text, str)
        return ServerReply(text, usage=(300, 20))

    served(answer)
    done = command("--judge", "openai:m", "--data", data, "-o", tmp_path / "v.json")
    assert done.exit_code == 1
    assert "Judging stopped" in done.output
    got = values(figures(tmp_path / "v.json"))
    assert got["unscored"] is not None
    assert 0.2 < got["unscored"] < 0.9
    assert got["auc"] == 1


@table("cache, said", ("cache", "to request only the rest"), ("off", "Replies are not cached"))
def test_ctrl_c_says_what_is_kept(
    cache: str, said: str, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(plan: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("LMMS_RPTS_CACHE", cache if cache == "off" else str(tmp_path / cache))
    monkeypatch.setattr("lmms_rpts.validation.run.validate", interrupted)
    done = command("--judge", "lexical")
    assert done.exit_code == 130
    assert said in done.output


# --- images

DRAWN = {
    (chain.images[0], chain.steps[at]): chain.labels[at] is not False
    for chain in drawn_set().chains
    for at in chain.asked
}
"""Whether each labelled step about a drawing is sound."""


def asked_step(body: Body) -> str:
    """The step that the judge is asked about, whatever the kind of the request."""
    return re.findall(r"<<<\s*(.*?)\s*>>>", text_of(body), re.DOTALL)[-1]


def seeing(truth: Callable[[SentImage, str], bool]) -> Answer:
    """A judge that decodes the image. Without one it guesses: a number from the step's text."""

    def answer(body: Body) -> str:
        images, step = images_of(body), asked_step(body)
        score = float(truth(images[0], step)) if images else share_of(step)
        return f"Score: {score:.2f}"

    return answer


def drawing(image: SentImage) -> str:
    """The name of the drawing with the nearest mean colour among those of its size."""
    known = [
        (sum(abs(a - b) for a, b in zip(each.colour, image.colour, strict=True)), name)
        for name, each in sent_drawings().items()
        if each.size == image.size
    ]
    return min(known)[1]


@functools.cache
def sent_drawings() -> dict[str, SentImage]:
    files = {chain.files[0].name: chain.files[0] for chain in drawn_set().chains}
    return {
        name: sent_image(name, encode_image(Image.open(file))[0]) for name, file in files.items()
    }


MISREAD = "15% of the pupils ride a bike."


def by_drawing(image: SentImage, step: str) -> bool:
    return DRAWN[drawing(image), step] and step != MISREAD


def test_a_judge_with_vision_is_asked_about_our_drawings(
    command: Command, served: Callable[[Answer], JudgeServer], tmp_path: Path
) -> None:
    server, out = served(seeing(by_drawing)), tmp_path / "v.json"
    done = command("--judge", "openai:m", "--data", "built-in", "--data", "drawings", "-o", out)
    assert done.exit_code == 0, done.output
    texts, drawings = read_validity_file(out).validity.sets
    assert [(each.name, each.blind, each.seen) for each in (texts, drawings)] == [
        ("built-in", False, 0),
        ("drawings", False, 20),
    ]
    assert sum(bool(images_of(body)) for body in server.requests) == drawings.n_steps == 63
    # One of 48 sound steps ties with the wrong ones.
    assert values(drawings)["auc"] == pytest.approx(1 - 0.5 / 48)


RED, BLUE = "The picture is red.", "The picture is blue."


def test_images_are_found_beside_the_rows(
    command: Command, served: Callable[[Answer], JudgeServer], tmp_path: Path
) -> None:
    data, rows = tmp_path / "test.jsonl", []
    (tmp_path / "images").mkdir()
    for at in range(13):
        colour, step = ("red", "blue")[at % 2], (RED, BLUE)[at // 2 % 2]
        marks = {"steps": [step], "process_correctness": [1 if colour in step else -1]}
        asked = f"What colour is picture {at}?"
        rows.append({"image": f"{at}.png", "question": asked, "response": marks})
        if at < 12:  # the last one is missing
            Image.new("RGB", (64, 48), colour).save(tmp_path / "images" / f"{at}.png")
    data.write_text("\n".join(map(json.dumps, rows)))
    server = served(
        seeing(lambda image, step: ("red" in step) is (image.colour[0] > image.colour[2]))
    )
    out = tmp_path / "v.json"
    done = command("--judge", "openai:m", "--data", data, "-o", out)
    assert done.exit_code == 0, done.output
    found = figures(out)
    assert (found.layout, found.n_chains, found.seen) == ("visualprocessbench", 12, 12)
    assert found.left_out == {"an image is missing": 1}
    assert values(found)["auc"] == 1
    assert len(server.requests) == 12
    done = command("--judge", "lexical", "--data", data, "-o", out)
    assert done.exit_code == 0, done.output
    found = figures(out)
    assert (found.blind, found.seen, found.n_chains, found.left_out) == (True, 0, 13, {})
    assert "without their images" in done.output


def test_images_outside_of_the_folder_are_not_shown(
    command: Command, served: Callable[[Answer], JudgeServer], tmp_path: Path
) -> None:
    served(constant("Score: 1"))
    (tmp_path / "secret.png").write_bytes(b"no")
    marks = {"steps": [RED], "process_correctness": [1]}
    rows = [{"image": "../secret.png", "question": f"{at}?", "response": marks} for at in range(4)]
    data, out = write_rows(tmp_path / "data" / "test.json", rows), tmp_path / "v.json"
    assert command("--judge", "openai:m", "--data", data, "-o", out).exit_code == 0
    assert figures(out).blind


class Recorder:
    """A judge that scores every step with 1."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def ask(self, request: Request) -> Verdict:
        self.asked.append(request)
        return Verdict(kind=request.kind, prompt_version="", value=1.0)


@table("language", "en", "zh")
def test_a_request_is_the_one_of_a_run(language: str) -> None:
    """Keys are equal: messages, images with their names, what is cached."""
    prompts, compared = Prompts(), 0
    chains = [chain for chain in drawn_set().chains if chain.language == language]
    for question in questions_of(chains, prompts, 1536):
        chain = chains[question.chain]
        premises = chain.premises[question.step] if chain.premises else ()
        clues = [Clue("image", 0), *(Clue("conclusion", chain.steps.index(p)) for p in premises)]
        steps = [Step((Clue("image", 0),), text) for text in chain.steps]
        steps[question.step] = replace(steps[question.step], premises=tuple(clues))
        doc = {
            "context": chain.context,
            "textual_clue": [],
            "visual_clue": list(chain.images),
            "reasoning": [],
        }
        images = judge_images(lambda own=chain: [Image.open(own.files[0])], 1, 1536, language)
        queries = plan_steps(ReasoningChain(tuple(steps), language), doc, "image")
        judge = Recorder()
        asked: Any = SimpleNamespace(language=language, images=images)
        options: Any = SimpleNamespace(prompts=prompts)
        asyncio.run(judge_step(queries[question.step], asked, judge, options))
        assert question.request.key({}) == judge.asked[0].key({})
        compared += 1
    assert compared > 8


# --- graders of answers

SEVEN, WORDS = "1+6等于几？ $$\\underline{}$$", "说明理由"
LABELLED = [
    *[(f"{at}. {SEVEN}", "7", "答案是7", "Yes") for at in range(12)],
    *[(f"{at}. {SEVEN}", "7", "答案是8", "No") for at in range(10)],
    *[(f"{at}. {SEVEN}", "7", "答案是8", "Yes") for at in range(10, 14)],  # wrong labels
    *[(f"{at}. {WORDS}", "两点之间线段最短", "直线最短", "Yes") for at in range(6)],  # undecided
]


def write_answers(path: Path, *names: str) -> Path:
    names = names or ("question", "reference", "response", "label")
    return write_rows(path, [dict(zip(names, row, strict=True)) for row in LABELLED])


def grading(body: Body) -> ServerReply | str:
    """A grader that accepts 7, all texts and one 8; it refuses one problem."""
    asked = text_of(body)
    if f"5. {WORDS}" in asked:
        return ServerReply("not that one", status=400)
    accepted = any(each in asked for each in ("答案是7", WORDS, "13. 1+6"))
    return f"It says so.\n{'<Yes>' if accepted else '<No>'}"


def test_graders_of_answers_are_compared_with_labels(
    command: Command, served: Callable[[Answer], JudgeServer], tmp_path: Path
) -> None:
    server = served(grading)
    out, data = tmp_path / "a.json", write_answers(tmp_path / "own.json")
    arguments = ["--answers", f"mine={data}", "--judge", "openai:m"]
    assert "32 of 32 responses\nAbout 32 calls" in command(*arguments, "--dry-run").output
    assert server.calls == 0
    done = command(*arguments, "-o", out, "-o", tmp_path / "a.csv")
    assert done.exit_code == 0, done.output
    assert server.calls == 32
    found = json.loads(out.read_text())
    rows = {(row["grader"], row["answers"], row["metric"]): row for row in found["figures"]}
    # Right accepted and rejected, wrong accepted and rejected, undecided; worked by hand.
    for grader, hit, missed, alarm, passed, undecided in (
        ("rules", 12, 4, 0, 10, 6),
        ("judge", 18, 3, 0, 10, 1),
        ("rules, then judge", 17, 4, 0, 10, 1),
    ):
        n = hit + missed + alarm + passed
        expected = {
            "agreement": (hit + passed) / n,
            "sensitivity": hit / (hit + missed),
            "specificity": passed / (alarm + passed),
            "undecided": undecided / 32,
        }
        for name, value in expected.items():
            row = rows[grader, "all", name]
            assert row["value"] == pytest.approx(value), (grader, name)
            assert row["low"] <= value <= row["high"], (grader, name)
    assert rows["rules", "all", "kappa"]["value"] == pytest.approx(0.69767, abs=1e-5)
    assert {(row["answers"], row["right"], row["wrong"]) for row in found["figures"]} == {
        ("all", 22, 10)
    }
    failed = [each for each in found["answers"] if each["judge"] is None]
    assert [(each["rules"], each["right"]) for each in failed] == [(None, True)]
    assert "not that one" in failed[0]["reply"]
    assert "rules, then judge openai:m" in done.output
    header, *lines = (tmp_path / "a.csv").read_text().splitlines()
    assert header == "grader,answers,right,wrong,metric,value,low,high"
    assert len(lines) == len(found["figures"]) == 3 * 5


def test_answers_are_graded_as_in_a_run(
    command: Command, served: Callable[[Answer], JudgeServer], tmp_path: Path
) -> None:
    """Without their thinking; a missing answer is wrong and not asked about."""
    names, out = ("question", "reference", "response", "label", "type"), tmp_path / "a.json"
    answers = [
        ("<think>The answer is 8.</think>The answer is 7", 1, "all"),
        ("<think>The answer is 7", 0, "all"),
        ("The answer is 8", 0, "number"),
    ]
    rows = [dict(zip(names, (SEVEN, "7", *each), strict=True)) for each in answers]
    data = write_rows(tmp_path / "own.json", rows)
    server = served(lambda body: "<Yes>" if "8." in text_of(body) else "<No>")
    done = command("--answers", data, "--judge", "openai:m", "-o", out)
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text())
    assert server.calls == 2
    assert [each["judge"] for each in found["answers"]] == [0, 0, 0]
    agreement = {
        (row["grader"], row["answers"]): row["value"]
        for row in found["figures"]
        if row["metric"] == "agreement"
    }
    # A type named "all" counted its answers twice.
    assert agreement == {
        ("rules", "all"): 1,
        ("rules", "number"): 1,
        ("judge", "all"): pytest.approx(2 / 3),
        ("judge", "number"): 1,
        ("rules, then judge", "all"): 1,
        ("rules, then judge", "number"): 1,
    }
    served(lambda body: ServerReply("no such model", status=400))
    done = command("--answers", data, "--judge", "openai:m")
    assert (done.exit_code, "graded no answer: " in done.output) == (1, True), done.output


def test_fields_with_other_names_are_renamed(command: Command, tmp_path: Path) -> None:
    """Also with an image in each row, as in the responses that CMMaTH's code writes."""
    names = ("ask", "gold", "said", "ok", "image")
    rows = [dict(zip(names, (*row, "1.png"), strict=True)) for row in LABELLED]
    data = write_rows(tmp_path / "own.json", rows)
    options = ["question=ask", "reference=gold", "response=said", "label=ok"]
    renamed = [part for each in options for part in ("--field", each)]
    assert command("--answers", data).exit_code == 2
    done = command("--answers", data, *renamed)
    assert done.exit_code == 0, done.output
    assert "Graded by rules alone" in done.output
    assert command("--answers", data, "--field", "question").exit_code == 1


@table(
    "arguments, status, said",
    (["--answers", "{answers}", "--data", "{steps}"], 1, "--answers cannot be combined with"),
    (["--answers", "{steps}"], 2, "has the layout processbench: use --data"),
    (["--data", "{answers}"], 2, "has the layout answers: use --answers"),
    (["--answers", "{answers}", "--judge", "lexical"], 1, "'lexical' cannot grade answers"),
    (["--answers", "=x"], 1, "=x: expected NAME=PATH"),
    (["--answers", "{answers}", "-o", "v.html"], 1, "use a file name that ends in"),
    (["--answers", "{answers}", "-o", "{answers}"], 1, "one of the input files"),
)
def test_answers_are_no_steps(
    arguments: list[str], status: int, said: str, command: Command, data: Path, tmp_path: Path
) -> None:
    files = {"answers": write_answers(tmp_path / "own.json"), "steps": data}
    done = command(*(each.format(**files) for each in arguments))
    assert done.exit_code == status, done.output
    assert said in done.output
