"""The data of the task own_benchmark, which lmms-rpts reads and checks."""

from pathlib import Path

from lmms_rpts.tasks.own.data import OwnData

FOLDER = Path(__file__).parent
DATA = OwnData(
    data=FOLDER / "data.jsonl",
    images=FOLDER / "images",
    answer="choice",
    language="en",  # of the prompts (en or zh); the texts may be in any language
)
