"""Running docs/notebook.ipynb; ``python -m tests.support.notebook FOLDER`` updates its outputs.

FOLDER holds ``results/careful`` and ``results/lucky``, created as in docs/tutorial.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def execute(folder: Path) -> Any:
    """Runs the notebook in ``folder``; returns it with the outputs of this Python version."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        coalesce_streams=True,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    return notebook


def outputs(notebook: Any) -> list[str]:
    """The printed text of each cell."""
    return [
        "".join("".join(each.get("text", "")) for each in cell.get("outputs", []))
        for cell in notebook.cells
    ]


if __name__ == "__main__":
    nbformat.write(execute(Path(sys.argv[1])), NOTEBOOK)
