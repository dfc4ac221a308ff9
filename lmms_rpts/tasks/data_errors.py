"""Error for data that cannot be evaluated, with place and remedy."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_rpts.errors import UserError
from lmms_rpts.escaping import visible

_SHOWN, _MOST = 5, 200
_LONGEST = 500


class DataError(UserError):
    """Data that cannot be evaluated; the message has the place and the remedy.

    Attributes:
        whole: the message with all faults; ``str`` has the first ones.
    """

    def __init__(self, message: str, whole: str | None = None) -> None:
        super().__init__(message)
        self.whole = whole or message


def raise_faults(place: object, faults: Sequence[str], remedy: str) -> None:
    """Raise one error that lists the first faults; nothing if there are none.

    Args:
        place: the file or folder of the faults.
        faults: the faults, each with the name of its instance.
        remedy: what to do, in complete sentences.

    Raises:
        DataError: the remedy is its last line.
    """

    def message(most: int) -> str:
        more = f"\n  ... and {len(faults) - most:,} more" if len(faults) > most else ""
        listed = "\n  ".join(map(_shown, faults[:most]))
        return f"{place} cannot be evaluated:\n  {listed}{more}\n{remedy}"

    if faults:
        raise DataError(message(_SHOWN), message(_MOST))


def _shown(fault: str) -> str:
    """A fault on one line, since file names come from the data."""
    line = visible(fault)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
