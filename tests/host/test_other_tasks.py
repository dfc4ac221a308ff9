"""Tasks of other packages: their questions, and when an answer to them counts as right."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmms_rpts.base.settings import load_settings
from lmms_rpts.host.other_tasks import open_task
from lmms_rpts.tasks.data import DataError
from tests.host.test_own_tasks import FILTERS, write_task
from tests.support.foreign_task import write_foreign_task
from tests.support.instances import make_doc


def test_images_that_are_not_at_hand_and_a_judge_without_vision(tmp_path: Path) -> None:
    task = write_foreign_task(tmp_path)
    place = ("colours", Path(task.include_path))
    with pytest.raises(DataError, match="'lexical' has no vision"):
        open_task(*place, load_settings(judge="lexical"))
    for image in task.folder.rglob("*.png"):
        image.unlink()
    question = open_task(*place, load_settings(judge="none")).question(0)
    assert (question.visual_clue, question.images, question.images_known) == ((), None, False)


def test_an_own_task_with_our_filters_grades_itself(tmp_path: Path) -> None:
    """Its scorer has the arguments of its filters; documents have ids of their own."""
    filters = FILTERS.replace(
        "{function: rpts_aggregate}", "{function: rpts_aggregate, decay: 0.5}"
    )
    write_task(tmp_path, [make_doc(id=3), make_doc(id=5)], filters)
    other = open_task("shop_check", tmp_path, load_settings(judge="lexical"))
    assert (other.name, other.total, other.ids) == ("shop_check", 2, ["3", "5"])
    assert other.is_ours
    options = other.scorer.options  # type: ignore[attr-defined]
    assert (options.mode, options.form, options.decay) == ("rule", "agree", 0.5)
    question = other.question(1)
    assert (question.key, question.id) == (("shop_check", 1), "5")
    assert question.statement == make_doc()["statement"]
