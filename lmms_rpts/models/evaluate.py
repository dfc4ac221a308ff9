"""Entry point of lmms-eval for our commands: an interrupt ends it without a traceback.

Run as ``python -m lmms_rpts.models.evaluate ARGUMENTS``, in place of ``python -m lmms_eval``.
"""

from __future__ import annotations

import sys

INTERRUPTED = 130
"""Exit status of a process that a Ctrl-C ended, as shells have it."""


def main() -> None:
    """Run lmms-eval; importing it takes most of the time until a model is there."""
    try:
        from lmms_eval.cli.dispatch import main as evaluate

        evaluate()
    except KeyboardInterrupt:
        # Who started this process says what is kept, and how to go on.
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
