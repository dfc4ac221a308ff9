"""What the plugin adds to the results of an evaluation."""

from __future__ import annotations

from typing import Any

from lmms_rpts import __version__
from lmms_rpts.filters.session import session
from lmms_rpts.host.task_files import filters_of
from lmms_rpts.tasks.benchmark import configuration, filter_names


def complete(results: Any) -> Any:
    """The results with the usage of judges, their known validity, and the settings of the run.

    Args:
        results: those of lmms-eval; None in all processes but the first.
    """
    if results is None:
        return None
    judges = {"judges": _usage(), "validity": session().validity}
    if any(judges.values()):
        usage = results.get("usage") or {}
        results["usage"] = usage | {name: each for name, each in judges.items() if each}
    ours = filter_names()
    if any(filters_of(config) & ours for config in (results.get("configs") or {}).values()):
        results["config"] |= {"lmms_rpts": configuration(), "lmms_rpts_version": __version__}
    return results


def _usage() -> dict[str, Any] | None:
    usage = session().budget.usage()
    if not usage["calls"] and not usage["found"] and not usage["stopped"]:
        return None
    if not session().settings.unit_price:
        usage["cost"] = None
    return usage
