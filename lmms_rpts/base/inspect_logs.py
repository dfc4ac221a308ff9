"""Rows of logs of inspect_ai: ``.eval``, a zip of JSON files, and its older ``.json``.

The format is that of ``inspect_ai.log`` (``_log.py``), version 2, as written by inspect_ai 0.3.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from lmms_rpts.base.rows import ReadError, Row

_ZSTANDARD = 93  # zipfile itself reads it from Python 3.14 on
_ATTACHMENT = "attachment://"


def inspect_rows(path: Path, log: Mapping[str, Any] | None = None) -> Iterator[Row]:
    """One row per sample and epoch, in the order of epochs and ids.

    Fields: ``id``, ``question``, ``options``, ``answer``, ``images`` (data URIs), ``model``,
    ``completion``, ``thinking``, ``token_counts``; and for messages ``error`` (why there is no
    response), ``lost`` (types of parts of the question that are not in the log), ``turns`` (outputs
    of the model), ``log`` (name of the task), ``missing`` (samples that it lacks) and ``status``.

    Args:
        path: the log; a ReadError if it is none.
        log: its content, if it is JSON.
    """
    try:
        if log is not None:
            samples = {f"sample {at}": each for at, each in enumerate(log["samples"], 1)}
            yield from _rows(path, log, list(samples), samples.__getitem__)
            return
        with ZipFile(path) as archive:
            read, names = partial(_member, archive), {*archive.namelist()}
            # A log of a run that goes on, or was killed, has no header yet.
            head = "header.json" if "header.json" in names else "_journal/start.json"
            inside = [each for each in names if each.startswith("samples/")]
            inside.sort(key=_epoch_and_id)
            yield from _rows(path, {"status": "started", **read(head)}, inside, read)
    except OSError:
        raise
    except Exception as error:  # of zipfile, zstandard, json, or a field of another version
        said = f"{path} is not a log that inspect_ai 0.3 writes: copy it again"
        raise ReadError(f"{said} ({type(error).__name__}: {error})") from None


def _epoch_and_id(name: str) -> list[tuple[int, str]]:
    """The sorting key of ``samples/ID_epoch_2.json``: 2 comes before 10."""
    parts = name.rpartition("_epoch_")[::2]
    return [(len(each), each) for each in reversed(parts)]


def _member(archive: ZipFile, name: str) -> Any:
    """A JSON file of the archive."""
    info, file = archive.getinfo(name), archive.fp
    if info.compress_type != _ZSTANDARD or file is None:
        return json.loads(archive.read(name))
    import zstandard

    file.seek(info.header_offset + 26)  # the lengths of the name and of the extra field
    file.seek(sum(struct.unpack("<HH", file.read(4))), os.SEEK_CUR)
    content = file.read(info.compress_size)  # of several frames, which decompress() does not join
    with zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True) as reader:
        return json.loads(reader.read())


def _rows(
    path: Path, log: Mapping[str, Any], names: Sequence[str], read: Callable[[str], Any]
) -> Iterator[Row]:
    run = log["eval"]
    known = run["dataset"].get("sample_ids") or ()
    missing = len(known) * (run["config"].get("epochs") or 1) - len(names)
    head = {"model": run["model"], "log": run["task"], "status": log["status"], "missing": missing}
    for number, name in enumerate(names):
        yield Row(path, name, number, head | _fields(read(name)))


def _fields(sample: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a sample, with its attachments in place."""
    stored, asked, target = sample.get("attachments") or {}, sample["input"], sample["target"]
    messages = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    parts = [part for each in messages if each["role"] == "user" for part in _parts(each, stored)]
    images = [text for kind, text in parts if kind == "image" and text.startswith("data:")]
    output = sample["output"]
    said = _parts(output["choices"][0]["message"], stored) if output["choices"] else []
    error = (sample.get("error") or {}).get("message") or "the log has no output of the model"
    return {
        "id": sample["id"],
        "question": "\n\n".join(text for kind, text in parts if kind == "text"),
        "images": images,
        "options": list(sample.get("choices") or ()),
        "answer": target if isinstance(target, str) else ", ".join(target),
        "completion": "\n".join(text for kind, text in said if kind == "text"),
        "thinking": "\n".join(text for kind, text in said if kind == "reasoning"),
        "token_counts": output.get("usage"),
        "error": "" if said else error.split("\n")[0],
        "lost": [kind for kind, text in parts if kind != "text" and text not in images],
        "turns": sum(each["role"] == "assistant" for each in sample.get("messages") or ()),
    }


def _parts(message: Mapping[str, Any], stored: Mapping[str, str]) -> list[tuple[str, str]]:
    """The types and values of the parts of a message."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    found = []
    for part in parts:
        # Encrypted reasoning is readable as a summary, if at all.
        value = part.get("summary") if part.get("redacted") else part.get(part["type"])
        text = str(value or "")
        found.append((part["type"], stored.get(text.removeprefix(_ATTACHMENT), text)))
    return found
