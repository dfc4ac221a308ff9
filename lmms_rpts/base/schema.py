"""Types of JSON fields, and the base class of the pydantic models that check them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    Strict,
    ValidationError,
)

from lmms_rpts.base.escaping import storable

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_SHOWN = 60
# What pydantic's kinds of errors ask for, where its own words are not plain.
_WANTED = {
    "tuple_type": "a list",
    "bool_type": "true or false",
    "string_type": "a string",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
}


class FieldError(ValueError):
    """A field is missing or has a wrong value; the message names the field."""


class Model(BaseModel):
    """A frozen JSON object; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def shown(value: object) -> str:
    """A short form of any value, for messages."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of 5000 digits; lists a thousand deep
        return f"this {type(value).__name__}"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def wrong(wanted: str, value: object) -> FieldError:
    """The error for a value that is not ``wanted``; the caller adds the place."""
    return FieldError(f"should be {wanted}, not {shown(value)}")


def first_fault(error: ValidationError) -> str:
    """The first error that pydantic found: ``steps[2].score should be a number ...``."""
    return all_faults(error)[0]


def all_faults(error: ValidationError) -> list[str]:
    """Every error that pydantic found, each with its field and a short form of the value."""
    return list(map(_fault, error.errors(include_url=False)))


def _fault(fault: ErrorDetails) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"])
    place = place.removeprefix(".")
    kind, value = fault["type"], fault["input"]
    if kind == "missing":
        return f"{place} is missing"
    if kind == "value_error":
        return f"{place} {fault['ctx']['error']}".strip()
    if kind == "literal_error":
        choices = fault["ctx"]["expected"].replace(" or ", ", ").replace("'", "")
        return f"{place} {wrong(f'one of {choices}', value)}"
    # pydantic's own: "Input should be a valid string"
    words = fault["msg"].removeprefix("Input ").partition(", ")[0]
    wanted = _WANTED.get(kind, words.removeprefix("should be "))
    return f"{place or 'the record'} {wrong(wanted, value)}"


def _filled(value: object) -> object:
    if not isinstance(value, str) or not value.strip():
        raise wrong("a non-empty string", value)
    return value


T = TypeVar("T")

Several = Annotated[tuple[T, ...], FailFast()]
"""A list; validation stops at the first error, since a hostile file may have millions."""

Text = Annotated[str, Strict(), AfterValidator(storable)]
"""A string; lone surrogates are replaced, because UTF-8 files can't contain them."""

Line = Annotated[Text, BeforeValidator(_filled)]
"""A text that is not blank."""

Flag = Annotated[bool, Strict()]
"""True or false."""

Whole = Annotated[int, Strict(), Field(ge=0, lt=2**63)]
"""An integer from 0 to 2**63 - 1, so that it fits into a table."""

# Adding 0.0 makes a negative zero positive.
Number = Annotated[float, Strict(), AllowInfNan(False), AfterValidator(lambda value: value + 0.0)]
"""A finite number."""

Share = Annotated[Number, Field(ge=0, le=1)]
"""A number from 0 to 1."""
