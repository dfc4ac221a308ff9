"""Prompts for judges: one Jinja2 template per file, by language; a custom folder overrides them.

Text that a model wrote is fenced, so that it cannot pose as part of the instructions:
see `lmms_rpts.judging.fencing`.
"""

from __future__ import annotations

import hashlib
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.judging.fencing import fence
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.request_kinds import request_kinds
from lmms_rpts.judging.types import JudgeConfigurationError, JudgeRequest, Message, Parser

_CUT = "\n-----\n"


class Prompts:
    """The prompts of one run.

    Args:
        folder: folder with custom templates, which replace the built-in ones of the same name
            (``en/image.jinja``); None: built-in templates only.

    Raises:
        JudgeConfigurationError: for an invalid file of the folder; names the file and the error.
    """

    def __init__(self, folder: Path | None = None) -> None:
        ours = list({kind.templates: None for kind in request_kinds().values()})
        files = FileSystemLoader(ours).list_templates()
        self._known = [file for file in files if file.endswith(".jinja")]
        self._loader = FileSystemLoader([folder, *ours] if folder else ours)
        self._environment = ImmutableSandboxedEnvironment(
            loader=self._loader,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,  # one run, one prompt
            autoescape=False,
        )
        self._environment.filters["fence"] = fence
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
            for name in FileSystemLoader(place).list_templates():
                if name.endswith(".jinja"):
                    text = self._loader.get_source(self._environment, name)[0]
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
    ) -> JudgeRequest:
        """A request from the prompt with the name of its kind, filled with ``fields``.

        With ``images``, for a judge with vision, it is that of the kind ``KIND_seen`` if there is
        one. ``language`` is ``en`` or ``zh``.
        """
        kinds = request_kinds()
        kind = f"{kind}_seen" if images and f"{kind}_seen" in kinds else kind
        evidence = (fields[name] for name in kinds[kind].evidence)
        return JudgeRequest(
            kind,
            self.render(kind, language, **fields),
            tuple(chain.from_iterable([it] if isinstance(it, str) else it for it in evidence)),
            fields[kinds[kind].claim] if kinds[kind].claim else "",
            parse=parse,
            reminder=self.reminder(kind, language),
            prompt_version=self.version(kind),
            images=images,
        )

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

    def _render(self, name: str, language: str, **fields: object) -> str:
        path = f"{language}/{name}.jinja"
        if path not in self._known:
            known = ", ".join(self._known)
            raise ValueError(f"No prompt {name!r} in the language {language!r}; known: {known}")
        return self._environment.get_template(path).render(**fields)

    def _check(self, folder: Path) -> None:
        """Check the folder's templates by rendering each of them."""
        found = sorted(folder.rglob("*.jinja"))
        if not found:
            what = "contains no prompt" if folder.is_dir() else "is not a folder"
            known = ", ".join(self._known)
            raise JudgeConfigurationError(f"prompts={str(folder)!r} {what}; prompts: {known}")
        for path in found:
            name = path.relative_to(folder).as_posix()
            try:
                text = path.read_text(encoding="utf-8")
                fault = self._fault(name, text)
            except Exception as error:  # any error of a template; the message names the file
                fault = f"{type(error).__name__}: {error}"
            if fault:
                raise JudgeConfigurationError(f"The prompt {path} (setting prompts): {fault}")

    def _fault(self, name: str, text: str) -> str | None:
        if name not in self._known:
            hint = did_you_mean(name, self._known) or f" Known prompts: {', '.join(self._known)}"
            return f"unknown prompt.{hint}"
        language, _, file = name.partition("/")
        kind = request_kinds().get(file.removesuffix(".jinja"))
        fields = kind.fields if kind else {}
        rendered = self._render(file.removesuffix(".jinja"), language, **fields)
        unknown = meta.find_undeclared_variables(self._environment.parse(text))
        unknown -= {*fields, *self._environment.globals}
        if unknown:
            return f"{min(unknown)!r} is undefined; known fields: {', '.join(fields)}"
        above, line, _ = rendered.partition(_CUT)
        if not line and (fields or not rendered.strip()):
            return "it is empty, or no line ----- separates the instructions from the text to judge"
        for field, value in fields.items():
            if not isinstance(value, str | list):
                continue
            text = "".join(value)
            if text in rendered.replace(fence(text), ""):
                shown = f"{{{{ {field if isinstance(value, str) else 'each'} | fence }}}}"
                return f"write {shown}, so that {field} cannot pose as instructions"
            if text in above:
                return "the text to judge must be below the line -----"
        return None


def rebuilt_prompt(name: str, language: str, version: str, **fields: object) -> str:
    """The system and user message of a prompt with these fields, from the fields of a record.

    Empty if the judge was asked with another version of the prompts, which includes custom prompts
    (setting ``prompts``), or if there is no such prompt.
    """
    prompts = _built_in()
    if name not in request_kinds() or version != prompts.version(name):
        return ""
    try:
        messages = prompts.render(name, language, **fields)
    except ValueError:  # no template in this language
        return ""
    return "\n\n".join(str(each["content"]) for each in messages)


@cache
def _built_in() -> Prompts:
    return Prompts()
