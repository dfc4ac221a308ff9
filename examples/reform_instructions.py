"""Write the published instructions of ReForm-Eval to a JSON file, for the setting ``instructions``.

    git clone https://github.com/FudanDISC/ReForm-Eval
    python examples/reform_instructions.py ReForm-Eval instructions.json

Then, in rpts.toml, under ``[reform]``: ``instructions = "instructions.json"``.

Of each loader in the clone, only the literal lists in its constructor are evaluated, and the
conditions around them. CLEVR's instructions are in its data file, so they are left out.
"""

from __future__ import annotations

import ast
import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lmms_rpts.tasks.reform_eval.sets import DataSet, data_sets

LISTS = ("instruction_list", "in_context_history")
LOADERS = dict(
    line.split()
    for line in """
    CaptionSelection                Winoground/caption_selection_dataset
    Caption_Flickr30K               Flickr30K/caption_dataset
    Caption_MSCOCO                  MSCOCO/caption_dataset
    Caption_NoCaps                  NoCaps/caption_dataset
    Caption_TextCaps                TextCaps/caption_dataset
    DisasterType                    MEDIC/disaster_type_dataset
    GroundOCR_cocotext              COCO_text/groundocr_dataset
    GroundOCR_ic15                  IC15/groundocr_dataset
    GroundOCR_textocr               textOCR/groundocr_dataset
    GroundedObjIdentification       MSCOCO/grounded_object_identification_dataset
    ImageClassification_cifar10     CIFAR10/cifar10_dataset
    ImageClassification_flowers102  Flowers102/flowers102_dataset
    ImageClassification_imagenet1k  ImageNet1K/imagenet1k_dataset
    ImageClassification_pets37      Pets37/pets37_dataset
    ImageQuality_vizwiz             VizWiz/vizwiz_dataset
    ImageTextMatching               MSCOCO/image_text_matching_dataset
    ImageTextSelection              MSCOCO/image_text_selection_dataset
    KIE_funsd                       FUNSD/kie_dataset
    KIE_poie                        POIE/kie_dataset
    KIE_sroie                       SROIE/kie_dataset
    KVQA                            VQA/kvqa_dataset
    MCV                             MOCHEG/mcv_dataset
    MissingObjectSelection          MSCOCO/missing_object_selection_dataset
    MulticlassIdentification        MSCOCO/multiclass_identification_dataset
    OCR_cocotext                    COCO_text/ocr_dataset
    OCR_cute80                      CUTE80/ocr_dataset
    OCR_docvqa                      OCR/ocr_dataset
    OCR_ic15                        IC15/ocr_dataset
    OCR_iiit5k                      IIIT5K/ocr_dataset
    OCR_ocrvqa                      OCR/ocr_dataset
    OCR_textocr                     textOCR/ocr_dataset
    OCR_textvqa                     OCR/ocr_dataset
    OCR_wordart                     WordArt/ocr_dataset
    ObjectCounting                  MSCOCO/object_counting_dataset
    ReferringExpression             RefCOCO/referring_expression_selection
    Spatial_clevr                   CLEVR/spatial_dataset
    Spatial_mp3d                    MP3D/spatial_dataset
    Spatial_vsr                     VSR/spatial_dataset
    TDIUC                           TDIUC/tdiuc_dataset
    TemporalOrdering                WikiHow/temporal_ordering_dataset
    VQAR                            AOKVQA/qar_dataset
    VQA_                            VQA/vqa_dataset
    VQA_vqa_MultiRound              VisDial/visual_dialog_dataset
    VQRA                            AOKVQA/qra_dataset
    VisDial                         VisDial/visual_dialog_dataset
    VisualEntailment                SNLI_VE/visual_entailment_dataset
    """.strip().splitlines()
)
"""Loader below ``build/`` by prefix of the configuration's name; the longest prefix wins."""

FORMULATIONS = {
    "choice": "SingleChoice",
    "ocr": "OCROpenEnded",
    "kie": "KIEOpenEnded",
    "caption": "Generation",
}


def instructions_of(chosen: DataSet, clone: Path) -> dict[str, Any]:
    """The instructions and the in-context sample of a data set."""
    prefix = max((each for each in LOADERS if chosen.config.startswith(each)), key=len)
    with warnings.catch_warnings():  # of invalid escapes in the published texts
        warnings.simplefilter("ignore")
        tree = ast.parse((clone / f"build/{LOADERS[prefix]}.py").read_text(encoding="utf-8-sig"))
    entry: dict[str, Any] = {"in_context": None}
    for method in chosen.methods:
        known = SimpleNamespace(config={"instruct_kind": "single_choice"})
        known.infer_method, known.formulation = method, FORMULATIONS[chosen.kind]
        known.capitalize = known.hf = True
        known.args = known
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                code = ast.Module(list(lists_in(node.body)), [])
                exec(  # noqa: S102
                    compile(ast.fix_missing_locations(code), prefix, "exec"),
                    {"self": known, "args": known},
                )
        if hasattr(known, "instruction_list"):
            entry[f"instructions_{method}"] = known.instruction_list
        entry["in_context"] = getattr(known, "in_context_history", None)
    return entry


def lists_in(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The assignments of literals to ``LISTS``, inside their conditions."""
    for each in statements:
        if isinstance(each, ast.If):
            body, otherwise = list(lists_in(each.body)), list(lists_in(each.orelse))
            if body or otherwise:
                yield ast.If(each.test, body or [ast.Pass()], otherwise)
        elif isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Attribute):
            literal = isinstance(each.value, ast.List)
            if literal and each.targets[0].attr in LISTS:
                ast.literal_eval(each.value)
                yield each


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    found = {each.title: instructions_of(each, source) for each in data_sets().values()}
    text = json.dumps(found, ensure_ascii=False, indent=1)
    target.write_text(f"{text}\n", encoding="utf-8")
