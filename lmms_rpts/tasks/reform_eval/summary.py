"""Summary."""

from lmms_rpts.tasks.grade_types import Grading

GRADING = Grading(title="ReForm-Eval", metrics={"score": lambda r: r.score})
