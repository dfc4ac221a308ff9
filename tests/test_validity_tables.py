"""Tables of a validation: terminal, Markdown and data frame."""

from __future__ import annotations

import io

from rich.console import Console

from lmms_rpts.analysis.dataframes import guarded
from lmms_rpts.base.escaping import columns
from lmms_rpts.commands.blocks import markdown_of, show
from lmms_rpts.commands.validity_tables import FRAME_TYPES, frame_of, validity_blocks
from lmms_rpts.runs.validity import Interval, PublishedFigure, Usage
from lmms_rpts.validation.run import Validation
from lmms_rpts.validation.terms import METRICS
from tests.support.tables import table
from tests.support.validations import interval, make_set, make_validation, without

HOSTILE = "[red]x[/red] \x1b[31m\u202e <b>|*`{{ 1 }} " + "y" * 300


def shown(validation: Validation, width: int = 100) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, force_terminal=True)
    show(validity_blocks(validation.validity, validation.stopped), console)
    return out.getvalue()


def markdown(validation: Validation) -> str:
    return markdown_of(validity_blocks(validation.validity))


def of_set(**fields: object) -> Validation:
    return make_validation((make_set(**fields), ()))  # type: ignore[arg-type]


def hostile() -> Validation:
    return make_validation(
        (
            make_set(
                HOSTILE,
                skipped={HOSTILE: 1},
                left_out={f"{HOSTILE} {at}": 1 for at in range(9)},
                own_metrics={HOSTILE: interval(0.4)},
                published=(PublishedFigure(judge=HOSTILE, metric=HOSTILE, value=1, source=""),) * 9,
            ),
            (),
        ),
        judge=HOSTILE,
        stopped=HOSTILE,
    )


def test_a_row_shows_judge_interval_and_baselines() -> None:
    lines = [line.split() for line in shown(make_validation()).splitlines()]
    assert ["AUC", "0.811", "0.78", "to", "0.84", "0.717", "0.539", "0.580"] in lines
    assert ["sensitivity", "0.634", "0.60", "to", "0.66"] in lines
    assert ["F1", "(its", "authors')", "0.564", "0.53", "to", "0.59"] in lines


@table(
    "fields, said",
    ({}, "Judge openai:some-judge (prompts 3, date 2026-11-22, seed 7)"),
    ({}, "400 chains, 2,081 steps, 207 of them wrong; sampled from 3,400 chains"),
    ({}, "Usage: 2,081 calls; 812,404 input tokens, 40,210 output tokens; cost 0.41; 17 replies"),
    ({}, "another protocol: critic-large F1 0.879; critic-small F1 0.619."),
    ({}, "Rows that are invalid (3): label (3)."),
    ({"blind": True}, "text-only: without its images"),
    ({"premises": "given"}, "premises of the data set"),
    ({"shortened": 1200}, "left out for length: 1,200."),
    ({"usage": Usage(calls=1, input_tokens=5, output_tokens=1, found=0)}, "Usage: 1 call; 5 "),
    ({"metrics": {"auc": interval(0.5)}}, "does not exceed that of shortness, 0.717"),
    ({"metrics": {"auc": interval(0.72)}}, "but its interval begins at 0.690"),
    ({"metrics": {"auc": interval(0.5)}, "baselines": {}}, "does not exceed that of chance"),
    ({"metrics": {"auc": Interval(value=None)}, "n_wrong": 0}, "AUC: no wrong steps"),
)
def test_what_is_said(fields: dict[str, object], said: str) -> None:
    validation = of_set(**fields)
    assert said in " ".join(shown(validation).split())
    assert said.replace("_", "\\_") in markdown(validation)


@table("metric", *METRICS)
def test_metrics_without_a_value(metric: str) -> None:
    validation = of_set(metrics=without(metric))
    assert "None" not in shown(validation) + markdown(validation)
    frame = frame_of(validation.validity)
    row = frame[(frame["metric"] == metric) & (frame["source"] == "judge")]
    assert row[["value", "low", "high"]].isna().all(axis=None)


@table("width", 100, 80)
def test_it_fits_the_terminal(width: int) -> None:
    for validation in (make_validation(), hostile(), of_set(metrics=without("f1_first"))):
        lines = shown(validation, width).splitlines()
        assert max(map(columns, lines)) <= width


def test_a_stopped_validation_and_one_without_sets() -> None:
    assert "Judging stopped early: no money" in shown(make_validation(stopped="no money"))
    validity = make_validation().validity.model_copy(update={"sets": ()})
    assert "No data set was validated." in shown(Validation(validity, ()))
    assert "No data set was validated." in markdown(Validation(validity, ()))
    assert list(frame_of(validity)) == list(FRAME_TYPES)


def test_the_frame_has_a_row_for_each_set_source_and_metric() -> None:
    validation = make_validation((make_set("a"), ()), (make_set("=b", own_metrics={}), ()))
    frame = frame_of(validation.validity)
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == dict(FRAME_TYPES)
    # Each has the judge's metrics and two of four baselines; one has a metric defined by its
    # authors.
    assert len(frame) == 2 * (len(METRICS) + 2 * 4) + 1
    place = frame[(frame["set"] == "a") & (frame["source"] == "place")]
    assert place["metric"].tolist() == ["auc", "auc_within"]
    assert place["value"].round(3).tolist() == [0.539, 0.519]
    assert frame[frame["source"] == "own"]["metric"].tolist() == ["F1"]
    assert "'=b,auc,0.811" in guarded(frame).to_csv(index=False)
