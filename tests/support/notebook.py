"""Running docs/notebook.ipynb; ``python -m tests.support.notebook FOLDER`` updates its outputs.

FOLDER holds ``results/careful`` and ``results/lucky``, the two runs of ``lmms-rpts demo``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

from tests.support.waiting import LONGEST

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def execute(folder: Path) -> Any:
    """Runs the notebook in ``folder``; returns it with the outputs of this Python version."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    # Sockets below a folder: another process may take a port before the kernel does.
    with tempfile.TemporaryDirectory() as place:
        client = NotebookClient(
            notebook,
            config=Config({"KernelManager": {"transport": "ipc", "ip": f"{place}/kernel"}}),
            timeout=int(LONGEST),
            startup_timeout=int(LONGEST),
            iopub_timeout=int(LONGEST),  # by default, output that is later than 4 s is left out
            raise_on_iopub_timeout=True,
            kernel_name="python3",
            coalesce_streams=True,
            record_timing=False,
            resources={"metadata": {"path": str(folder)}},
        )
        client.execute()
    return notebook


def outputs(notebook: Any) -> list[str]:
    """What each cell prints or shows."""
    return ["".join(map(_shown, cell.get("outputs", []))) for cell in notebook.cells]


def _shown(output: Any) -> str:
    shown = output["data"] if "data" in output else {"text/plain": output.get("text", "")}
    return "".join(shown.get("text/html", shown["text/plain"]))


if __name__ == "__main__":
    nbformat.write(execute(Path(sys.argv[1])), NOTEBOOK)
