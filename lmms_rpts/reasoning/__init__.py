"""The reasoning core: chains, trees and their score. Pure functions that accept any text.

Names are imported on first use: a command that reads runs does not parse responses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmms_rpts.late_names import late_names

if TYPE_CHECKING:
    from lmms_rpts.reasoning.answers import Answer, find_answer, find_marked_answer
    from lmms_rpts.reasoning.clues import Clue, ReasoningChain, Step
    from lmms_rpts.reasoning.extraction import Extraction, extract_chain
    from lmms_rpts.reasoning.guarded import (
        Diagnosis,
        RootQuery,
        diagnose,
        guarded_score,
        needed_evidence,
        plan_root,
    )
    from lmms_rpts.reasoning.localisation import StepError, locate_error, modality
    from lmms_rpts.reasoning.metric import rpts_score
    from lmms_rpts.reasoning.parsing import format_chain, parse_chain
    from lmms_rpts.reasoning.planning import (
        FixedScore,
        ImageQuery,
        InferenceQuery,
        StepQuery,
        combine_answers,
        plan_steps,
    )
    from lmms_rpts.reasoning.repair import repair_chain
    from lmms_rpts.reasoning.thinking import JudgedText, select_reasoning
    from lmms_rpts.reasoning.tree import InvalidReference, ReasoningTree, build_tree

_MODULES = {
    "answers": ("Answer", "find_answer", "find_marked_answer"),
    "clues": ("Clue", "ReasoningChain", "Step"),
    "extraction": ("Extraction", "extract_chain"),
    "guarded": (
        "Diagnosis",
        "RootQuery",
        "diagnose",
        "guarded_score",
        "needed_evidence",
        "plan_root",
    ),
    "localisation": ("StepError", "locate_error", "modality"),
    "metric": ("rpts_score",),
    "parsing": ("format_chain", "parse_chain"),
    "planning": (
        "FixedScore",
        "ImageQuery",
        "InferenceQuery",
        "StepQuery",
        "combine_answers",
        "plan_steps",
    ),
    "repair": ("repair_chain",),
    "thinking": ("JudgedText", "select_reasoning"),
    "tree": ("InvalidReference", "ReasoningTree", "build_tree"),
}
_PLACES = {
    name: f"lmms_rpts.reasoning.{module}" for module, names in _MODULES.items() for name in names
}

__all__ = [
    "Answer",
    "Clue",
    "Diagnosis",
    "Extraction",
    "FixedScore",
    "ImageQuery",
    "InferenceQuery",
    "InvalidReference",
    "JudgedText",
    "ReasoningChain",
    "ReasoningTree",
    "RootQuery",
    "Step",
    "StepError",
    "StepQuery",
    "build_tree",
    "combine_answers",
    "diagnose",
    "extract_chain",
    "find_answer",
    "find_marked_answer",
    "format_chain",
    "guarded_score",
    "locate_error",
    "modality",
    "needed_evidence",
    "parse_chain",
    "plan_root",
    "plan_steps",
    "repair_chain",
    "rpts_score",
    "select_reasoning",
]

__getattr__, __dir__ = late_names(__name__, _PLACES)
