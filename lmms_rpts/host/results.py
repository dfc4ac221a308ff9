"""What the plugin adds to the results of an evaluation."""

from __future__ import annotations

import sys
from typing import Any

from loguru import logger

from lmms_rpts import __version__
from lmms_rpts.filters.session import has_session, session
from lmms_rpts.host.task_files import filters_of
from lmms_rpts.stats.figures import usage_text
from lmms_rpts.tasks.registry import configuration, filter_names


def complete(results: Any) -> Any:
    """The results with the usage of judges, their known validity, and the settings of the run.

    Every process must call it, since the usage is that of all of them. Those of a run without
    tasks of ours are not changed.

    Args:
        results: those of lmms-eval; None in all processes but the first.
    """
    usage = _usage_of_all() if has_session() else None
    if results is None or not has_session():
        return results
    if usage:
        logger.info("Judges in total: {}", usage_text(usage))
    added = {"judges": usage, "validity": [each.model_dump() for each in session().validity or ()]}
    if any(added.values()):
        results["usage"] = (results.get("usage") or {}) | {k: v for k, v in added.items() if v}
    ours = filter_names()
    if any(filters_of(config) & ours for config in (results.get("configs") or {}).values()):
        results["config"] |= {"lmms_rpts": configuration(), "lmms_rpts_version": __version__}
    return results


def _usage_of_all() -> dict[str, Any] | None:
    """The usage of the judges in all processes; None if none was used."""
    parts = [session().budget.usage()]
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        own = parts[0]
        parts = parts * distributed.get_world_size()
        distributed.all_gather_object(parts, own)
    summed = ("calls", "input_tokens", "output_tokens", "cost", "found")
    total: dict[str, Any] = {name: sum(part[name] for part in parts) for name in summed}
    total["guessed"] = any(part["guessed"] for part in parts)
    total["stopped"] = next(filter(None, (part["stopped"] for part in parts)), None)
    if not session().settings.unit_price:
        total["cost"] = None
    return total if total["calls"] or total["found"] or total["stopped"] else None
