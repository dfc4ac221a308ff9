"""Wrappers of lmms-eval's calls and results: likelihoods, errors, cached responses, usage.

The first argument of each function is lmms-eval's own function. Nothing is imported for other
tasks.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

from lmms_rpts.base.errors import UserError

# Attribute of lmms-eval's cache with the names of our tasks
_OUR_TASKS = "_lmms_rpts_tasks"


def stderr_for_metric(
    original: Callable[..., Any], metric: Any, bootstrap_iters: int
) -> Callable[..., float] | None:
    """The standard error of means that leave documents out."""
    from lmms_rpts.tasks.aggregation import mean_of_scored, stderr_of_scored

    if metric is mean_of_scored:
        return stderr_of_scored if bootstrap_iters > 0 else None
    found: Callable[..., float] | None = original(metric, bootstrap_iters)
    return found


def pooled_sample_stderr(
    original: Callable[..., float], errors: Sequence[Any], sizes: Sequence[int]
) -> float:
    """The standard error of a group's mean over tasks that share documents."""
    # lmms-eval treats the documents of a group's tasks as independent; some are translations.
    aggregation = sys.modules.get("lmms_rpts.tasks.aggregation")
    error = aggregation.stderr_over_tasks(errors) if aggregation else None
    return original(errors, sizes) if error is None else error


def consolidate_group_results(
    original: Callable[..., Any], results: Any, versions: Any, tasks: Any, *more: Any, **named: Any
) -> Any:
    """Group results without metrics that no document has a value of."""
    own_tasks = sys.modules.get("lmms_rpts.host.own_tasks")
    if own_tasks is not None:  # it has checked each task with RPTS filters
        own_tasks.drop_unlisted_metrics(results, tasks)
    return original(results, versions, tasks, *more, **named)


def follow(tasks: Mapping[Any, Any], options: Any) -> AbstractContextManager[None]:
    """Context that keeps the status of a run of our tasks in its output folder.

    ``options``: those of lmms-eval's command line; None for a run in Python.
    """
    from lmms_rpts.base.settings import load_settings, with_variables
    from lmms_rpts.base.status import followed
    from lmms_rpts.tasks.benchmark import settings_tables

    ours, settings = our_tasks(tasks), load_settings()
    folder = settings.status or getattr(options, "output_path", None)
    if not ours or not folder or settings.rank:
        return nullcontext()
    from lmms_rpts.runs.reading import model_name

    name = model_name({"config": vars(options), "model_source": options.model}) or ""
    start = f"torchrun --nproc_per_node {settings.processes} -m lmms_eval"
    words = [*(start if settings.processes > 1 else "lmms-eval").split(), *sys.argv[1:]]
    command = settings.command or with_variables(words, settings_tables())
    return followed(Path(folder), command, name, ", ".join(ours))


def create_response_cache(
    original: Callable[..., Any], cache_root: str, *args: Any, **kwargs: Any
) -> Any:
    """The cache of responses, with those of runs that were killed."""
    # --use_cache stores the responses of a run under a separate name, and shows them to later runs
    # only if the run ends normally: after a kill the responses would be lost.
    ours = frozenset(our_tasks(kwargs.get("task_dict") or {}))
    if ours and kwargs.get("world_size", 1) == 1:  # several processes use a fixed name
        add_killed_runs(Path(cache_root).absolute())
    cache = original(cache_root, *args, **kwargs)
    if ours:
        setattr(cache, _OUR_TASKS, ours)
    return cache


def add_killed_runs(root: Path) -> None:
    """Make the responses of killed runs in a ``--use_cache`` folder available to later runs."""
    from lmms_eval.caching.response_cache import ResponseCache
    from loguru import logger

    runs = (run for run in (root / "runs").glob("*") if not (run / ".merged").exists())
    parts = sorted(str(part) for run in runs for part in run.glob("rank_*.db"))
    for part in parts:  # one by one: a damaged part does not affect the others
        try:
            ResponseCache.merge_shards([part], str(root / "cache.db"))
        except Exception as error:  # they are generated again
            logger.warning("Cannot read the responses of a killed run in {}: {}", part, error)


def execute_cached(
    original: Callable[..., list[Any]], cache: Any, lm: Any, reqtype: str, requests: Any
) -> list[Any]:
    """Cached responses, else the model's; failed requests are not cached."""
    found = original(cache, lm, reqtype, requests)
    ours = getattr(cache, _OUR_TASKS, None)
    if ours:
        _forget_failures(cache, ours, zip(requests, found, strict=True))
    return found


def _forget_failures(cache: Any, ours: Collection[str], pairs: Iterable[tuple[Any, Any]]) -> None:
    """Remove our failed model requests from the cache, so that the next run sends them again."""
    from lmms_rpts.filters.responses import missing_response

    for request, response in pairs:
        text = getattr(response, "text", response)
        if request.task_name in ours and isinstance(text, str) and missing_response(text):
            cache.db.execute(
                "DELETE FROM responses WHERE task_name = ? AND doc_id = ? AND response = ?",
                (request.task_name, request.doc_id, json.dumps(text, ensure_ascii=False)),
            )
    cache.db.commit()


def our_tasks(tasks: Mapping[Any, Any]) -> dict[str, Any]:
    """The tasks that are ours or use our filters, such as ``mmmu_val_rpts``, by name."""
    from lmms_rpts.tasks.benchmark import benchmark_of

    filters = sys.modules.get("lmms_rpts.filters.base")
    ours: dict[str, Any] = {}
    for name, task in tasks.items():
        if isinstance(task, Mapping):
            ours |= our_tasks(task)
        ensembles = getattr(task, "_filters", ())
        found = [each for ensemble in ensembles for each in ensemble.filters]
        uses = filters is not None and any(isinstance(each, filters.RptsFilter) for each in found)
        if isinstance(name, str) and (uses or benchmark_of(name)):
            ours[name] = task
    return ours


def reset_usage(original: Callable[[], None]) -> None:
    """Reset the usage of judges for another run."""
    original()
    spending = sys.modules.get("lmms_rpts.filters.budget")
    if spending is not None:
        spending.reset_spending()


def summarize_usage(original: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """lmms-eval's summary with the usage of judges in all processes."""
    spending = sys.modules.get("lmms_rpts.filters.budget")
    # First, since lmms-eval counts only the calls of the first process.
    judges = None if spending is None else spending.close_accounts()
    validity = None if spending is None else spending.noted_validity()
    more = {"judges": judges, "validity": validity}
    return {**original(), **{name: found for name, found in more.items() if found}}


def with_places(results: Any) -> Any:
    """The results of an evaluation, with its settings and places; None in other processes."""
    try:
        from lmms_rpts import __version__
        from lmms_rpts.host.task_index import is_scored
        from lmms_rpts.tasks.benchmark import configuration

        configs = (results or {}).get("configs") or {}
        if any(map(is_scored, configs.values())):
            results["config"] |= {"lmms_rpts": configuration(), "lmms_rpts_version": __version__}
    except Exception as error:  # the results of other tasks must not be lost
        from loguru import logger

        logger.debug("Settings and places of images are not recorded: {}", error)
    return results


def save_results(original: Callable[..., None], tracker: Any, *args: Any, **kw: Any) -> None:
    """Save the results file, which must not be truncated."""
    original(tracker, *args, **kw)
    _set_aside(tracker, "results.json", lambda path: _is_json(path.read_bytes()))


def save_samples(
    original: Callable[..., None], tracker: Any, task_name: str, samples: Sequence[Any], **kw: Any
) -> None:
    """Save the samples file of a task, which must not be truncated."""
    original(tracker, task_name=task_name, samples=samples, **kw)

    def is_whole(path: Path) -> bool:
        with path.open("rb") as lines:
            return sum(line.endswith(b"\n") for line in lines) >= len(samples)

    _set_aside(tracker, f"samples_{task_name}.jsonl", is_whole)


def _set_aside(tracker: Any, name: str, is_whole: Callable[[Path], bool]) -> None:
    """Rename a file of this run that is not whole: lmms-eval only logs that writing failed.

    A truncated file looks like one of a finished run, and makes every reader of its folder fail.
    It is renamed instead of deleted, since its responses may have been expensive.
    """
    from loguru import logger

    if not tracker.output_path:
        return
    try:
        folder = Path(tracker.output_path, tracker.general_config_tracker.model_name_sanitized)
        path = folder / f"{tracker.date_id}_{name}"
        if not path.is_file() or is_whole(path):
            return
        path.rename(f"{path}.incomplete")
    except Exception as error:  # an error of the plugin must not break lmms-eval
        logger.debug("{} is not checked: {}", name, error)
        return
    logger.error(
        "{} could not be written completely (the disk may be full), and is now named "
        "{}.incomplete. Free space and run again: judge replies are cached, and so are responses "
        "with --use_cache FOLDER",
        path,
        path.name,
    )


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def start_wandb(original: Callable[..., None], logger: Any, results: Any) -> None:
    """Pass results to lmms-eval's W&B logger, with the versions of tasks as text.

    W&B refuses a column of numbers and texts: a task without a version, which lmms-eval calls
    ``Yaml``, next to one of our tasks would lose all tables of the run.
    """
    original(logger, results)
    from lmms_rpts.host.wandb_tables import scored_tasks

    versions = logger.results.get("versions")
    if isinstance(versions, dict) and scored_tasks(results.get("configs") or {}):
        logger.results["versions"] = {name: str(each) for name, each in versions.items()}


def log_wandb_samples(
    original: Callable[..., None], logger: Any, samples: Mapping[str, Sequence[Any]]
) -> None:
    """Log tables of all tasks, if any of them is ours.

    In 0.7.3, lmms-eval's own function fails at the first task: it needs ``arguments``, which the
    samples lost when they were saved.
    """
    from lmms_rpts.host.wandb_tables import log_tables, scored_tasks

    log = log_tables if scored_tasks(logger.task_configs) else original
    log(logger, samples)


# --- likelihoods ---------------------------------------------------------------------------------

# lmms-eval's likelihood of an option is (mean token loss, is_greedy). The published ReForm-Eval
# uses the sum instead of the mean, and the sum cannot be computed from the mean.
_TOTAL, _TOKENS, _GREEDY = "total_logprob", "tokens", "is_greedy"


class TokenLoss(float):
    """Mean loss over the tokens of an option, in nats per token; lower is more likely.

    Attributes:
        total: sum of the natural logarithms of the tokens' probabilities; at most zero, higher is
            more likely. The value of the float itself is ``-total / tokens``.
        tokens: number of tokens.

    An option without tokens has no likelihood. Its loss is infinite and its total minus infinity,
    so that it is never chosen.
    """

    total: float
    tokens: int

    def __new__(cls, total: float, tokens: int) -> TokenLoss:
        """Create the loss from a sum over ``tokens`` tokens."""
        made = super().__new__(cls, -total / tokens if tokens else math.inf)
        made.total = float(total) if tokens else -math.inf
        made.tokens = tokens
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        # Results are pickled between processes, and copied by loggers.
        return type(self), (self.total, self.tokens)


def unwrap_output(original: Callable[[Any], tuple[Any, Any]], output: Any) -> tuple[Any, Any]:
    """``unwrap_generation_output`` of lmms-eval, which lets likelihoods through unchanged.

    lmms-eval 0.7.3 converts every response to text, including ``(loss, is_greedy)``;
    its multiple_choice then fails.
    """
    return (tuple(output), None) if _is_likelihood(output) else original(output)


def write_response(original: Callable[[Any], str], response: Any) -> str:
    """A response for lmms-eval's cache (``--use_cache``), with the sum and the tokens of a loss."""
    if not (_is_likelihood(response) and isinstance(response[0], TokenLoss)):
        return original(response)
    loss, greedy = response
    return json.dumps({_TOTAL: loss.total, _TOKENS: loss.tokens, _GREEDY: bool(greedy)})


def read_response(original: Callable[[str], Any], stored: str) -> Any:
    """A response from lmms-eval's cache."""
    found = original(stored)
    if isinstance(found, dict) and found.keys() == {_TOTAL, _TOKENS, _GREEDY}:
        return TokenLoss(found[_TOTAL], found[_TOKENS]), found[_GREEDY]
    return found


def _is_likelihood(output: Any) -> bool:
    """Whether an output is a pair of a number and a boolean (a list in the cache)."""
    if not isinstance(output, tuple | list) or len(output) != 2:
        return False
    loss, greedy = output
    # Wrappers return numbers and booleans of other types, such as NumPy's.
    return isinstance(loss, Real) and not isinstance(greedy, str | dict | list | tuple)


# --- calls of a model for our tasks --------------------------------------------------------------

# Many wrappers of lmms-eval have no likelihoods, or one number for all options, and few answer in
# rounds. The wrapper itself is asked before the run, so no list of wrappers is needed.
_LIKELIHOOD, _ROUNDS = "loglikelihood", "generate_until_multi_round"
# What a model must be able to do, by its method.
_NEEDS = {_LIKELIHOOD: "score answer options by likelihood", _ROUNDS: "answer in several rounds"}
# The number of documents that are tried.
_TRIED = {_LIKELIHOOD: 3, _ROUNDS: 1}


@contextmanager
def careful_calls(model: Any, tasks: Mapping[Any, Any]) -> Iterator[None]:
    """While this is open, the model is called as this module says."""
    ours = our_tasks(tasks)
    for name, task in ours.items():
        kind = getattr(task, "OUTPUT_TYPE", None)
        if kind in ("multiple_choice", _LIKELIHOOD) and not getattr(model, "is_simple", True):
            # lmms-eval would end with "Currently messages is used for generation only".
            reason = "lmms-eval runs its chat wrapper, which it uses for generation only"
            raise _unsuitable(model, _LIKELIHOOD, name, reason)
    methods = [each for each in ("generate_until", *_NEEDS) if ours and hasattr(model, each)]
    for name in methods:
        setattr(model, name, partial(_call, model, name, getattr(model, name), ours))
    try:
        yield
    finally:
        for name in methods:
            delattr(model, name)
        _messages.clear()


def _call(
    model: Any,
    name: str,
    call: Callable[[Sequence[Any]], Any],
    ours: Mapping[str, Any],
    requests: Sequence[Any],
) -> Any:
    """The model's results; it gets copies of our requests.

    lmms-eval computes the key of a cached response (``--use_cache``) from the settings of its
    request, before and after the call. Wrappers such as ``llava_hf`` remove ``until`` from them and
    add defaults, so the response would never be found again.
    """
    if name in _NEEDS:
        _try_first(model, name, call, [each for each in requests if each.task_name in ours])
    return call([_copy(each) if each.task_name in ours else each for each in requests])


def _try_first(
    model: Any, name: str, call: Callable[[Sequence[Any]], Any], requests: Sequence[Any]
) -> None:
    documents: dict[tuple[str, Any], list[Any]] = {}
    for each in requests:
        documents.setdefault((each.task_name, each.doc_id), []).append(each)
    tried = list(documents.values())[: _TRIED[name]]
    if not tried:
        return
    task = tried[0][0].task_name
    try:
        found = iter(list(call([_copy(each) for document in tried for each in document])))
        results = [[next(found) for _ in document] for document in tried]
    except Exception as error:  # a wrapper of another project can raise anything
        reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise _unsuitable(model, name, task, reason) from error
    if name == _LIKELIHOOD and _all_alike(tried, results):
        reason = f"it returns one number for all options of the first {len(tried)} documents"
        raise _unsuitable(model, name, task, reason)


# The messages that chat models got, by task and document. lmms-eval's samples have the prompt for
# other models, in which images stand elsewhere.
_messages: dict[tuple[str, Any], list[dict[str, str]]] = {}


def with_messages(processed: Any, requests: Sequence[Any]) -> Any:
    """A processed document, whose sample has the messages that a chat model got."""
    found = _messages.get((requests[0].task_name, requests[0].doc_id)) if requests else None
    if found and processed.logged_sample is not None:
        processed.logged_sample["messages"] = found
    return processed


def _copy(request: Any) -> Any:
    def noted(make: Callable[..., Any], doc: Any, **round_: Any) -> Any:
        from lmms_rpts.runs.samples import turns_of

        messages = make(doc, **round_)
        turns = [{"role": role, "content": text} for role, text in turns_of(messages)]
        _messages.setdefault((request.task_name, request.doc_id), turns)
        return messages

    def part(value: Any) -> Any:
        if getattr(value, "__name__", "") == "doc_to_messages":
            return partial(noted, value)
        return copy.deepcopy(value) if isinstance(value, dict) else value

    return dataclasses.replace(request, arguments=tuple(map(part, request.args)))


def _all_alike(documents: Sequence[Sequence[Any]], results: Sequence[Sequence[Any]]) -> bool:
    losses = [
        {float(loss) for loss, _ in found}
        for document, found in zip(documents, results, strict=True)
        if len({str(request.args[1]) for request in document}) > 1
    ]
    return bool(losses) and all(len(each) == 1 for each in losses)


def _unsuitable(model: Any, name: str, task: str, reason: str) -> UserError:
    return UserError(
        f"{task}: the model {type(model).__name__} cannot {_NEEDS[name]}: {reason}. Use --model "
        "hf_multimodal --model_args pretrained=CHECKPOINT, for any image-text-to-text checkpoint "
        "of transformers; or, if the model has a simple wrapper as well, add --force_simple."
    )
