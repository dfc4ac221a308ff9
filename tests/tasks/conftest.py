"""What the tests of tasks share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from lmms_rpts.tasks.cmmath.grading.algebra import equal_trees

from lmms_rpts.tasks.cmmath.grading import expressions, grader

PATIENCE = 300.0


@pytest.fixture(scope="module", autouse=True)
def _patient_algebra() -> Iterator[None]:
    """No grade depends on how busy the machine is; users wait a second for algebra at most."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expressions, "equal_trees", partial(equal_trees, seconds=PATIENCE))
        patch.setattr(grader, "_SECONDS_OF_ALGEBRA", PATIENCE)
        yield
