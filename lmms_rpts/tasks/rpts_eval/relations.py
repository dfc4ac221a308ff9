"""Labels of relations between images and texts, by people: read from files, put into records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lmms_rpts.base.escaping import shorten
from lmms_rpts.base.rows import row_files
from lmms_rpts.base.settings import Settings
from lmms_rpts.filters.record import RptsInstance, RptsRecord, cluster_of
from lmms_rpts.runs.rating_file import RatedItem, Relation, read_rating_file
from lmms_rpts.runs.run import AnyRun, RunOf
from lmms_rpts.runs.samples import RunError

PROPOSAL = "judge's proposal"
"""The name of the judge as a labeller."""


@dataclass(frozen=True)
class RelationLabels:
    """The labels of files, by document and labeller.

    Attributes:
        place: the first file or folder.
        labels: by task and id or number of a document: each labeller's label, and the one before
            the judge's proposal was shown. The proposal itself is only such a first label.
    """

    place: Path
    labels: Mapping[tuple[str, str | int], Mapping[str, tuple[Relation | None, Relation]]]

    def of(self, instance: RptsInstance, first: bool = False) -> dict[str, Relation]:
        """The labels of a document, or the first ones, by labeller; translations share them."""
        keys = (instance.cluster, ("", instance.id), instance.key, ("", instance.key[1]))
        pairs = [pair for key in keys for pair in self.labels.get(key, {}).items()]
        return {name: label for name, both in pairs if (label := both[first])}

    def relation(self, instance: RptsInstance) -> Relation | None:
        """The label of most labellers; None without labels, or if several have most votes."""
        votes = Counter(self.of(instance).values()).most_common(2)
        divided = len(votes) == 2 and votes[0][1] == votes[1][1]
        return votes[0][0] if votes and not divided else None

    def labelled(self, record: RptsRecord) -> RptsRecord:
        """The record with the label of its document, if there is one."""
        if (relation := self.relation(record.instance)) is None:
            return record
        instance = record.instance.model_copy(update={"relation": relation})
        return record.model_copy(update={"instance": instance})


def read_relations(*places: Path) -> RelationLabels:
    """Read the labels of files, or of all files in folders; other ratings there are ignored.

    ``rating_file.read_rating_file`` describes the files. A row with an ``id`` is for all documents
    of this id in the task and its translations; one with only a ``doc_id`` for this document.

    Raises:
        RunError: with the file, the line and the problem; also if there is no label, or if one
            person gave a document two.
    """
    labels: dict[Any, dict[str, tuple[Relation | None, Relation]]] = {}
    for path in (file for place in places for file in row_files(place)):
        for each in read_rating_file(path):
            if each.what != "relation":
                continue
            row = each.source
            if not row.id and row.doc_id is None:
                raise RunError(f"{each.where}: doc_id and id are missing: one of them is needed")
            key = cluster_of(row.task, row.id) if row.id else (row.task, row.doc_id)
            of_document, first = labels.setdefault(key, {}), None
            if isinstance(row, RatedItem):
                first = row.first
                if row.proposal:
                    of_document[PROPOSAL] = None, row.proposal
            if each.answer is None:
                continue
            name = each.rater or path.name
            label, _ = of_document.setdefault(name, (each.answer, first or each.answer))
            if label != each.answer:
                raise RunError(
                    f"{each.where}: {shorten(name)!r} labelled this document {each.answer} here, "
                    f"but {label} before"
                )
    if not any(label for found in labels.values() for label, _ in found.values()):
        raise RunError(
            f"{', '.join(map(str, places))}: no relation is labelled. Label some with the page of "
            "lmms-rpts rate --relations"
        )
    return RelationLabels(places[0], labels)


def label_runs(runs: Sequence[RunOf[RptsRecord]]) -> list[RunOf[RptsRecord]]:
    """The runs with the labels that the setting ``relations`` names; they replace those of data."""
    if (found := _chosen()) is None:
        return list(runs)
    return [replace(run, responses=tuple(map(found.labelled, run.responses))) for run in runs]


def relation_notes(run: AnyRun) -> Iterator[str]:
    """How many documents of a run have no label, if the setting ``relations`` is set."""
    place = Settings.given().get("relations")
    documents = {each.instance.key: each.instance.relation for each in run.responses}
    if place and (missing := list(documents.values()).count(None)):
        yield (
            f"{run.label}: {missing} of {len(documents)} documents have no relation: {place[0]} "
            "has no label for them, or as many for one relation as for another"
        )


def _chosen() -> RelationLabels | None:
    """The labels that the setting names. Only this setting is read: others may be wrong."""
    place = Settings.given().get("relations")
    return read_relations(Path(str(place[0])).expanduser()) if place else None
