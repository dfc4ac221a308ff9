"""Labels of relations between images and texts, by people: read from tables, put into records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from lmms_rpts.base.escaping import shorten
from lmms_rpts.base.rows import ReadError, read_objects, row_files
from lmms_rpts.base.schema import Model
from lmms_rpts.base.settings import load_settings
from lmms_rpts.runs.run import AnyRun, RunOf
from lmms_rpts.runs.samples import RunError
from lmms_rpts.scoring.question import Question, Relation, cluster_of
from lmms_rpts.scoring.record import RptsRecord

_COLUMNS = "docs/rating.md shows the columns."


class LabelledRow(Model):
    """A row of a table of relations; a blank one is not labelled."""

    task: str = ""
    doc_id: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    id: Annotated[str | None, BeforeValidator(lambda value: value and str(value))] = None
    relation: Annotated[
        Relation | None,
        BeforeValidator(lambda text: text.strip().lower() if isinstance(text, str) else text),
    ] = None
    rater: str = ""


@dataclass(frozen=True)
class RelationLabels:
    """The labels of files, by document and labeller.

    Attributes:
        place: the file or folder.
        labels: each labeller's label, by task and id or number of a document.
    """

    place: Path
    labels: Mapping[tuple[str, str | int], Mapping[str, Relation]]

    def relation(self, instance: Question) -> Relation | None:
        """The label of most labellers; None without labels, or if several have most votes.

        Translations share their labels.
        """
        keys = (instance.cluster, ("", instance.id), instance.key, ("", instance.key[1]))
        named = dict(pair for key in keys for pair in self.labels.get(key, {}).items())
        votes = Counter(named.values()).most_common(2)
        divided = len(votes) == 2 and votes[0][1] == votes[1][1]
        return votes[0][0] if votes and not divided else None

    def labelled(self, record: RptsRecord) -> RptsRecord:
        """The record with the label of its document, if there is one."""
        if (relation := self.relation(record.instance)) is None:
            return record
        instance = record.instance.model_copy(update={"relation": relation})
        return record.model_copy(update={"instance": instance})


def read_relations(place: Path) -> RelationLabels:
    """Read the labels of a table, or of all tables in a folder.

    The columns are ``relation`` and ``id`` or ``doc_id``; optional: ``task``, ``rater``. A row with
    an ``id`` is for all documents of this id in the task and its translations; one with only a
    ``doc_id`` for this document.

    Raises:
        RunError: with the file, the line and the problem; also if there is no label, or if one
            person gave a document two.
    """
    labels: dict[Any, dict[str, Relation]] = {}
    try:
        rows = [
            (path, row, row.parse(LabelledRow, _COLUMNS))
            for path in row_files(place)
            for row in read_objects(path)
        ]
    except ReadError as error:
        raise RunError(str(error)) from None
    for path, row, found in rows:
        if not found.id and found.doc_id is None:
            raise RunError(f"{row.where}: doc_id and id are missing: one of them is needed")
        if found.relation is None:
            continue
        key = cluster_of(found.task, found.id) if found.id else (found.task, found.doc_id)
        name = found.rater or path.name
        label = labels.setdefault(key, {}).setdefault(name, found.relation)
        if label != found.relation:
            raise RunError(
                f"{row.where}: {shorten(name)!r} labelled this document {found.relation} here, "
                f"but {label} before"
            )
    if not labels:
        raise RunError(f"{place}: no relation is labelled. {_COLUMNS}")
    return RelationLabels(place, labels)


def label_runs(runs: Sequence[RunOf[RptsRecord]]) -> list[RunOf[RptsRecord]]:
    """The runs with the labels that the setting ``relations`` names; they replace those of data."""
    if (found := _chosen()) is None:
        return list(runs)
    return [replace(run, responses=tuple(map(found.labelled, run.responses))) for run in runs]


def relation_notes(run: AnyRun) -> Iterator[str]:
    """How many documents of a run have no label, if the setting ``relations`` is set."""
    place = load_settings().relations
    documents = {each.instance.key: each.instance.relation for each in run.responses}
    if place and (missing := list(documents.values()).count(None)):
        yield (
            f"{run.label}: {missing} of {len(documents)} documents have no relation: {place} "
            "has no label for them, or as many for one relation as for another"
        )


def _chosen() -> RelationLabels | None:
    """The labels that the setting names."""
    place = load_settings().relations
    return read_relations(place) if place else None
