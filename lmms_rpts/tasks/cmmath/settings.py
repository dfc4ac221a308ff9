"""Settings of CMMaTH, and the judge that they need."""

from __future__ import annotations

from typing import ClassVar, Literal

from lmms_rpts.settings import Table, setting

CmmathGrader = Literal["rule", "judge", "both"]


class CmmathSettings(Table):
    """The settings of CMMaTH."""

    TABLE: ClassVar[str] = "cmmath"
    path: str | None = setting(None, "folder or file of CMMaTH, or `OWNER/NAME` on the Hub", True)
    grader: CmmathGrader = setting(
        "rule", "`both`: a judge grades what rules leave undecided", True
    )
    errors: bool = setting(False, "whether a judge classifies the mistakes of wrong responses")


load_cmmath_settings = CmmathSettings.load


def asks_judge(cmmath: CmmathSettings) -> bool:
    """Whether a judge is asked about responses, even if only about some."""
    return cmmath.errors or cmmath.grader != "rule"
