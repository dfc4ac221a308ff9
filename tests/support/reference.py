"""Location of the reference data: real data, and results of the published code."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "LMMS_RPTS_REFERENCE"
BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[3] / "shared" / "reference"


def reference(*parts: str) -> Path:
    """The path of a reference file or folder, such as ``reference("rpts_eval", "rpts.jsonl")``.

    Skips the test, or the whole module if called at import, if the data is absent.
    """
    import pytest  # not at the top: benchmarks do not need it

    try:
        return find_reference(*parts)
    except FileNotFoundError as error:
        pytest.skip(str(error), allow_module_level=True)


def find_reference(*parts: str) -> Path:
    """The path of a reference file or folder.

    Raises:
        FileNotFoundError: names the places that were searched.
    """
    named = os.environ.get(VARIABLE)
    places = [Path(named)] if named else []
    places.append(BESIDE_THE_REPOSITORY)
    for place in places:
        found = place.joinpath(*parts)
        if found.exists():
            return found
    wanted = "/".join(parts) or "the reference data"
    raise FileNotFoundError(
        f"{wanted} is absent: looked in ${VARIABLE} ({named or 'not set'}) "
        f"and in {BESIDE_THE_REPOSITORY}"
    )
