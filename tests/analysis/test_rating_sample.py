"""Samples for human raters: whole responses, sound and broken reasoning, reproducible by seed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.analysis.ratings import LONGEST_TEXT, draw_sample, rated_steps
from lmms_rpts.analysis.reading import read_run
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run
from tests.support.instances import make_doc
from tests.support.runs import STEPS, make_record, write_run

SOUND, BROKEN, UNSCORED = [1.0, 0.9], [0.9, 0.1], [1.0, None]


def run_of(folder: Path, **tasks: list[list[Any]]) -> Run:
    for task, scores in tasks.items():
        language = "zh" if task.endswith("zh") else "en"
        steps = (
            STEPS if language == "en" else ("图片0 -> 钟指九点。", "结论0 + 文本0 -> 商店关门。")
        )
        records = {
            at: make_record(each, doc=make_doc(language, id=at), steps=steps)
            for at, each in enumerate(scores)
        }
        write_run(folder, records, task=task)
    return read_run(folder)


def verdicts(run: Run, steps: int, seed: int = 0) -> Counter[tuple[str, str]]:
    return Counter(
        (each.instance.task, "broken" if each.first_error else "sound")
        for each in draw_sample(run, steps, seed).responses
    )


def test_tasks_and_verdicts_take_turns(tmp_path: Path) -> None:
    run = run_of(tmp_path, a_en=[SOUND] * 30 + [BROKEN] * 3, a_zh=[BROKEN] * 20 + [SOUND] * 2)
    assert verdicts(run, 16) == dict.fromkeys(
        [("a_en", "broken"), ("a_en", "sound"), ("a_zh", "broken"), ("a_zh", "sound")], 2
    )
    # Whole responses: nine steps need five responses with two steps each.
    assert draw_sample(run, 9).steps == 10
    # All responses of a scarce group are drawn.
    assert verdicts(run, 40)["a_zh", "sound"] == 2
    assert verdicts(run, 40)["a_en", "broken"] == 3
    assert sum(verdicts(run, 40).values()) == 20
    assert draw_sample(run, 1_000).steps == 110


def test_a_seed_draws_the_same_sample(tmp_path: Path) -> None:
    run = run_of(tmp_path, a_en=[SOUND] * 40 + [BROKEN] * 40)

    def drawn(seed: int) -> list[int]:
        return [each.instance.doc_id for each in draw_sample(run, 40, seed).responses]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_the_order_tells_nothing(tmp_path: Path) -> None:
    run = run_of(tmp_path, a_en=[SOUND] * 40 + [BROKEN] * 40)
    orders = [
        "".join("b" if each.first_error else "s" for each in draw_sample(run, 40, seed).responses)
        for seed in range(20)
    ]
    assert len(set(orders)) > 15
    assert not any(order in ("bs" * 10, "sb" * 10) for order in orders)
    assert {order[0] for order in orders} == {"b", "s"}


def test_what_has_no_score_comes_last(tmp_path: Path) -> None:
    run = run_of(tmp_path, a_en=[UNSCORED] * 5 + [SOUND] * 2)
    assert {each.instance.doc_id for each in draw_sample(run, 4).responses} == {5, 6}
    assert draw_sample(run, 100).steps == 14


def test_steps_that_no_judge_was_asked_about_are_not_rated(tmp_path: Path) -> None:
    record = make_record(SOUND)
    record["steps"][0]["verdicts"] = []
    run = read_run(write_run(tmp_path, {0: record}))
    assert rated_steps(run.responses[0]) == (1,)
    assert draw_sample(run).steps == 1


def test_a_run_without_steps_is_refused(tmp_path: Path) -> None:
    record = make_record([], steps=())
    run = read_run(write_run(tmp_path, {0: record}))
    with pytest.raises(RunError, match=r"no judged step.*lmms-rpts score"):
        draw_sample(run)


def test_texts_that_nobody_reads_leave_their_response_out(tmp_path: Path) -> None:
    long = make_record(SOUND)
    long["steps"][1]["conclusion"] = "x" * 1_000_000
    run = read_run(write_run(tmp_path / "a", {0: long, 1: make_record(SOUND)}))
    sample = draw_sample(run)
    assert [each.instance.doc_id for each in sample.responses] == [1]
    assert sample.too_long == 1
    with pytest.raises(RunError, match=f"over {LONGEST_TEXT:,} characters"):
        draw_sample(read_run(write_run(tmp_path / "b", {0: long})))


def test_a_large_run(tmp_path: Path) -> None:
    run = run_of(tmp_path, a_en=[SOUND, BROKEN] * 250)
    assert draw_sample(run, 100).steps == 100
    assert draw_sample(run, 10_000).steps == 1_000
