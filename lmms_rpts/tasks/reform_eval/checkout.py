"""Instruction lists in a clone of the publishers' repository: parsed with ``ast``, never run.

Each loader assigns literal lists to ``self.instruction_list`` and ``self.in_context_history`` in
its ``__init__``, inside conditions on the answer method. The conditions are evaluated for one data
set and method; code that can't be interpreted is an error with file and line.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_rpts.tasks.data_errors import raise_faults
from lmms_rpts.tasks.reform_eval.sets import DataSet, Method, data_sets

REMEDY = (
    "Set instructions in [reform] of rpts.toml to a clone of the publishers' repository (git clone "
    "https://github.com/FudanDISC/ReForm-Eval) or to a JSON file with their instructions, or unset "
    "it to use the built-in instructions."
)

FROM_DATA = "spatial"
"""The family (only CLEVR) whose published instructions are in the data file."""
INSTRUCTIONS = "instruction_list"
SAMPLE = "in_context_history"
_ELEMENTS: Mapping[str, type] = {INSTRUCTIONS: str, SAMPLE: dict}
"""The attributes of a loader that are read, with the element type of their lists."""

_MODULES = {
    "CaptionSelection": "Winoground/caption_selection_dataset",
    "Caption_Flickr30K": "Flickr30K/caption_dataset",
    "Caption_MSCOCO": "MSCOCO/caption_dataset",
    "Caption_NoCaps": "NoCaps/caption_dataset",
    "Caption_TextCaps": "TextCaps/caption_dataset",
    "DisasterType": "MEDIC/disaster_type_dataset",
    "GroundOCR_cocotext": "COCO_text/groundocr_dataset",
    "GroundOCR_ic15": "IC15/groundocr_dataset",
    "GroundOCR_textocr": "textOCR/groundocr_dataset",
    "GroundedObjIdentification": "MSCOCO/grounded_object_identification_dataset",
    "ImageClassification_cifar10": "CIFAR10/cifar10_dataset",
    "ImageClassification_flowers102": "Flowers102/flowers102_dataset",
    "ImageClassification_imagenet1k": "ImageNet1K/imagenet1k_dataset",
    "ImageClassification_pets37": "Pets37/pets37_dataset",
    "ImageQuality_vizwiz": "VizWiz/vizwiz_dataset",
    "ImageTextMatching": "MSCOCO/image_text_matching_dataset",
    "ImageTextSelection": "MSCOCO/image_text_selection_dataset",
    "KIE_funsd": "FUNSD/kie_dataset",
    "KIE_poie": "POIE/kie_dataset",
    "KIE_sroie": "SROIE/kie_dataset",
    "KVQA": "VQA/kvqa_dataset",
    "MCV": "MOCHEG/mcv_dataset",
    "MissingObjectSelection": "MSCOCO/missing_object_selection_dataset",
    "MulticlassIdentification": "MSCOCO/multiclass_identification_dataset",
    "OCR_cocotext": "COCO_text/ocr_dataset",
    "OCR_cute80": "CUTE80/ocr_dataset",
    "OCR_docvqa": "OCR/ocr_dataset",
    "OCR_ic15": "IC15/ocr_dataset",
    "OCR_iiit5k": "IIIT5K/ocr_dataset",
    "OCR_ocrvqa": "OCR/ocr_dataset",
    "OCR_textocr": "textOCR/ocr_dataset",
    "OCR_textvqa": "OCR/ocr_dataset",
    "OCR_wordart": "WordArt/ocr_dataset",
    "ObjectCounting": "MSCOCO/object_counting_dataset",
    "ReferringExpression": "RefCOCO/referring_expression_selection",
    "Spatial_clevr": "CLEVR/spatial_dataset",
    "Spatial_mp3d": "MP3D/spatial_dataset",
    "Spatial_vsr": "VSR/spatial_dataset",
    "TDIUC": "TDIUC/tdiuc_dataset",
    "TemporalOrdering": "WikiHow/temporal_ordering_dataset",
    "VQAR": "AOKVQA/qar_dataset",
    "VQA_": "VQA/vqa_dataset",
    "VQA_vqa_MultiRound": "VisDial/visual_dialog_dataset",
    "VQRA": "AOKVQA/qra_dataset",
    "VisDial": "VisDial/visual_dialog_dataset",
    "VisualEntailment": "SNLI_VE/visual_entailment_dataset",
}
"""Loader below ``build/`` by prefix of the configuration's name; the longest prefix wins."""

_FORMULATIONS = {
    "choice": "SingleChoice",
    "ocr": "OCROpenEnded",
    "kie": "KIEOpenEnded",
    "caption": "Generation",
}
_LARGEST = 200_000
"""Size limit of a loader in bytes; the largest has 13 kB."""
_UNKNOWN = object()
Known = Mapping[str, object]


def read_checkout(folder: Path) -> dict[str, Any]:
    """Read the instructions and in-context samples, in the layout of ``parse_instructions``.

    The instructions of CLEVR are left out: its loader takes them from the data file.

    Raises:
        DataError: with the files and lines that can't be interpreted.
    """
    found: dict[str, Any] = {}
    faults = []
    for name, sets in _by_module().items():
        try:
            body = _constructor(folder / name)
            found.update({each.title: _entry(body, each) for each in sets})
        except ValueError as error:  # its text continues the file's name
            faults.append(f"{name}{error}")
        except (RecursionError, MemoryError):
            faults.append(f"{name}: nested too deeply to be parsed")
    if not found and not (folder / "build").is_dir():
        faults = ["it has no folder 'build': it is not a clone of ReForm-Eval"]
    raise_faults(folder, faults, REMEDY)
    return found


def _by_module() -> dict[str, list[DataSet]]:
    found: dict[str, list[DataSet]] = {}
    for each in data_sets().values():
        found.setdefault(module_path(each), []).append(each)
    return found


def module_path(chosen: DataSet) -> str:
    """The loader of a data set, relative to the clone."""
    starts = [each for each in _MODULES if chosen.config.startswith(each)]
    return f"build/{_MODULES[max(starts, key=len)]}.py"


def read_text(path: Path, largest: int) -> str:
    """Read a regular file as UTF-8 text, without its byte order mark.

    Raises:
        ValueError: if it can't be read, is not UTF-8, or has more than ``largest`` bytes.
    """
    try:
        if not path.is_file():  # reading a device or a pipe might never end
            raise ValueError("no such regular file")
        with path.open("rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    if len(content) > largest:
        raise ValueError(f"it has more than {largest} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line} is not UTF-8 text") from None


def _entry(body: Sequence[ast.stmt], chosen: DataSet) -> dict[str, Any]:
    """The instructions that a loader's constructor assigns for a data set.

    Raises:
        ValueError: with the line, such as ", line 3: ...".
    """
    entry: dict[str, Any] = {}
    for method in chosen.methods:
        assigned = _Assigned(_known(chosen, method))
        assigned.run(body, None)
        if SAMPLE in assigned.values:
            entry["in_context"] = _literal(assigned.values[SAMPLE], SAMPLE)
        if chosen.family != FROM_DATA:
            entry[f"instructions_{method}"] = assigned.instructions(method)
    return entry


def _constructor(path: Path) -> Sequence[ast.stmt]:
    """The statements of the ``__init__`` that assigns the instructions."""
    found = [
        function.body
        for each in _tree(path).body
        if isinstance(each, ast.ClassDef)
        for function in each.body
        if isinstance(function, ast.FunctionDef) and function.name == "__init__"
        if any(_attribute(node) == INSTRUCTIONS for node in ast.walk(function))
    ]
    if len(found) != 1:
        raise ValueError(
            f": one class should assign self.{INSTRUCTIONS} in its __init__, not {len(found)}"
        )
    return found[0]


def _tree(path: Path) -> ast.Module:
    try:
        text = read_text(path, _LARGEST)
    except ValueError as error:
        raise ValueError(f": {error}") from None
    try:
        with warnings.catch_warnings():  # for invalid escapes in the published texts
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise ValueError(f", line {error.lineno}: not valid Python: {error.msg}") from None
    except ValueError as error:  # null characters
        raise ValueError(f": not valid Python: {error}") from None


def _known(chosen: DataSet, method: Method) -> Known:
    """Values for the loaders' conditions, as set by the publishers' ``load_reform_dataset``."""
    return {
        "args.infer_method": method,
        "args.formulation": _FORMULATIONS[chosen.kind],
        "args.capitalize": True,
        "args.hf": True,
        "config[instruct_kind]": "single_choice",
    }


class _Assigned:
    """The values that a constructor assigns to the two attributes, for known settings."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.values: dict[str, ast.expr] = {}

    def instructions(self, method: Method) -> Any:
        """Raises ValueError if none were assigned."""
        if INSTRUCTIONS not in self.values:
            raise ValueError(f": it assigns no self.{INSTRUCTIONS} for {method}")
        return _literal(self.values[INSTRUCTIONS], INSTRUCTIONS)

    def run(self, statements: Sequence[ast.stmt], undecided: ast.stmt | None) -> None:
        """Interpret the statements; inside an undecided one, no assignment is allowed."""
        for each in statements:
            blocks = list(_blocks(each))
            decision = _value(each.test, self.known) if isinstance(each, ast.If) else _UNKNOWN
            if isinstance(each, ast.If) and decision is not _UNKNOWN:
                self.run(each.body if decision else each.orelse, undecided)
            elif blocks:
                self._assign(each, undecided or each)
                for block in blocks:
                    self.run(block, undecided or each)
            else:
                self._assign(each, undecided)

    def _assign(self, statement: ast.stmt, undecided: ast.stmt | None) -> None:
        for target in _targets(statement):
            name = _attribute(target)
            if name is None:
                continue
            if undecided is not None:
                raise ValueError(
                    f", line {undecided.lineno}: it is undecidable whether self.{name} is "
                    f"assigned in line {statement.lineno}"
                )
            if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
                raise ValueError(f", line {statement.lineno}: it changes self.{name}")
            self.values[name] = statement.value


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of statements inside a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(statement, name, None):
            yield block
    for name in ("handlers", "cases"):
        for each in getattr(statement, name, ()):
            yield each.body


def _targets(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions that a statement assigns to or changes and that may be the two attributes.

    Changes to an element of the in-context sample are ignored: loaders add the answer's prefix so.
    """
    if isinstance(statement, ast.Assign):
        yield from (node for each in statement.targets for node in _parts(each))
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign | ast.For):
        yield from _parts(statement.target)
    elif isinstance(statement, ast.Delete):
        yield from (node for each in statement.targets for node in _parts(each))
    elif isinstance(statement, ast.With):
        named = (item.optional_vars for item in statement.items)
        yield from (node for each in named if each is not None for node in _parts(each))
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        if isinstance(function, ast.Attribute):  # self.instruction_list.append(...)
            yield function.value


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for each in target.elts:
            yield from _parts(each)
    elif isinstance(target, ast.Subscript) and _attribute(target.value) == INSTRUCTIONS:
        yield target.value
    else:
        yield target


def _attribute(node: ast.AST) -> str | None:
    """The name, if the node is one of the two attributes."""
    if not isinstance(node, ast.Attribute) or node.attr not in _ELEMENTS:
        return None
    return node.attr if isinstance(node.value, ast.Name) and node.value.id == "self" else None


def _literal(node: ast.expr, name: str) -> Any:
    kind = _ELEMENTS[name]
    try:
        found = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        found = None
    if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
        raise ValueError(
            f", line {node.lineno}: self.{name} is not a plain list of {kind.__name__}"
        )
    return found


def _value(node: ast.expr, known: Known) -> object:
    """The value of an expression, or ``_UNKNOWN``."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        values = tuple(_value(each, known) for each in node.elts)
        return _UNKNOWN if _UNKNOWN in values else values
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        value = _value(node.operand, known)
        return _UNKNOWN if value is _UNKNOWN else not value
    if isinstance(node, ast.BoolOp):
        values = tuple(_value(each, known) for each in node.values)
        return _combined(values, isinstance(node.op, ast.Or))
    if isinstance(node, ast.Compare):
        return _compared(node, known)
    return known.get(_dotted(node).removeprefix("self."), _UNKNOWN)


def _combined(values: Sequence[object], decisive: bool) -> object:
    """The value of ``or`` (True is decisive) or ``and`` (False is decisive)."""
    if any(each is not _UNKNOWN and bool(each) is decisive for each in values):
        return decisive
    return _UNKNOWN if _UNKNOWN in values else not decisive


def _compared(node: ast.Compare, known: Known) -> object:
    values = [_value(each, known) for each in (node.left, *node.comparators)]
    pairs = zip(node.ops, values, values[1:], strict=False)
    return _combined([_comparison(*each) for each in pairs], False)


_COMPARISONS: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.eq,  # for literals, identity and equality are the same here
    ast.IsNot: operator.ne,
    ast.In: lambda one, several: isinstance(several, tuple) and one in several,
    ast.NotIn: lambda one, several: isinstance(several, tuple) and one not in several,
}


def _comparison(kind: ast.cmpop, left: object, right: object) -> object:
    compare = _COMPARISONS.get(type(kind))
    if compare is None or _UNKNOWN in (left, right):
        return _UNKNOWN
    if isinstance(kind, ast.In | ast.NotIn) and not isinstance(right, tuple):
        return _UNKNOWN  # a substring test
    return compare(left, right)


def _dotted(node: ast.expr) -> str:
    """``args.infer_method``, ``config[instruct_kind]``; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        key = node.slice.value
        return f"{_dotted(node.value)}[{key}]" if isinstance(key, str) else ""
    return ""
