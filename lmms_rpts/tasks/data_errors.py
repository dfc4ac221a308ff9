"""Error for data that cannot be evaluated, with place and remedy."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_rpts.errors import UserError
from lmms_rpts.escaping import visible

_SHOWN = 5
_LONGEST = 500


class DataError(UserError):
    """Data that cannot be evaluated; the message has the place and the remedy."""


def raise_faults(place: object, faults: Sequence[str], remedy: str) -> None:
    """Raise one error that lists the first faults; nothing if there are none.

    Args:
        place: the file or folder of the faults.
        faults: the faults, each with the name of its instance.
        remedy: what to do, in complete sentences.

    Raises:
        DataError: the remedy is its last line.
    """
    if faults:
        more = f"\n  ... and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        listed = "\n  ".join(map(_shown, faults[:_SHOWN]))
        raise DataError(f"{place} cannot be evaluated:\n  {listed}{more}\n{remedy}")


def _shown(fault: str) -> str:
    """A fault on one line, since file names come from the data."""
    line = visible(fault)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
