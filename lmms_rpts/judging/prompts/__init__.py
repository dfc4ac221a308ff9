"""Prompts for judges: one Jinja2 template per file, by language; a custom folder overrides them.

Text that a model wrote is fenced, so that it cannot pose as part of the instructions: it stands
between ``<<<`` and ``>>>``. These marks inside it, and the marks that separate turns in chat
models, are rewritten with round brackets. Invisible characters are removed: they could hide a mark
from these rules, but not from a tokenizer.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from lmms_rpts.base.escaping import did_you_mean, storable
from lmms_rpts.base.settings import load_settings
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.request_kinds import request_kinds
from lmms_rpts.judging.types import JudgeConfigurationError, Message, Parser, Rebuilt, Request

# Maximum length of a fenced text in characters; the middle of a longer one is left out.
LONGEST_FENCED = 16_000

_OPENING, _CLOSING = "<＜‹«《〈", ">＞›»》〉"
# Two double marks, or three of any; with blanks between: "< < <"
_MARKS = re.compile(
    "|".join(
        rf"[{double}]\s{{0,3}}[{double}]|[{signs}](?:\s{{0,3}}[{signs}]){{2,}}"
        for signs, double in ((_OPENING, "«《"), (_CLOSING, "»》"))
    )
)
_TURNS = re.compile(
    # <|im_start|>, <|eot_id|>, <｜Assistant｜>; not the bars of "1 < |x| and |y| > 2"
    r"[<＜]\s{0,3}[|｜][^<>|｜＜＞\n]{2,40}[|｜]\s{0,3}[>＞]"
    # <|turn>, <turn|>, [|user|]
    r"|<\|/?[a-z_]{3,30}>|</?[a-z_]{3,30}\|>|\[\|[a-z_ ]{2,30}\|\]"
    # <BOS_TOKEN>, <extra_id_1>, <end_of_utterance>, <seed:bos>
    r"|</?[a-z_:]{0,20}(?:token|extra_id|reserved|special|utterance|context|bos|eos|turn)"
    r"[a-z0-9_]{0,12}>"
    # <s>, </s>, <think>, <image>, <<SYS>>
    r"|<{1,2}\s{0,3}/?(?:s|unk|pad|sop|eop|sys|system|user|assistant|human|image|img|video|audio"
    r"|(?:start|end)_of_(?:text|image)|think(?:ing)?|thought|reasoning|tool_call|tool_response"
    r"|function_calls?|instructions?|endoftext)\s{0,3}/?>{1,2}"
    # [INST], [/INST], [gMASK], [TOOL_CALLS]
    r"|\[/?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|S?GMASK|MASK|BOS|EOS"
    r"|EOT|THINK)\]",
    re.IGNORECASE,
)
# Zero-width spaces and joiners, direction marks, tags; also fillers, which count as letters.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# control characters, of which terminals and some tokenizers make something else
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ROUND = str.maketrans(dict.fromkeys([*_OPENING, "["], "(") | dict.fromkeys([*_CLOSING, "]"], ")"))


def fence(text: str) -> str:
    """``text`` between marks that it cannot contain; invalid characters are replaced."""
    clean = neutralise(storable(text)).strip()
    if len(clean) > LONGEST_FENCED:
        tail = LONGEST_FENCED // 3
        clean = f"{clean[: LONGEST_FENCED - tail]}\n[...]\n{clean[-tail:]}"
    return f"<<<{clean}>>>"


def neutralise(text: str) -> str:
    """``text`` without invisible characters, fence marks and marks of chat turns."""
    visible = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _INVISIBLE.sub("", text))
    for marks in (_TURNS, _MARKS):
        visible = marks.sub(lambda found: found[0].translate(_ROUND), visible)
    return visible


_CUT = "\n-----\n"


class Prompts:
    """The prompts of one run.

    ``folder``: custom templates, which replace the built-in ones of the same name, such as
    ``en/image.jinja``. A JudgeConfigurationError names an invalid file and its error.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._versions: dict[Path, str] = {}
        if folder is not None:
            self._check(folder)

    def version(self, kind: str = "inference") -> str:
        """Digest of the templates of a kind and of those in its folder, in all languages.

        A run with other prompts is another measurement: records, validity files and the comparison
        of runs name this digest. By default, that of the prompts of RPTS.
        """
        place = request_kinds()[kind].templates
        if place not in self._versions:
            content = hashlib.sha256()
            for path in sorted(place.rglob("*.jinja")):
                name = path.relative_to(place).as_posix()
                own = self._folder / name if self._folder else path
                text = (own if own.exists() else path).read_text(encoding="utf-8")
                content.update(f"{name}\0{text}\0".encode())
            self._versions[place] = content.hexdigest()[:8]
        return self._versions[place]

    def request(
        self,
        kind: str,
        language: str,
        *,
        parse: Parser | None = None,
        images: tuple[JudgeImage, ...] = (),
        **fields: Any,
    ) -> Request:
        """A request of this kind, or of ``KIND_seen`` if there are images; ``fields``: of its
        template; ``language``: ``en`` or ``zh``."""
        if images and f"{kind}_seen" in request_kinds():
            kind = f"{kind}_seen"
        return Request(kind, language, fields, self, parse, images)

    def render(self, name: str, language: str, **fields: object) -> list[Message]:
        """The messages of the prompt ``name``: system message (instructions) and user message."""
        rendered = self._render(name, language, **fields)
        system, _, user = rendered.partition(_CUT)
        return [
            {"role": "system", "content": system.strip()},
            {"role": "user", "content": user.strip()},
        ]

    def reminder(self, name: str, language: str) -> str:
        """The reminder for a judge whose reply to the prompt ``name`` could not be parsed."""
        return self._render(f"{name}_again", language).strip()

    @cached_property
    def _environment(self) -> Any:
        from jinja2 import FileSystemLoader, StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        folders = [*([self._folder] if self._folder else []), *_folders()]
        return ImmutableSandboxedEnvironment(
            loader=FileSystemLoader(folders),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,  # one run, one prompt
            autoescape=False,
        )

    def _render(self, name: str, language: str, **fields: object) -> str:
        self._environment.filters["fence"] = fence
        return str(self._environment.get_template(f"{language}/{name}.jinja").render(**fields))

    def _check(self, folder: Path) -> None:
        """Check the folder's templates by rendering each of them."""
        places = _folders()
        known = [path.relative_to(at).as_posix() for at in places for path in at.rglob("*.jinja")]
        templates = sorted(folder.rglob("*.jinja"))
        if not templates:
            what = "contains no prompt" if folder.is_dir() else "is not a folder"
            raise JudgeConfigurationError(
                f"prompts={str(folder)!r} {what}; prompts: {', '.join(sorted(known))}"
            )
        for path in templates:
            name = path.relative_to(folder).as_posix()
            try:
                fault: str | None = f"unknown prompt.{did_you_mean(name, known)}"
                if name in known:
                    fault = self._fault(name, path.read_text(encoding="utf-8"))
            except Exception as error:  # any error of a template; the message names the file
                fault = f"{type(error).__name__}: {error}"
            if fault:
                raise JudgeConfigurationError(f"The prompt {path} (setting prompts): {fault}")

    def _fault(self, path: str, text: str) -> str | None:
        from jinja2 import meta

        language, name = path.removesuffix(".jinja").split("/")
        kind = request_kinds().get(name)
        fields = kind.fields if kind else {}
        rendered = self._render(name, language, **fields)
        unknown = meta.find_undeclared_variables(self._environment.parse(text))
        unknown -= {*fields, *self._environment.globals}
        if unknown:
            return f"{min(unknown)!r} is undefined; known fields: {', '.join(fields)}"
        instructions, line, _ = rendered.partition(_CUT)
        if not line and (fields or not rendered.strip()):
            return "it is empty, or no line ----- separates the instructions from the text to judge"
        for field, value in fields.items():
            text = "".join(value) if isinstance(value, str | list) else ""
            if text and text in rendered.replace(fence(text), ""):
                shown = f"{{{{ {field if isinstance(value, str) else 'each'} | fence }}}}"
                return f"write {shown}, so that {field} cannot pose as instructions"
            if text and text in instructions:
                return "the text to judge must be below the line -----"
        return None


def _folders() -> list[Path]:
    return list({kind.templates: None for kind in request_kinds().values()})


def rebuilt_prompt(name: str, language: str, version: str, **fields: object) -> Rebuilt | None:
    """A request with these fields, from the fields of a record; None if there is no such prompt."""
    from jinja2 import TemplateNotFound, UndefinedError

    if name not in request_kinds():
        return None
    prompts = prompts_of(version, name)
    try:
        system, user = (each["content"] for each in prompts.render(name, language, **fields))
    except (TemplateNotFound, UndefinedError):  # in this language, or with other fields
        return None
    return Rebuilt(system, user, prompts.version(name) == version)


@cache
def prompts_of(version: str, kind: str) -> Prompts:
    """The prompts of a version: of this package, or of the setting ``prompts``; else the latter."""
    built_in = _prompts(None)
    if built_in.version(kind) == version:
        return built_in
    return _prompts(load_settings().prompts)


_prompts = cache(Prompts)
