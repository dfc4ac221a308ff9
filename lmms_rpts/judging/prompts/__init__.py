"""Prompts for judges: one Jinja2 template per file, by language; a custom folder overrides them.

Text that a model wrote is fenced, so that it cannot pose as instructions: between ``<<<`` and
``>>>``. These marks inside it, and those that separate turns in chat models, become round brackets.
Invisible characters are removed: they could hide a mark from these rules, not from a tokenizer.
"""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from pathlib import Path
from typing import Any

from lmms_rpts.base.escaping import did_you_mean, storable
from lmms_rpts.judging.request_kinds import KINDS
from lmms_rpts.judging.types import JudgeConfigurationError, Request

LONGEST_FENCED = 16_000  # characters; the middle of a longer text is left out
_CUT = "\n-----\n"

_OPENING, _CLOSING = "<＜‹«《〈", ">＞›»》〉"
# Two double marks, or three of any; with blanks between: "< < <"
_MARKS = re.compile(
    rf"[«《]\s{{0,3}}[«《]|[{_OPENING}](?:\s{{0,3}}[{_OPENING}]){{2,}}"
    rf"|[»》]\s{{0,3}}[»》]|[{_CLOSING}](?:\s{{0,3}}[{_CLOSING}]){{2,}}"
)
_TURNS = re.compile(
    # <|im_start|>, <｜Assistant｜>, <|turn>, <turn|>, [|user|]; not "1 < |x| and |y| > 2"
    r"(?i)[<＜]\s{0,3}[|｜][^<>|｜＜＞\n]{2,40}[|｜]\s{0,3}[>＞]"
    r"|<\|/?[a-z_]{3,30}>|</?[a-z_]{3,30}\|>|\[\|[a-z_ ]{2,30}\|\]"
    # <BOS_TOKEN>, <extra_id_1>, <end_of_utterance>, <seed:bos>; <s>, </s>, <think>, <<SYS>>
    r"|</?[a-z_:]{0,20}(?:token|extra_id|reserved|special|utterance|context|[be]os|turn)[a-z0-9_]{0,12}>"
    r"|<{1,2}\s{0,3}/?(?:s|unk|pad|sop|eop|sys|system|user|assistant|human|image|img|video|audio"
    r"|(?:start|end)_of_(?:text|image)|think(?:ing)?|thought|reasoning|tool_call|tool_response"
    r"|function_calls?|instructions?|endoftext)\s{0,3}/?>{1,2}"
    # [INST], [/INST], [gMASK], [TOOL_CALLS]
    r"|\[/?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS)|S?G?MASK|[BE]OS|EOT"
    r"|THINK)\]"
)
# Zero-width spaces and joiners, direction marks, tags; also fillers, which count as letters.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# control characters, of which terminals and some tokenizers make something else
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ROUND = str.maketrans(f"{_OPENING}[{_CLOSING}]", "(" * 7 + ")" * 7)


def fence(text: str) -> str:
    """``text`` between marks that it cannot contain; invalid characters are replaced."""
    clean = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _INVISIBLE.sub("", storable(text)))
    for marks in (_TURNS, _MARKS):
        clean = marks.sub(lambda found: found[0].translate(_ROUND), clean)
    clean = clean.strip()
    if len(clean) > LONGEST_FENCED:
        tail = LONGEST_FENCED // 3
        clean = f"{clean[: LONGEST_FENCED - tail]}\n[...]\n{clean[-tail:]}"
    return f"<<<{clean}>>>"


def _joined(template: str) -> str:
    """A template whose long lines are written over several, each with a backslash at its end."""
    return template.replace("\\\n", "")


class Prompts:
    """The prompts of one run; ``folder``: templates that replace ours of the same name.

    A JudgeConfigurationError names an invalid file and its error.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder, self._versions = folder, dict[Path, str]()
        for path in (sorted(folder.rglob("*.jinja")) or [folder]) if folder else ():
            self._check(path, path.relative_to(folder or path).as_posix())

    def version(self, kind: str = "inference") -> str:
        """Digest of the templates of a kind and of those in its folder, in all languages.

        A run with other prompts is another measurement. By default, of the prompts of RPTS.
        """
        place = KINDS[kind].templates
        if place not in self._versions:
            content = hashlib.sha256()
            for path in sorted(place.rglob("*.jinja")):
                name = path.relative_to(place).as_posix()
                own = (self._folder or place) / name
                text = _joined((own if own.exists() else path).read_text(encoding="utf-8"))
                content.update(f"{name}\0{text}\0".encode())
            self._versions[place] = content.hexdigest()[:8]
        return self._versions[place]

    def request(self, kind: str, language: str, **fields: Any) -> Request:
        """A request of this kind, or of ``KIND_seen`` if there are ``images``, in ``en`` or ``zh``.

        ``parse`` and ``images`` are those of the request; all others fill its template.
        """
        parse, images = fields.pop("parse", None), fields.pop("images", ())
        kind = f"{kind}_seen" if images and f"{kind}_seen" in KINDS else kind
        return Request(kind, language, fields, self, parse, images)

    def render(self, name: str, language: str, **fields: object) -> list[dict[str, str]]:
        """The messages of the prompt ``name``: system message (instructions) and user message."""
        template = self._environment.get_template(f"{language}/{name}.jinja")
        system, _, user = template.render(**fields).partition(_CUT)
        chat = {"system": system, "user": user}
        return [{"role": role, "content": text.strip()} for role, text in chat.items()]

    def reminder(self, name: str, language: str) -> str:
        """The reminder for a judge whose reply to the prompt ``name`` could not be parsed."""
        template = self._environment.get_template(f"{language}/{name}_again.jinja")
        return str(template.render().strip())

    @cached_property
    def _environment(self) -> Any:
        from jinja2 import FileSystemLoader, StrictUndefined
        from jinja2.ext import Extension
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        class LongLines(Extension):
            def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
                return _joined(source)

        places = [self._folder] if self._folder else []
        places += dict.fromkeys(kind.templates for kind in KINDS.values())
        blocks = {"trim_blocks": True, "lstrip_blocks": True, "auto_reload": False}
        environment = ImmutableSandboxedEnvironment(
            loader=FileSystemLoader(places),
            undefined=StrictUndefined,
            extensions=[LongLines],
            **blocks,
        )
        environment.filters["fence"] = fence
        return environment

    def _check(self, path: Path, name: str) -> None:
        """Render a template with fields like ⟦1⟧, of which fences leave a ⟧ alone."""
        from jinja2 import meta

        names = [f"{kind}{end}.jinja" for kind in KINDS for end in ("", "_again")]
        known = [f"{language}/{each}" for language in ("en", "zh") for each in names]
        fields = KINDS[path.stem].fields if path.stem in KINDS else {}
        trial = self._environment.overlay()
        trial.filters = {**trial.filters, "fence": lambda text: fence(text) and "⟧"}
        fault = ""
        try:
            shown = trial.get_template(name).render(**fields)
            unknown = meta.find_undeclared_variables(trial.parse(path.read_text("utf-8")))
            above, line, _ = shown.partition(_CUT)
            if unknown := unknown - {*fields, *trial.globals}:
                fault = f"{min(unknown)!r} is undefined; known fields: {', '.join(fields)}"
            elif "⟦" in shown or "⟧" in above or not above.strip() or (fields and not line):
                fault = "below a line -----, each text is needed as {{ FIELD | fence }}"
        except Exception as error:  # any error of a template; the message names the file
            fault = f"{type(error).__name__}: {error}"
        if name not in known:
            fault = f"it is none of {', '.join(known)}.{did_you_mean(name, known)}"
        if fault:
            raise JudgeConfigurationError(f"The prompt {path} (setting prompts): {fault}")
