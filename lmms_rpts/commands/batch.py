"""Rounds of ``lmms-rpts score`` by batch files: what is open, and where it goes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import count, takewhile
from pathlib import Path
from uuid import uuid4

import typer

from lmms_rpts.base.escaping import cost
from lmms_rpts.base.settings import load_settings
from lmms_rpts.commands.common import check_outputs, fail, same_command
from lmms_rpts.judging import BACKENDS, NO_JUDGE, FatalJudgeError, Usage, backends_of

_NEXT = (
    "Have it answered by a batch API, or on your own GPUs by vllm run-batch -i FILE -o "
    "RESULTS.jsonl --model MODEL. Then:\n  lmms-rpts cache import RESULTS.jsonl"
)


def check_round(judge: str | None, requests: Path | None) -> None:
    """Fail if the judge takes no batches, or the file of requests cannot be written."""
    found = backends_of(load_settings(judge=judge).judge or NO_JUDGE)
    if requests is None:
        if not any(each.same_as for each in found):
            fail("--no-wait sends batches: use --judge openai-batch:MODEL")
    elif not any(each.same_as or each is BACKENDS["openai"] for each in found):
        fail("--requests is for OpenAI-compatible judges: use --judge openai:MODEL")
    else:
        check_outputs([requests])
        _clear(requests, keep=True)


_ADDRESS = (
    "If a server of yours will judge as well, set its OPENAI_BASE_URL from the first round on, or "
    "LMMS_RPTS_SAME_MODEL=1: the address is part of the key of a reply (docs/batch.md)."
)


def visit_batches(judge: str | None, files: Mapping[Path, list[str]] | None = None) -> None:
    """Send files, with the ids in each; without any, take the results of what was sent before."""
    from lmms_rpts.judging.backends.batch import BatchServer
    from lmms_rpts.judging.batches import BatchStore
    from lmms_rpts.judging.cache import CacheError

    settings = load_settings(judge=judge)
    store = BatchStore(settings.cache or Path())
    server = BatchServer(settings, store)

    async def visit() -> None:
        batches: dict[str, tuple[Path | None, list[str]]] = {
            f"{server.prefix}{uuid4().hex}": each for each in (files or {}).items()
        }
        for name, batch in () if files else store.members(server.prefix):
            batches.setdefault(batch.partition(" ")[0], (None, []))[1].append(name)
        for token, (path, names) in batches.items():
            said = await server.finish(token, path, names, wait=False)
            typer.echo(f"Batch {said or 'that was not sent: its requests are open'}")
        await server.aclose()
        store.close()

    try:
        asyncio.run(visit())
    except (FatalJudgeError, CacheError, OSError) as error:
        fail(error)


def ask_later(judge: str | None, folder: Path, requests: Path | None) -> bool:
    """Write or send (``requests`` is None) the open requests in ``folder``; False: there are none.

    The round has the name of the folder.
    """
    from lmms_rpts.judging.batches import BatchStore, split
    from lmms_rpts.judging.budget import shared_cost
    from lmms_rpts.judging.registry import prices_of

    settings = load_settings(judge=judge)
    store = BatchStore(settings.cache or fail("LMMS_RPTS_CACHE is off, and batches need it"))
    rows = store.open_requests(folder.name)
    if not rows:
        store.forget(folder.name)
        typer.echo("No request is open.")
        return False
    stages, numbers, read, written = zip(*rows, strict=True)
    price = shared_cost(Usage(sum(read), sum(written)), prices_of(settings.judge, settings))
    typer.echo(
        f"This round: {', '.join(map('{} {:,}'.format, stages, numbers))}; about {sum(read):,} "
        f"tokens in, {sum(written):,} out"
        + ("" if price is None else f"; cost {cost(price)} at the price of batches")
    )
    files: dict[Path, list[str]] = {}
    sources = sorted(folder.glob("*.jsonl"))
    for source in sources:
        first = requests or folder / f"{uuid4().hex}.jsonl"
        first = first.with_stem(f"{first.stem}-{source.stem}") if len(sources) > 1 else first
        _clear(first)
        files |= split(source, first, settings.batch_requests)
    if files and requests is None:
        visit_batches(judge, files)
    elif files:
        if not (settings.openai_urls or settings.same_model):
            typer.echo(_ADDRESS)
        for path, names in files.items():
            size = path.stat().st_size / 1e6
            typer.echo(f"Written: {path} ({len(names):,} requests, {size:,.1f} MB)")
        typer.echo(_NEXT)
    typer.echo(f"To go on:\n  {same_command()}")
    return True


def _clear(first: Path, keep: bool = False) -> None:
    """Delete the files of an earlier round, ``first`` and those after it; fail if one is another's.

    ``keep``: whether only to look at them.
    """
    from lmms_rpts.judging.batches import is_requests

    later = (first.with_stem(f"{first.stem}-{number}") for number in count(2))
    for old in filter(Path.exists, (first, *takewhile(Path.exists, later))):
        if not is_requests(old):
            fail(f"{old} is not a file of requests: choose another name with --requests")
        if not keep:
            old.unlink()
