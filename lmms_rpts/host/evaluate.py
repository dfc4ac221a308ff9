"""Entry point of lmms-eval for lmms-rpts commands: an interrupt ends it without a traceback.

Run as ``python -m lmms_rpts.host.evaluate ARGUMENTS``, instead of ``python -m lmms_eval``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from lmms_rpts.base.terminal import log_to

# The first argument, followed by a file for lmms-eval's output, except progress bars.
LOG = "--log-to"

# Exit status of a process that Ctrl-C ended, as in shells.
INTERRUPTED = 130


def main() -> None:
    """Run lmms-eval; importing it takes most of the start-up time."""
    if sys.argv[1:2] == [LOG]:
        log_to(Path(sys.argv[2]))
        del sys.argv[1:3]
    try:
        from lmms_eval.cli.dispatch import main as evaluate

        evaluate()
    except KeyboardInterrupt:
        # The parent process reports what is cached, and how to continue.
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
