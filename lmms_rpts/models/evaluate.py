"""Entry point of lmms-eval for lmms-rpts commands: an interrupt ends it without a traceback.

Run as ``python -m lmms_rpts.models.evaluate ARGUMENTS``, instead of ``python -m lmms_eval``.
"""

from __future__ import annotations

import sys

INTERRUPTED = 130
"""Exit status of a process that a Ctrl-C ended, as shells have it."""


def main() -> None:
    """Run lmms-eval; importing it takes most of the start-up time."""
    try:
        from lmms_eval.cli.dispatch import main as evaluate

        evaluate()
    except KeyboardInterrupt:
        # The parent process reports what is cached, and how to continue.
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
