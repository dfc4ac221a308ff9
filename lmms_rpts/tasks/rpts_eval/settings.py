"""Settings of RPTS-Eval."""

from __future__ import annotations

from typing import ClassVar

from lmms_rpts.settings import Place, Table, setting


class RptsSettings(Table):
    """The settings of RPTS-Eval."""

    TABLE: ClassVar[str] = "rpts"
    path: Place | None = setting(None, "folder of RPTS-Eval; without it, downloaded", True)


load_rpts_settings = RptsSettings.load
