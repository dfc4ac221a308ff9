"""Settings: arguments, environment variables, a file, defaults, in this order.

The only module that reads the environment. The file is ``rpts.toml`` in the working directory, or
the one that LMMS_RPTS_CONFIG names. `Settings` is its top level; benchmarks add a `Table` each.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, Json, ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource
from pydantic_settings import SettingsConfigDict as Config
from pydantic_settings import TomlConfigSettingsSource as TomlSource
from typing_extensions import Self

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.masking import mask, mask_key
from lmms_rpts.base.schema import shown

T = TypeVar("T", bound=str)
TransformMode = Literal["llm", "rule", "auto"]
Evidence = Literal["facts", "image", "both"]
Source = Literal["answer", "thinking"]
"""The part of a response whose reasoning is scored."""

OFF = "off"
FILE = "rpts.toml"
CONFIG = "LMMS_RPTS_CONFIG"
_ENDPOINT = "/chat/completions"  # lmms-eval's OPENAI_API_URL is not a base URL
_FOR_TESTS = "LMMS_RPTS_REFERENCE"
_KEY, _URLS = "OPENAI_API_KEY", ("OPENAI_API_URL", "OPENAI_BASE_URL")
# api_key, openai_key, base_url in rpts.toml: the message says where they belong
_OF_SERVERS = re.compile("openai|key|secret|password|url|api_base|endpoint", re.IGNORECASE)

_SECRET = re.compile("(KEY|KEY_ID|TOKEN|SECRET|PASSWORD)$")


class SettingError(UserError):
    """A setting has an invalid value; the message contains it and what is allowed."""


class Price(NamedTuple):
    """The price of a million tokens, in any currency."""

    input: float
    output: float


def setting(
    default: Any, help: str, *variables: str, allowed: str | None = None, **more: Any
) -> Any:
    """A field of a `Table`.

    Args:
        default: its default, or a function that returns it.
        help: its meaning, for the page of all settings.
        variables: its variables, if not the prefix of the table and its own name.
        allowed: what it may be, for messages; None: what pydantic says.
        more: bounds such as ``ge``, and other arguments of ``pydantic.Field``.
    """
    more["default_factory" if callable(default) else "default"] = default
    alias = AliasChoices(*variables) if variables else None
    return Field(description=help, title=allowed, validation_alias=alias, **more)


def _environment(default: Any, *variables: str, **more: Any) -> Any:
    """A field that is no setting: only variables set it, and it is not recorded."""
    return setting(default, "", *variables, exclude=True, **more)


class Table(BaseSettings):
    """A group of settings, each made by `setting`; ``TABLE`` names the table of a benchmark."""

    model_config = Config(
        env_prefix="LMMS_RPTS_",
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        populate_by_name=True,
        enable_decoding=False,
    )
    TABLE: ClassVar[str] = ""
    VARIABLES: ClassVar[dict[str, list[str]]] = {}
    """The environment variables of each field."""
    SETTINGS: ClassVar[dict[str, list[str]]] = {}
    """Those of its settings; other fields are not recorded, and only variables set them."""

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        for name, field in cls.model_fields.items():
            alias = field.validation_alias
            usual = [cls.model_config["env_prefix"] + name.upper()]
            names = list(map(str, alias.choices)) if isinstance(alias, AliasChoices) else usual
            cls.VARIABLES = cls.VARIABLES | {name: names}
        fields = cls.model_fields
        cls.SETTINGS = {n: each for n, each in cls.VARIABLES.items() if not fields[n].exclude}

    @classmethod
    def load(cls, **options: object) -> Self:
        """Read the settings, anew at each call.

        ``options`` come first, as those of a command; None or "": not set. A SettingError names the
        setting, where it was set, its value, and what is allowed.
        """
        options = {name: value for name, value in options.items() if value not in (None, "")}
        _check_names(options, cls.SETTINGS)
        try:
            return cls(**options)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
        place, file = fault["loc"][0], str(read_file()[0])
        (name,) = (each for each in cls.model_fields if place in (each, *cls.VARIABLES[each]))
        origin = name if name in options else cls.origin(name)
        if cls.model_fields[name].repr:
            value = mask(shown(fault["input"]), os.environ.get(_KEY, ""))
            origin = f"{name}={value} in {file}" if origin == file else f"{origin}={value}"
        reason = fault["msg"].removeprefix("Value error, ").removeprefix("Input ")
        raise SettingError(f"{origin}: {cls.model_fields[name].title or reason}")

    @classmethod
    def settings_customise_sources(cls, *args: Any, **sources: Any) -> Any:
        """The sources of the values, the first one first."""
        texts = {name.lower(): _variable(name) for name in chain(*cls.VARIABLES.values())}
        variables = sources["env_settings"]
        variables.env_vars = {name: text for name, text in texts.items() if text}
        return sources["init_settings"], variables, InitSettingsSource(cls, _content(cls))

    @classmethod
    def origin(cls, name: str) -> str:
        """The variable that sets a field, else the file."""
        return next(filter(_variable, cls.VARIABLES[name]), str(read_file()[0]))


def _default_cache() -> Path:
    try:
        return Path(_variable("XDG_CACHE_HOME") or "~/.cache", "lmms_rpts").expanduser()
    except RuntimeError:
        said = "No home directory for cached replies: set LMMS_RPTS_CACHE to a folder, or to off"
        raise SettingError(said) from None


Place = Annotated[Path, AfterValidator(lambda path: Path(os.path.expanduser(path)))]
"""A file or folder; if the file of settings has a relative one, it is relative to that file."""
_PlaceOrOff = Annotated[
    Place | None, BeforeValidator(lambda text: None if str(text).lower() == OFF else text)
]
# Fields of a request that results files must not hold, or that are ours
_OURS = {"model", "messages", "stream", "n"}
_KEY_NAMED = re.compile(r'(?:api.?key|secret|password|auth\w*|token)": ', re.IGNORECASE)


def _extra(fields: dict[str, Any]) -> dict[str, Any]:
    if _OURS & fields.keys() or _KEY_NAMED.search(json.dumps(fields)):
        raise ValueError
    return fields


_Extra = Annotated[dict[str, Any] | Json[dict[str, Any]], AfterValidator(_extra)] | None
_BaseUrl = Annotated[str, AfterValidator(lambda url: url.rstrip("/").removesuffix(_ENDPOINT))]


class Settings(Table):
    """The settings of this package; None if one without a default is not set."""

    judge: str | None = setting(None, "judge of the reasoning")
    concurrency: int = setting(
        32, "concurrent judge calls, shared by all processes; batch size of an `hf:` judge", ge=1
    )
    timeout: float = setting(120.0, "time limit of a call in seconds", ge=1.0, le=86400.0)
    cache: _PlaceOrOff = setting(_default_cache, "folder of cached replies, or `off`")
    temperature: float = setting(0.0, "temperature of the judge", ge=0.0, le=2.0)
    judge_reason: bool = setting(True, "a reason with each score; `false`: the score alone")
    extra_body: _Extra = setting(
        None,
        "fields added to each request; in the file, in `[judge]`",
        allowed='use a JSON object, such as {"top_k": 20} (not keys, model, messages, stream, n)',
    )
    prompts: Place | None = setting(None, "folder with prompts that replace the built-in ones")
    price: str | None = setting(
        None,
        "INPUT/OUTPUT price per million tokens",
        allowed="use the price of a million input and output tokens, such as 0.15/0.60",
        pattern=r"^\d*\.?\d+ */ *\d*\.?\d+$",
    )
    max_judge_tokens: int | None = setting(None, "budget of a run, in tokens", ge=1)
    max_judge_cost: float | None = setting(None, "budget of a run, in money", ge=0.0, le=1e9)
    evidence: Evidence | None = setting(None, "evidence for claims about images")
    image_size: int = setting(1536, "longer side of images for judges, in pixels", ge=64, le=8192)
    transform: TransformMode | None = setting(None, "how steps are parsed")
    source: Source = setting("answer", "scored reasoning: visible answer or thinking")
    decay: float | None = setting(None, "decay of the weights", ge=0.0, le=1.0)
    focus_height: int | None = setting(None, "height with the highest weight", ge=0)
    threshold: float = setting(0.5, "lowest RPTS that counts as good reasoning", ge=0.0, le=1.0)
    openai_url: _BaseUrl = _environment(
        "",
        *_URLS,
        allowed="use one URL, without password or query, such as http://localhost:8000/v1",
        pattern=r"^(https?://[^\s,?#@]+)?$",
        repr=False,
    )
    openai_key: str | None = _environment(None, _KEY, repr=False)
    rank: int = _environment(0, "RANK", ge=0)
    local_rank: int = _environment(0, "LOCAL_RANK", ge=0)
    processes: int = _environment(1, "WORLD_SIZE", ge=1)

    @property
    def openai_headers(self) -> Mapping[str, str]:
        """The headers that OpenAI's own variables ask for."""
        names = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}
        return {header: _variable(name) for name, header in names.items() if _variable(name)}

    @property
    def unit_price(self) -> Price | None:
        """The price as numbers; None if it is not set."""
        return Price(*map(float, self.price.split("/"))) if self.price else None


def load_settings(**options: object) -> Settings:
    """The settings, with this process's share of concurrency and budget; see `Table.load`."""
    whole = Settings.load(**options)
    tokens, cost, processes = whole.max_judge_tokens, whole.max_judge_cost, whole.processes
    share = {
        "concurrency": max(1, whole.concurrency // processes),
        "max_judge_tokens": tokens and max(1, tokens // processes),
        "max_judge_cost": cost and cost / processes,
    }
    return whole if processes == 1 else whole.model_copy(update=share)


def set_variables(**variables: str) -> None:
    """Set variables for the rest of this process, and for those that it starts."""
    os.environ |= variables


def clear_variables(*prefixes: str) -> None:
    """Remove variables that begin so, for the rest of this process and for those that it starts."""
    for name in [name for name in os.environ if name.startswith(prefixes)]:
        del os.environ[name]


def refuse_unknown(tables: Iterable[type[Table]]) -> None:
    """Refuse misspelt settings, and tables of the file that are none of these."""
    _content(Settings)
    file, content = read_file()
    found = [name for name, value in content.items() if isinstance(value, dict)]
    known = ["judge", "extra_body", *(table.TABLE for table in tables)]
    _check_names(found, known, place=f" in {file}")


def with_variables(words: Iterable[str], tables: Iterable[type[Table]]) -> str:
    """A command for a new shell, with the variables that hold settings and addresses; no keys."""
    names = [
        CONFIG,
        *(name for table in tables for name in chain(*table.SETTINGS.values())),
        *_URLS,
    ]
    # Of 'NAME=a b', a shell would run a command with this name.
    given = [f"{name}={shlex.quote(_variable(name))}" for name in names if _variable(name)]
    return mask_key(" ".join([*given, shlex.join(words)]), _variable(_KEY))


def secrets() -> str:
    """The values of variables such as HF_TOKEN, to be masked."""
    return " ".join(value for name, value in os.environ.items() if _SECRET.search(name))


def parse_choice(name: str, text: str | None, choices: tuple[T, ...]) -> T | None:
    """The choice that ``name`` is set to; None if it is not set."""
    if text is None or text in choices:
        return next((each for each in choices if each == text), None)
    raise SettingError(f"{name}={text!r}: choose one of {', '.join(choices)}")


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip()


def read_file() -> tuple[Path | None, dict[str, Any]]:
    """The file of settings, None if there is none, and its content.

    A table [judge] is the settings ``judge`` and ``extra_body``.
    """
    named = _variable(CONFIG)
    path = Path(os.path.expanduser(named or FILE)).absolute()
    if named and (path.is_dir() or not path.exists()):
        raise SettingError(f"{CONFIG}={named!r}: there is no such file")
    file = path if path.exists() else None
    try:
        content = dict(TomlSource(Table, file).toml_data)
    except (OSError, ValueError) as error:  # no TOML, or not in UTF-8
        raise SettingError(f"Cannot read {file}: {error}") from None
    if isinstance(judge := content.get("judge"), dict):
        _check_names(judge, ["name", "extra_body"], place=f" in [judge] of {file}")
        content |= {"judge": None} | {name.replace("name", "judge"): judge[name] for name in judge}
    return file, content


def _content(table: type[Table]) -> dict[str, Any]:
    """The settings of this table in the file; relative paths are relative to the file.

    Refuses misspelt ones, and misspelt variables with the prefix of the table.
    """
    prefix = table.model_config["env_prefix"]
    known = [name.removeprefix(prefix) for name in chain(*table.SETTINGS.values())]
    given = [name for name in os.environ if name.startswith(prefix) and name != _FOR_TESTS]
    ends = [name.removeprefix(prefix) for name in given]
    if table.TABLE:  # other programs may have variables that begin with the name of a benchmark
        ends = [name for name in ends if get_close_matches(name, known, 1, 0.85)]
    _check_names(ends, known if table.TABLE else ["CONFIG", *known], prefix)
    (file, content), names = read_file(), table.SETTINGS
    if table.TABLE:
        content = content.get(table.TABLE, {})
        content = content if isinstance(content, dict) else {}
    else:  # other tables are those of benchmarks
        content = {n: v for n, v in content.items() if n in names or not isinstance(v, dict)}
    _check_names(content, names, place=f" in {file}")
    for name, value in content.items():
        is_path = "Path" in str(table.model_fields[name].annotation)
        if file and is_path and isinstance(value, str) and value.lower() not in (OFF, ""):
            content[name] = str(file.parent / os.path.expanduser(value))
    return {name: value for name, value in content.items() if value not in (None, "")}


def _check_names(
    names: Iterable[str], known: Collection[str], prefix: str = "", place: str = ""
) -> None:
    """Refuse the first of the names that is not known, with the nearest that is."""
    for name in names:
        if name in known:
            continue
        said = f"{prefix}{name}{place}"
        if _OF_SERVERS.search(name):
            raise SettingError(
                f"{said}: keys and addresses of servers are never settings of a file, which "
                f"results files hold. Set {_KEY} or {_URLS[1]} as a variable"
            )
        near = get_close_matches(name, known, 1)
        hint = (
            f"Did you mean {prefix}{near[0]}?"
            if near
            else f"Known: {', '.join(prefix + each for each in known)}"
        )
        raise SettingError(f"Unknown setting {said}. {hint}")
