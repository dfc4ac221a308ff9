"""The order of tests for several workers: long modules first, for an even load.

``--dist worksteal`` splits the list into equal parts, and idle workers take tests from the end of
another part. Those are short tests, whose modules share no expensive resources.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

# Modules that take over 10 s on an idle machine. The first two do not need the fork server at once:
# it takes 10 s to start. Those of the README and of the fork server itself share a fresh start of
# lmms-eval.
LONG = (
    *("tests/test_plugin.py", "tests/judging/test_hf_backend.py"),
    *("tests/test_end_to_end.py", "tests/judging/test_cache.py"),
    *("tests/test_score.py", "tests/test_judging_end_to_end.py"),
    "tests/test_fork_server.py",
    *("tests/reasoning/test_hostile.py", "tests/test_readme.py"),
    *("tests/report/test_rating_page.py", "tests/report/test_browser.py"),
    *("tests/test_score_any_run.py", "tests/test_any_task_end_to_end.py"),
    *("tests/tasks/test_any_task_faults.py", "tests/tasks/test_any_task_refusals.py"),
    "tests/test_sweep_commands.py",
    *("tests/tasks/test_own_tasks.py", "tests/test_benchmarks.py"),
    *("tests/judging/test_openai_backend.py", "tests/judging/test_throttling.py"),
    *("tests/test_reform_end_to_end.py", "tests/test_likelihood_end_to_end.py"),
    *("tests/test_rome_end_to_end.py", "tests/test_cmmath_end_to_end.py"),
    *("tests/tasks/test_cmmath_grading.py", "tests/tasks/test_rome_strict.py"),
    *("tests/test_doctor.py", "tests/test_loggers.py", "tests/report/test_hostile.py"),
    *("tests/test_outside_benchmark.py", "tests/test_tutorial.py", "tests/test_release.py"),
    *("tests/test_two_nodes.py", "tests/test_site.py"),
)


def deal(modules: Sequence[str], workers: int, long: Sequence[str] = LONG) -> list[int]:
    """The positions of tests in an order in which each worker's part begins with long modules.

    Args:
        modules: the module of each test.
        workers: number of workers; their parts are equal except for one test.
        long: modules, the longest first.
    """
    parts: list[list[int]] = [[] for _ in range(workers)]
    found = [module for module in long if module in modules]
    for number, module in enumerate(found):
        parts[number % workers] += [at for at, each in enumerate(modules) if each == module]
    rest = iter([at for at, module in enumerate(modules) if module not in found])
    order: list[int] = []
    for number, part in enumerate(parts):
        size = (len(modules) - len(order)) // (workers - number)
        order += [*part, *islice(rest, max(0, size - len(part)))]
    return order
