"""What ``lmms-rpts score`` shows of lmms-eval's log."""

from __future__ import annotations

from pathlib import Path

from lmms_rpts.commands.score import own_warnings, read_log, results_table

_LINE = "2026-11-23 02:00:00 | {} | lmms_rpts.{}:f:1 - {}\n"


def test_warnings_are_found_in_the_whole_log_with_all_their_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    early = _LINE.format("WARNING", "settings", "The first.")
    noise = "2026-11-23 02:00:00 | INFO | lmms_eval.x:f:1 - noise\n" * 9_000
    late = _LINE.format("ERROR", "judging.isolation", "Please report this:") + "Traceback\n  line\n"
    other = "2026-11-23 02:00:00 | WARNING | lmms_eval.x:f:1 - not ours\n"
    log.write_text(early + noise + late + other + early, encoding="utf-8")
    assert own_warnings(read_log(log)) == ["The first.", "Please report this:\nTraceback\n  line"]


def test_nothing_steers_the_terminal(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(_LINE.format("WARNING", "x", "a\x1b]0;b\x07c\x9b"), encoding="utf-8")
    shown = "".join(own_warnings(read_log(log))) + results_table("|a\x1b[2J\x9b|")
    assert not any(mark in shown for mark in "\x1b\x07\x9b")


def test_a_log_that_is_not_there_has_no_warnings(tmp_path: Path) -> None:
    assert own_warnings(read_log(tmp_path / "log")) == []
