"""The progress bar of judging: one unit per request in all fields, also over several processes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest

from lmms_rpts.judging import Budget, JudgeRequest, Verdict, open_engine
from lmms_rpts.judging import progress as bars
from lmms_rpts.judging.progress import Board, Progress
from tests.support.judge_server import Body, JudgeServer, ServerReply
from tests.support.tables import table


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> StringIO:
    stream = StringIO()
    monkeypatch.setattr(bars, "bar_stream", lambda: stream)
    return stream


def _last(stream: StringIO) -> str:
    return re.split(r"[\r\n]+", stream.getvalue().strip())[-1]


SAME = Verdict("1", 1.0, cached=True, identical=True)
ASKED, CACHED, FAILED = Verdict("1", 1.0), Verdict("1", 1.0, cached=True), Verdict(None, error="x")


@table(
    "units, said",
    ([[ASKED, ASKED], [ASKED]], {"asked": 2}),
    ([[CACHED, CACHED], [CACHED, ASKED], [ASKED, FAILED]], {"asked": 1, "cached": 1, "failed": 1}),
    ([[], [ASKED]], {"asked": 1, "no call": 1}),
    ([[SAME, SAME], [SAME, CACHED], [SAME, ASKED]], {"identical": 1, "cached": 1, "asked": 1}),
)
def test_each_unit_has_one_outcome(
    shown: StringIO, units: Sequence[Sequence[Verdict]], said: dict[str, int]
) -> None:
    shown.truncate(0)
    with Progress(len(units), "Judging", True, Budget(), unit="steps") as progress:
        for verdicts in units:
            progress.done(verdicts)
    line = _last(shown)
    assert f"{len(units)}/{len(units)}" in line
    assert "steps/s" in line
    counted = {name: int(number) for name, number in re.findall(r"([a-z][a-z ]*)=(\d+)", line)}
    assert counted == said
    assert sum(counted.values()) == len(units)


def test_two_processes_are_one_count(shown: StringIO) -> None:
    class Known(Board):
        def __init__(self, others: list[dict[str, float]]) -> None:
            self.others, self.told = others, []

        def tell(self, said: dict[str, float]) -> None:
            self.told = [json.loads(json.dumps(said))]

        def heard(self) -> list[dict[str, float]]:
            return self.others

    other = Known([])
    with Progress(3, "Judging", False, Budget(), other) as progress:
        for verdicts in ([ASKED], [CACHED], [ASKED, FAILED]):
            progress.done(verdicts)
    with Progress(2, "Judging", True, Budget(), Known(other.told)) as own:
        own.done([ASKED, ASKED])
        own.done([CACHED])
    line = _last(shown)
    assert "5/5" in line
    assert dict(re.findall(r"([a-z]+)=(\d+)", line)) == {"asked": "2", "cached": "2", "failed": "1"}


def test_the_total_is_what_was_done_with_cache_hits_and_failures(
    shown: StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(body: Body) -> ServerReply:
        fails = "fails" in str(body["messages"])
        return ServerReply("Score: 0.5", refusal="I will not." if fails else None)

    def requests(*texts: str) -> list[JudgeRequest]:
        return [JudgeRequest("image", [{"role": "user", "content": each}]) for each in texts]

    with JudgeServer(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with open_engine("openai:m", cache_dir=tmp_path, progress=False) as engine:
            engine.run(requests("a", "b"))
        with open_engine("openai:m", cache_dir=tmp_path) as engine:
            verdicts = engine.run(requests("a", "b", "c", "fails", "fails too"))
    assert [each.error is not None for each in verdicts] == [False] * 3 + [True] * 2
    line = _last(shown)
    counted = {name: int(number) for name, number in re.findall(r"([a-z][a-z ]*)=(\d+)", line)}
    assert counted == {"asked": 1, "cached": 2, "failed": 2}
    assert "5/5" in line
