"""Messages about unusable profiles: the key, its table, and its correct form."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails


def sentence(fault: ErrorDetails, profile: type[BaseModel]) -> str:
    """Return one sentence about a key of a profile.

    Args:
        fault: The first error that pydantic reports.
        profile: The model of the whole profile.
    """
    *place, key = fault["loc"] or ("",)
    if fault["type"] == "extra_forbidden":
        # A misspelled key is the most common fault of a profile.
        near = difflib.get_close_matches(str(key), _keys(profile, place), n=1)
        return f"unknown key `{key}`{_table(place)}" + (f"; did you mean `{near[0]}`?" if near else "")
    if fault["type"] == "missing":
        return f"the key `{key}`{_table(place)} is missing"
    # Pydantic puts the type of the exception before the message of a validator.
    reason = fault["msg"].removeprefix("Value error, ")
    if not key:
        return f"profile: {reason}"
    return f"{'.'.join(map(str, fault['loc']))}: {reason.replace('Input should be', 'the value should be')}"


def _table(place: Sequence[int | str]) -> str:
    """Return the words that name the table, with entries of arrays counted from 1; none at the top of the file."""
    if not place:
        return ""
    names = [str(part) for part in place if isinstance(part, str)]
    counts = [part for part in place if isinstance(part, int)]
    if counts:
        return f" in entry {counts[-1] + 1} of {'.'.join(names)}"
    return f" in [{'.'.join(names)}]"


def _keys(model: Any, place: Sequence[int | str]) -> list[str]:
    """Return the keys of the table at a place of the profile; none if no single model describes it."""
    for part in place:
        model = _member(model, part)
    table_model = _model(model)
    return [] if table_model is None else [*table_model.model_fields]


def _member(kind: Any, part: int | str) -> Any:
    model = _model(kind)
    if model is not None:
        field = model.model_fields.get(str(part))
        return None if field is None else field.annotation
    # The last argument is the type of an entry, for mappings as for sequences.
    entries = [argument for argument in get_args(_unwrap(kind)) if argument is not Ellipsis]
    return entries[-1] if entries else None


def _model(kind: Any) -> type[BaseModel] | None:
    kind = _unwrap(kind)
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _unwrap(kind: Any) -> Any:
    """Return a type without `| None` around it."""
    if get_origin(kind) in {Union, UnionType}:
        kinds = [one for one in get_args(kind) if one is not type(None)]
        return kinds[0] if len(kinds) == 1 else None
    return kind
