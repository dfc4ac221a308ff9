"""The README, and the commands in it."""

from __future__ import annotations

import re

from tests.support.fork_server import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^ *```(\w*)\n(.*?)^ *```", README, re.DOTALL | re.MULTILINE)
COMMANDS = [
    " ".join(block.replace("\\\n", " ").split()) for kind, block in BLOCKS if kind in ("", "bash")
]
TRY_IT, *_ = (command for command in COMMANDS if "--tasks rpts_demo" in command)
"""lmms-eval on the demo, without a model, a key or a download."""
