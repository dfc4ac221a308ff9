"""The reasoning core: chains, trees and their score. Pure functions that accept any text."""

from lmms_rpts.reasoning.clues import Clue, ReasoningChain, Step, format_chain, parse_chain
from lmms_rpts.reasoning.extraction import Extraction, extract_chain
from lmms_rpts.reasoning.planning import (
    FixedScore,
    Query,
    StepQuery,
    combine_answers,
    plan_steps,
    repair_chain,
    restating_steps,
)
from lmms_rpts.reasoning.thinking import JudgedText, select_reasoning
from lmms_rpts.reasoning.tree import (
    InvalidReference,
    ReasoningTree,
    StepError,
    build_tree,
    evidence_of,
    locate_error,
    modality,
    rpts_score,
)

__all__ = [
    "Clue",
    "Extraction",
    "FixedScore",
    "InvalidReference",
    "JudgedText",
    "Query",
    "ReasoningChain",
    "ReasoningTree",
    "Step",
    "StepError",
    "StepQuery",
    "build_tree",
    "combine_answers",
    "evidence_of",
    "extract_chain",
    "format_chain",
    "locate_error",
    "modality",
    "parse_chain",
    "plan_steps",
    "repair_chain",
    "restating_steps",
    "rpts_score",
    "select_reasoning",
]
