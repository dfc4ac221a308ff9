"""Settings: options of a command, environment variables, a file, defaults, in this order.

The only module that reads the environment. The file is ``rpts.toml`` in the working directory, or
the one that LMMS_RPTS_CONFIG names. `Settings` is its top level; benchmarks add a `Table` each.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, ValidationInfo
from pydantic import field_validator as check
from pydantic_settings import BaseSettings, InitSettingsSource, TomlConfigSettingsSource
from pydantic_settings import SettingsConfigDict as Config
from typing_extensions import Self

from lmms_rpts.base.errors import UserError

T = TypeVar("T", bound=str)
TransformMode = Literal["llm", "rule", "auto"]
TRANSFORM_MODES: tuple[TransformMode, ...] = get_args(TransformMode)
Evidence = Literal["facts", "image", "both"]
Source = Literal["answer", "thinking"]
"""The part of a response whose reasoning is scored."""

OFF = "off"
FILE = "rpts.toml"
CONFIG = "LMMS_RPTS_CONFIG"
_OPTIONS = "LMMS_RPTS_OPTIONS"  # JSON: options of a command, also for the processes it starts
_OTHERS = (CONFIG, _OPTIONS, "LMMS_RPTS_REFERENCE")  # the last one is for tests
# openai_key in rpts.toml: the message says where keys belong
_SECRET = re.compile(r"openai|key|secret|password", re.IGNORECASE)


class SettingError(UserError):
    """A setting has an invalid value; the message contains it and the allowed values."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens, in any currency."""

    input: float
    output: float


def setting(default: Any, help: str, variable: bool | str = False, **more: Any) -> Any:
    """A field of a `Table`.

    Args:
        default: its default, or a function that returns it.
        help: its meaning, for the page of all settings.
        variable: whether a variable such as ROME_GRADER sets it; or the name of the variable.
        more: bounds such as ``ge``, and other arguments of ``pydantic.Field``.
    """
    how = {"default_factory" if callable(default) else "default": default}
    return Field(**how, description=help, json_schema_extra={"variable": variable}, **more)


def environment(default: Any, variables: str, **more: Any) -> Any:
    """A field that is no setting: only variables set it, and it is not recorded."""
    return setting(default, "", variables, exclude=True, **more)


class Table(BaseSettings):
    """A group of settings, each made by `setting`; ``TABLE`` is the name of its benchmark."""

    model_config = Config(frozen=True, allow_inf_nan=False)
    TABLE: ClassVar[str] = ""

    @classmethod
    def load(cls, **options: object) -> Self:
        """Read the settings, anew at each call.

        Args:
            options: options of a command; None: not set.

        Raises:
            SettingError: with the setting, where it was set, its value and the allowed values.
        """
        _refuse_misspelt(cls)
        options = {name: value for name, value in options.items() if value not in (None, "")}
        try:
            return cls(**options)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
        name = str(fault["loc"][0])
        reason = fault.get("ctx", {}).get("error") or cls.allowed(name)
        raise SettingError(f"{_as_set(cls, name)}: {reason}")

    @classmethod
    def given(cls) -> dict[str, tuple[Any, str]]:
        """What is set, by name: the value, and the option, variable or file that sets it."""
        options, start = _options(), f"{cls.TABLE}." if cls.TABLE else ""
        content, file = _content(cls), str(config_file())
        found = {}
        for name in cls.model_fields:
            for variable in cls.variables(name):
                if text := os.environ.get(variable, "").strip():
                    found[name] = text, variable
                    break
            else:
                if content.get(name, "") != "":
                    found[name] = _beside(cls, name, content[name]), file
            if (option := start + name) in options:
                found[name] = options[option], f"--{option}"
                if options[option] is None:
                    del found[name]
        return found

    @classmethod
    def settings(cls) -> list[str]:
        """The names of the settings."""
        return [name for name, field in cls.model_fields.items() if not field.exclude]

    @classmethod
    def variables(cls, *names: str) -> list[str]:
        """The environment variables of these fields, else of all settings."""
        found: list[str] = []
        for name in names or cls.settings():
            variable = _schema(cls)[name].get("variable") or ""
            found += [_prefix(cls) + name.upper()] if variable is True else variable.split()
        return found

    @classmethod
    def allowed(cls, name: str) -> str:
        """What a setting may be set to, as ``use a number from 0 to 1``."""
        schema = _schema(cls)[name]
        schema = schema | schema.get("anyOf", [{}])[0]
        if "enum" in schema:
            return f"choose one of {', '.join(schema['enum'])}"
        kinds = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}
        low, high = (str(schema.get(bound, "")) for bound in ("minimum", "maximum"))
        bounds = f" from {low} to {high}" if high else f", at least {low}" if low else ""
        return f"use {kinds.get(schema.get('type'), 'text')}{bounds}".replace(".0", "")

    @classmethod
    def settings_customise_sources(cls, *args: Any, **sources: Any) -> Any:
        """The sources of the values, the first one first."""
        values = {name: value for name, (value, _) in cls.given().items()}
        return sources["init_settings"], InitSettingsSource(cls, values)


def _default_cache() -> Path:
    home = os.path.expanduser(os.environ.get("XDG_CACHE_HOME", "").strip() or "~/.cache")
    if home.startswith("~"):
        raise SettingError(
            "No home directory for the cache of judge replies: set LMMS_RPTS_CACHE to a folder, or "
            "to off"
        )
    return Path(home, "lmms_rpts")


def _price(text: str) -> Price:
    try:
        price = Price(*map(float, text.split("/")))
    except (ValueError, TypeError):
        price = Price(-1, -1)
    if any(not 0 <= each < 1e6 for each in (price.input, price.output)):
        raise ValueError("use the price of a million input and output tokens, such as 0.15/0.60")
    return price


def _base_url(text: str) -> str:
    url = text.strip()
    if url and not url.startswith(("http://", "https://")):
        raise ValueError("use a URL that begins with http:// or https://")
    if re.search(r"[,\s]", url):
        raise ValueError("use one URL; a gateway distributes calls to several servers")
    if re.search("^[^/]*//[^/]*@|[?#]", url):
        raise ValueError("use a URL without password or query; set OPENAI_API_KEY to the key")
    # lmms-eval's OPENAI_API_URL is the URL of the chat endpoint, not the base URL.
    return url.rstrip("/").removesuffix("/chat/completions")


def _openai_headers() -> Mapping[str, str]:
    names = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}
    return {names[name]: value for name, value in os.environ.items() if name in names and value}


Place = Annotated[Path, AfterValidator(lambda path: Path(os.path.expanduser(path)))]
"""A file or folder; if the file of settings has a relative one, it is relative to that file."""
_PlaceOrOff = Annotated[Place | None, BeforeValidator(lambda text: None if text == OFF else text)]
_Price = Annotated[
    str | None,
    BeforeValidator(lambda price: str(price) if isinstance(price, int | float) else price),
    AfterValidator(lambda text: text if text and _price(text) else None),
]
_Url = Annotated[str, BeforeValidator(_base_url)]


class Settings(Table):
    """The settings of this package; None if one without a default is not set."""

    judge: str | None = setting(None, "judge of the reasoning", True)
    concurrency: int = setting(32, "concurrent judge calls, shared by all processes", True, ge=1)
    timeout: float = setting(120.0, "time limit of a call in seconds", True, ge=1.0, le=86400.0)
    cache: _PlaceOrOff = setting(_default_cache, "folder of cached replies, or `off`", True)
    temperature: float = setting(0.0, "temperature of the judge", ge=0.0, le=2.0)
    structured: bool = setting(True, "request scores as JSON, with a schema; `false`: as text")
    prompts: Place | None = setting(None, "folder with prompts that replace the built-in ones")
    price: _Price = setting(None, "INPUT/OUTPUT price per million tokens", True)
    max_judge_tokens: int | None = setting(None, "budget of a run, in tokens", True, ge=1)
    max_judge_cost: float | None = setting(None, "budget of a run, in money", True, ge=0.0, le=1e9)
    batch_size: int = setting(32, "batch size of an `hf:` judge", ge=1)
    evidence: Literal["facts", "image", "both"] | None = setting(
        None, "evidence for claims about images", True
    )
    image_size: int = setting(1536, "longer side of images for judges, in pixels", ge=64, le=8192)
    correct: str | None = setting(None, "metric by which an answer to another task is correct")
    transform: TransformMode | None = setting(None, "how steps are parsed")
    source: Source = setting("answer", "scored reasoning: visible answer or thinking", True)
    validity: Place | None = setting(None, "result file of `lmms-rpts validate`", True)
    relations: Place | None = setting(
        None, "labels of relations: a table, or a folder of tables", True
    )
    decay: float | None = setting(None, "decay of the weights", ge=0.0, le=1.0)
    focus_height: int | None = setting(None, "height with the highest weight", ge=0)
    # Options of lmms-rpts score
    grades: Place | None = environment(None, "")
    requests: Place | None = environment(None, "")
    openai_url: _Url = environment("", "OPENAI_API_URL OPENAI_BASE_URL", repr=False)
    openai_key: str | None = environment(None, "OPENAI_API_KEY", repr=False)
    openai_headers: Mapping[str, str] = environment(_openai_headers, "", repr=False)
    rank: int = environment(0, "RANK", ge=0)
    local_rank: int = environment(0, "LOCAL_RANK", ge=0)
    processes: int = environment(1, "WORLD_SIZE", ge=1)

    @check("max_judge_cost")
    @classmethod
    def _consistent(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is not None and not info.data.get("price"):
            raise ValueError(
                "needs the price of tokens: set LMMS_RPTS_PRICE=INPUT/OUTPUT, per million tokens, "
                "such as 0.15/0.60"
            )
        return value

    @property
    def unit_price(self) -> Price | None:
        """The price as numbers; None if it is not set."""
        return _price(self.price) if self.price else None


def load_settings(**options: object) -> Settings:
    """The settings, with this process's share of concurrency and budget; see `Table.load`."""
    whole = Settings.load(**options)
    tokens, cost, processes = whole.max_judge_tokens, whole.max_judge_cost, whole.processes
    share = {
        "concurrency": max(1, whole.concurrency // processes),
        "max_judge_tokens": tokens and max(1, tokens // processes),
        "max_judge_cost": cost and cost / processes,
    }
    return whole.model_copy(update=share)


def config_file() -> Path | None:
    """The file of settings; None if there is none."""
    named = os.environ.get(CONFIG, "").strip()
    path = Path(os.path.expanduser(named or FILE)).absolute()
    if named and (path.is_dir() or not path.exists()):
        raise SettingError(f"{CONFIG}={named!r}: there is no such file")
    return path if path.exists() else None


def refuse_unknown(tables: Iterable[str]) -> None:
    """Refuse misspelt settings, and tables of the file that are none of these."""
    _refuse_misspelt(Settings)
    for name, value in _file().items():
        if isinstance(value, dict) and name not in (*tables, *Settings.settings()):
            raise _unknown(f"{name} in {config_file()}", name, {each: each for each in tables})


def with_variables(words: Iterable[str], tables: Iterable[type[Table]]) -> str:
    """A command for a shell, with the variables that hold settings, and the file; no keys."""
    given = ((table, each) for table in tables for each in table.given().values())
    found = {name: text for table, (text, name) in given if name in table.variables()}
    found |= {name: text for name in [CONFIG] if (text := os.environ.get(name, ""))}
    # Of 'NAME=a b', a shell would run a command with this name.
    return " ".join([*(f"{name}={shlex.quote(found[name])}" for name in found), shlex.join(words)])


@contextmanager
def options_given(config: Path | None = None, /, **options: object) -> Iterator[None]:
    """Context with a file and options of a command, also for processes started there.

    Args:
        config: the file.
        options: of the command; None: not set.
    """
    given = {name: str(value) for name, value in options.items() if value not in (None, "")}
    variables = {_OPTIONS: json.dumps(_options() | given)}
    variables |= {CONFIG: str(config.absolute())} if config else {}
    before = {name: os.environ.get(name, "") for name in variables}
    os.environ |= variables
    try:
        yield
    finally:
        os.environ |= before


def environment_without(*prefixes: str) -> dict[str, str]:
    """The environment without variables whose names start with ``prefixes``."""
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}


def parse_choice(name: str, text: str | None, choices: tuple[T, ...]) -> T | None:
    """The choice that ``name`` is set to; None if it is not set."""
    if text is None or text in choices:
        return next((each for each in choices if each == text), None)
    raise SettingError(f"{name}={text!r}: choose one of {', '.join(choices)}")


def _prefix(table: type[Table]) -> str:
    return f"{table.TABLE or 'lmms_rpts'}_".upper()


@lru_cache
def _schema(table: type[Table]) -> dict[str, Any]:
    return dict(table.model_json_schema()["properties"])


def _options() -> dict[str, Any]:
    return dict(json.loads(os.environ.get(_OPTIONS) or "{}"))


def _file() -> dict[str, Any]:
    try:
        return dict(TomlConfigSettingsSource(Table, config_file()).toml_data)
    except (OSError, ValueError) as error:  # no TOML, or not in UTF-8
        raise SettingError(f"Cannot read {config_file()}: {error}") from None


def _content(table: type[Table]) -> dict[str, Any]:
    """The settings of this table in the file."""
    found, names = _file(), table.settings()
    if table.TABLE:
        inner = found.get(table.TABLE)
        return inner if isinstance(inner, dict) else {}
    return {name: v for name, v in found.items() if name in names or not isinstance(v, dict)}


def _beside(table: type[Table], name: str, value: Any) -> Any:
    """A value in the file; relative paths are relative to the file."""
    if not isinstance(value, str) or value == OFF or "'path'" not in str(_schema(table)[name]):
        return value
    return str(Path(str(config_file())).parent / os.path.expanduser(value))


def _as_set(table: type[Table], name: str) -> str:
    """A setting as it was set, for messages; no secrets."""
    value, where = table.given().get(name, ("", name))
    if where == str(config_file()):
        return f"{name}={value!r} in {where}"
    return f"{where}={value!r}" if table.model_fields[name].repr else where


def _refuse_misspelt(table: type[Table]) -> None:
    """Refuse misspelt variables and settings of the file, which would otherwise be ignored."""
    prefix, own, names = _prefix(table), table.variables(), table.settings()
    where = f"[{table.TABLE}] of {FILE}" if table.TABLE else FILE
    # Others may have variables that begin with the name of a benchmark.
    start, likeness = (0, 0.85) if table.TABLE else (len(prefix), 0.6)
    known = {name[start:]: name for name in (own if table.TABLE else [CONFIG, *own])}
    for name in names:
        known.setdefault((prefix + name.upper())[start:], f"{name} in {where}")
    for name in environment_without():
        if name.startswith(prefix) and name not in (*own, *_OTHERS):
            end = name[start:]
            if end in known:
                raise SettingError(f"{name} is not a variable: set {known[end]}")
            if not table.TABLE or get_close_matches(end, known, 1, likeness):
                raise _unknown(name, end, known)
    for name in _content(table):
        if name not in names:
            raise _unknown(f"{name} in {config_file()}", name, {each: each for each in names})


def _unknown(said: str, name: str, known: Mapping[str, str]) -> SettingError:
    """The error for a name; ``known`` has the names, and how messages call them."""
    if _SECRET.search(name):
        return SettingError(
            f"{said}: keys and addresses of servers are never settings of a file, which results "
            "files hold. Set OPENAI_API_KEY or OPENAI_BASE_URL as a variable"
        )
    near = get_close_matches(name, known, 1)
    hint = f"Did you mean {known[near[0]]}?" if near else f"Known: {', '.join(known.values())}"
    return SettingError(f"Unknown setting {said}. {hint}")
