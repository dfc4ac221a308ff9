"""Metadata of a run from lmms-eval's results file: model, settings, versions, tokens, cost.

The format is that of lmms-eval 0.7.3 (``evaluator.py`` and ``loggers/evaluation_tracker.py``).
Values that are missing or have another type are left out. Secrets are masked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from lmms_rpts.base.escaping import printable, storable
from lmms_rpts.base.masking import LONGEST, MASK, is_secret, mask

_LONGEST = 600
_MOST_TASKS = 40
# A line of torch.utils.collect_env: "PyTorch version: 2.9.0+cu128".
_TORCH = re.compile(r"PyTorch version: ([\w.+-]{1,60})")
# lmms-eval's date "20261126_021600", shown as "2026-11-26 02:16:00".
_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})[_T-](\d{2})(\d{2})(\d{2})$", re.ASCII)
# Samples of ``lmms-rpts score``, which sets --limit itself so that all responses are scored.
_SCORE = re.compile(r"[/\\]lmms-rpts-\w+[/\\]responses\.jsonl$")
# lmms-eval records a seed for each of these
_SEEDS = ("random", "numpy", "torch", "fewshot")
_DEEPEST, _MOST = 4, 100
# A value with a comma extends to the next name: "api_key=ab,cd,model=x".
_PART = re.compile(r",(?=\s{0,9}[\w.-]{1,80}\s{0,9}=)")

Results = Mapping[str, Any]
Reader = Callable[[Results], str]


def metadata_of(results: Results) -> dict[str, str]:
    """The metadata in a results file by name, in display order."""
    found = {}
    for name, read in _FACTS.items():
        # The files of others may hold any value anywhere.
        with suppress(TypeError, ValueError, AttributeError, OverflowError, KeyError):
            line = printable(storable(read(results)))
            if line:
                found[name] = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
    return found


def mask_settings(settings: object, deep: int = 0) -> str:
    """Settings as ``name=value, ...`` without secrets."""
    if isinstance(settings, Mapping):
        pairs = [(str(name), value) for name, value in list(settings.items())[:_MOST]]
        shown = (f"{mask(name)}={_masked(name, value, deep)}" for name, value in pairs)
        return ", ".join(shown)[:LONGEST]
    parts = (part.strip().partition("=") for part in _PART.split(str(settings)[:LONGEST]))
    return ", ".join(
        f"{mask(name)}={_masked(name, value)}" if mark else mask(name)
        for name, mark, value in parts
        if name
    )


def _masked(name: str, value: object, deep: int = 0) -> str:
    """A setting's value as text, with ``***`` for secrets recognized by name or value."""
    if isinstance(value, Mapping) and not is_secret(name):
        return f"{{{mask_settings(value, deep + 1)}}}" if deep < _DEEPEST else "..."
    text = str(value)[:LONGEST]
    return MASK if is_secret(name, text) else mask(text)


def value_at(value: Any, *names: str) -> Any:
    """The value at these names; None where one is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _fact(*names: str) -> Reader:
    """Reads a string or a number, as masked text; empty for anything else."""

    def read(results: Results) -> str:
        value = value_at(results, *names)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return ""
        return _masked(names[-1], value).strip()

    return read


_config = partial(_fact, "config")


def _arguments(results: Results, name: str = "model_args") -> str:
    given = value_at(results, "config", name)
    return mask_settings(given) if given and isinstance(given, str | Mapping) else ""


def _by_task(values: Iterable[tuple[str, str]]) -> str:
    """``value`` if all tasks have the same, else ``value (task, task); value (task)``."""
    tasks: dict[str, list[str]] = {}
    for task, value in values:
        if value:
            tasks.setdefault(value, []).append(task)
    if len(tasks) < 2:
        return next(iter(tasks), "")
    return "; ".join(f"{value} ({', '.join(names)})" for value, names in tasks.items())


def _tasks(results: Results, name: str) -> list[tuple[str, Any]]:
    return list(results.get(name, {}).items())[:_MOST_TASKS]


def _generation(results: Results) -> str:
    own = _by_task(
        (task, mask_settings(config.get("generation_kwargs", {})))
        for task, config in _tasks(results, "configs")
    )
    over = _arguments(results, "gen_kwargs")
    return f"{own}; --gen_kwargs {over}" if own and over else own or over


def _versions(results: Results) -> str:
    return ", ".join(
        f"{task} {_fact('version')({'version': version})}".strip()
        for task, version in _tasks(results, "versions")
    )


def _shots(results: Results) -> str:
    return _by_task((task, _fact("n")({"n": n})) for task, n in _tasks(results, "n-shot"))


def _documents(results: Results) -> str:
    def counted(counts: Results) -> str:
        effective, original = _count(counts["effective"]), _count(counts.get("original"))
        return f"{effective} of {original}" if effective and original else effective

    return _by_task((task, counted(value)) for task, value in _tasks(results, "n-samples"))


def _limit(results: Results) -> str:
    if _config("model")(results) == "replay" and _SCORE.search(
        str(value_at(results, "config", "model_args"))
    ):
        return ""
    limit, offset = _config("limit")(results), _config("offset")(results)
    # lmms-eval reads a limit as a fraction or a count: 3.0 is 3.
    limit = limit.removesuffix(".0")
    return f"{limit or 'none'}, offset {offset}" if offset not in ("", "0") else limit


def _seeds(results: Results) -> str:
    seeds = {name: _config(f"{name}_seed")(results) for name in _SEEDS}
    return ", ".join(f"{name} {seed}" for name, seed in seeds.items() if seed)


def _lmms_eval(results: Results) -> str:
    """The version; ``branch@commit`` of a git repository is left out."""
    version = _fact("lmms_eval_version")(results)
    return "" if "@" in version else version


def _torch(results: Results) -> str:
    match = _TORCH.search(str(results.get("pretty_env_info"))[:20_000])
    return _fact("torch_version")(results) or (match[1] if match else "")


def _commit(results: Results) -> str:
    commit, branch = _fact("git_hash")(results), _fact("git_branch")(results)
    return f"{commit} ({branch})" if commit and branch else commit


def _date(results: Results) -> str:
    date = _DATE.sub(r"\1-\2-\3 \4:\5:\6", _fact("date")(results))
    zone = _config("resolved_cli_args", "timezone")(results)
    with suppress(ValueError, KeyError, OSError):  # an unknown date or zone
        there = datetime.fromisoformat(date).replace(tzinfo=ZoneInfo(zone))
        return f"{there.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    return f"{date} {zone}".strip() if date else ""


def _wall_time(results: Results) -> str:
    return duration(float(results.get("total_evaluation_time_seconds") or "nan"))


def duration(seconds: float) -> str:
    """A time in hours, minutes and seconds; empty for a negative or missing one."""
    if not 0 <= seconds < 1e8:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours} h {rest // 60} min" if hours else f"{rest // 60} min {rest % 60} s"


def _count(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    # False for NaN and infinity.
    return f"{int(value):,}" if 0 <= value < 1e15 else ""


def _usage(source: str) -> Reader:
    """Tokens of the model or of the judge, as lmms-eval counted them."""
    # {"usage": {"by_source": {"judge": {"input_tokens": 120, "n_api_calls": 2}}}}
    words = {
        "in": "input_tokens",
        "out": "output_tokens",
        "thinking": "reasoning_tokens",
        "calls": "n_api_calls",
    }

    def read(results: Results) -> str:
        counts = {
            word: _count(value_at(results, "usage", "by_source", source, name))
            for word, name in words.items()
        }
        return ", ".join(f"{n} {word}" for word, n in counts.items() if n not in ("", "0"))

    return read


def _model_tokens(results: Results) -> str:
    """Tokens of API models; for others, the output tokens that lmms-eval counted."""
    if used := _usage("model")(results):
        return used
    counted = _count(value_at(results, "efficiency", "overall", "total_output_tokens"))
    generated = _count(value_at(results, "throughput", "total_gen_tokens"))
    out = next((each for each in (counted, generated) if each not in ("", "0")), "")
    return f"{out} out" if out else ""


def _judge_cost(results: Results) -> str:
    """Cost of the judge in the currency of LMMS_RPTS_PRICE, as the filters wrote it."""
    judges = results["usage"]["judges"]
    if not _count(judges["cost"]):
        return ""
    cached = _count(judges.get("found"))
    about = "about " if judges.get("guessed") is True else ""
    cached = f" ({cached} cached replies)" if cached not in ("", "0") else ""
    return f"{about}{judges['cost']:.4g}{cached}"


# Readers of the metadata by name, as shown in the report.
_FACTS: Mapping[str, Reader] = {
    "model": _config("model"),
    "model arguments": _arguments,
    "backend": _config("model_backend"),
    "generation": _generation,
    "task versions": _versions,
    "documents": _documents,
    "few-shot examples": _shots,
    "limit": _limit,
    "seeds": _seeds,
    "batch size": _config("batch_size"),
    "device": _config("device"),
    "response cache": _config("use_cache"),
    "lmms-eval": _lmms_eval,
    "lmms-rpts": _config("lmms_rpts_version"),
    "transformers": _fact("transformers_version"),
    "torch": _torch,
    "git commit": _commit,
    "date": _date,
    "wall time": _wall_time,
    "tokens of the model": _model_tokens,
    "tokens of the judge": _usage("judge"),
    "cost of the judge": _judge_cost,
}
