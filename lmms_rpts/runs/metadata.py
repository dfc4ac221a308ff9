"""Metadata of a run from lmms-eval's results file: model, settings, versions, tokens, cost.

The format is that of lmms-eval 0.7.3 (``evaluator.py`` and ``loggers/evaluation_tracker.py``).
Values that are missing or have another type are left out. Secrets are masked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lmms_rpts.escaping import printable, storable
from lmms_rpts.masking import LONGEST, MASK, is_secret, mask

_LONGEST = 600
_MOST_TASKS = 40
_TORCH = re.compile(r"PyTorch version: ([\w.+-]{1,60})")
_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})[_T-](\d{2})(\d{2})(\d{2})$", re.ASCII)
_SCORE = re.compile(r"[/\\]lmms-rpts-\w+[/\\]responses\.jsonl$")
"""Samples of ``lmms-rpts score``, which sets --limit itself so that all responses are scored."""
_SEEDS = ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")
_DEEPEST, _MOST = 4, 100
# A value with a comma extends to the next name: "api_key=ab,cd,model=x".
_PART = re.compile(r",(?=\s{0,9}[\w.-]{1,80}\s{0,9}=)")


def metadata_of(results: Mapping[str, Any]) -> dict[str, str]:
    """The metadata in a results file by name, in display order.

    Args:
        results: the content of ``*_results.json``; empty if there is none.
    """
    found = {}
    for name, read in _FACTS.items():
        value = read(results)
        if value:
            found[name] = _line(value)
    return found


def image_places(results: Mapping[str, Any]) -> dict[str, str]:
    """Where the images of a run were, by task."""
    configs = _part(results, "configs")
    found = ((task, _part(configs, task, "metadata").get("images")) for task in configs)
    return {task: place for task, place in found if isinstance(place, str) and place}


def mask_settings(settings: object, deep: int = 0) -> str:
    """Settings as ``name=value, ...`` without secrets.

    Args:
        settings: a mapping, or lmms-eval's form ``a=1,b=2``.
        deep: number of mappings around these settings.
    """
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


def _line(value: str) -> str:
    line = printable(storable(value))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _part(results: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    found: Any = results
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _plain(name: str, value: object) -> str:
    """A string or a number as masked text; empty for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return _masked(name, value).strip()


def _whole(name: str, value: object) -> str:
    """``_plain``, but 3 for 3.0: lmms-eval reads a limit as a fraction or a count."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return _plain(name, value)


def _config(name: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda results: _plain(name, _part(results, "config").get(name))


def _top(name: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda results: _plain(name, results.get(name))


def _arguments(results: Mapping[str, Any]) -> str:
    given = _part(results, "config").get("model_args")
    return mask_settings(given) if isinstance(given, str | Mapping) else ""


def _by_task(values: Iterable[tuple[object, str]]) -> str:
    """``value`` if all tasks have the same, else ``value (task, task); value (task)``."""
    tasks: dict[str, list[str]] = {}
    for task, value in values:
        if value:
            tasks.setdefault(value, []).append(str(task))
    if len(tasks) < 2:
        return next(iter(tasks), "")
    return "; ".join(f"{value} ({', '.join(names)})" for value, names in tasks.items())


def _tasks_of(results: Mapping[str, Any], name: str) -> list[tuple[str, Any]]:
    return list(_part(results, name).items())[:_MOST_TASKS]


def _generation(results: Mapping[str, Any]) -> str:
    own = _by_task(
        (task, mask_settings(_part(config, "generation_kwargs")))
        for task, config in _tasks_of(results, "configs")
        if isinstance(config, Mapping)
    )
    given = _part(results, "config").get("gen_kwargs")
    over = mask_settings(given) if isinstance(given, str | Mapping) and given else ""
    return f"{own}; --gen_kwargs {over}" if own and over else own or over


def _versions(results: Mapping[str, Any]) -> str:
    versions = ((task, _plain("version", value)) for task, value in _tasks_of(results, "versions"))
    return ", ".join(f"{task} {version}".strip() for task, version in versions)


def _shots(results: Mapping[str, Any]) -> str:
    shots = [(task, _plain("n-shot", value)) for task, value in _tasks_of(results, "n-shot")]
    return _by_task(shots)


def _documents(results: Mapping[str, Any]) -> str:
    def counted(value: object) -> str:
        counts = value if isinstance(value, Mapping) else {}
        effective, original = _count(counts.get("effective")), _count(counts.get("original"))
        return f"{effective} of {original}" if effective and original else effective

    return _by_task((task, counted(value)) for task, value in _tasks_of(results, "n-samples"))


def _limit(results: Mapping[str, Any]) -> str:
    config = _part(results, "config")
    given = config.get("model_args")
    if config.get("model") == "replay" and isinstance(given, str) and _SCORE.search(given):
        return ""
    limit, offset = _whole("limit", config.get("limit")), _plain("offset", config.get("offset"))
    return f"{limit or 'none'}, offset {offset}" if offset not in ("", "0") else limit


def _seeds(results: Mapping[str, Any]) -> str:
    config = _part(results, "config")
    seeds = {name.removesuffix("_seed"): _plain(name, config.get(name)) for name in _SEEDS}
    return ", ".join(f"{name} {seed}" for name, seed in seeds.items() if seed)


def _lmms_eval(results: Mapping[str, Any]) -> str:
    """The version; ``branch@commit`` of a git repository is left out."""
    version = _top("lmms_eval_version")(results)
    return "" if "@" in version else version


def _torch(results: Mapping[str, Any]) -> str:
    told = results.get("pretty_env_info")
    match = _TORCH.search(told[:20_000]) if isinstance(told, str) else None
    return _top("torch_version")(results) or (match[1] if match else "")


def _commit(results: Mapping[str, Any]) -> str:
    commit, branch = _top("git_hash")(results), _top("git_branch")(results)
    return f"{commit} ({branch})" if commit and branch else commit


def _date(results: Mapping[str, Any]) -> str:
    date = _top("date")(results)
    match = _DATE.match(date)
    if match:
        year, month, day, hour, minute, second = match.groups()
        date = f"{year}-{month}-{day} {hour}:{minute}:{second}"
    zone = _plain("timezone", _part(results, "config", "resolved_cli_args").get("timezone"))
    return f"{date} {zone}".strip() if date else ""


def _wall_time(results: Mapping[str, Any]) -> str:
    try:
        seconds = float(results.get("total_evaluation_time_seconds") or "nan")
    except (TypeError, ValueError, OverflowError):
        return ""
    if not math.isfinite(seconds) or not 0 <= seconds < 1e8:
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


def _usage(source: str) -> Callable[[Mapping[str, Any]], str]:
    """Tokens of the model or of the judge, as lmms-eval counted them."""

    def read(results: Mapping[str, Any]) -> str:
        used = _part(results, "usage", "by_source", source)
        words = {
            "in": _count(used.get("input_tokens")),
            "out": _count(used.get("output_tokens")),
            "thinking": _count(used.get("reasoning_tokens")),
            "calls": _count(used.get("n_api_calls")),
        }
        return ", ".join(
            f"{count} {word}" for word, count in words.items() if count not in ("", "0")
        )

    return read


def _model_tokens(results: Mapping[str, Any]) -> str:
    """Tokens of API models; for others, the output tokens that lmms-eval counted."""
    used = _usage("model")(results)
    if used:
        return used
    counted = _count(_part(results, "efficiency", "overall").get("total_output_tokens"))
    generated = _count(_part(results, "throughput").get("total_gen_tokens"))
    out = next((each for each in (counted, generated) if each not in ("", "0")), "")
    return f"{out} out" if out else ""


def _judge_cost(results: Mapping[str, Any]) -> str:
    """Cost of the judge in the currency of LMMS_RPTS_PRICE, as the filters wrote it."""
    judges = _part(results, "usage", "judges")
    cost = judges.get("cost")
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < 1e15:
        return ""
    cached = _count(judges.get("found"))
    about = "about " if judges.get("guessed") is True else ""
    return f"{about}{cost:.4g}" + (f" ({cached} cached replies)" if cached not in ("", "0") else "")


_FACTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
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
    "transformers": _top("transformers_version"),
    "torch": _torch,
    "git commit": _commit,
    "date": _date,
    "wall time": _wall_time,
    "tokens of the model": _model_tokens,
    "tokens of the judge": _usage("judge"),
    "cost of the judge": _judge_cost,
}
"""Readers of the metadata by name, as shown in the report."""
