"""The data of a report, as its script reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

START = '<script type="application/json" id="data">'


def data_in(page: Path) -> dict[str, Any]:
    """The JSON object in a page."""
    html = page.read_text("utf-8")
    data: dict[str, Any] = json.loads(html.partition(START)[2].partition("</script>")[0])
    return data
