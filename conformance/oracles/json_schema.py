"""JSON Schema 2020-12, with patterns as that standard has them: `$` is the end of a text, and no line's before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable


class Schema:
    """A schema that values are held against."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Take a schema.

        Raises:
            ValueError: It is not a schema.

        A reference leads to places in the schema itself only: it is a stranger's, and no address or file in it is read.
        """
        # A document under test may contain something that is no schema at all. That is a fault
        # of the document, not of the value.
        fault = next(Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema), None)
        if fault is not None:
            raise ValueError(f"no JSON Schema: {fault.message[:200]}")
        # An empty registry resolves no address, so nothing is fetched.
        self._validator = _Strict(schema, registry=Registry())

    def faults(self, value: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yield what is wrong with a value: where in it, and a sentence.

        Raises:
            ValueError: The schema cannot be used: a reference leads nowhere or to itself, or a pattern is invalid.
        """
        try:
            for fault in self._validator.iter_errors(value):
                yield tuple(fault.absolute_path), fault.message
        except (Unresolvable, re.error, RecursionError, OverflowError) as fault:
            raise ValueError(f"no usable JSON Schema: {type(fault).__name__}: {str(fault)[:200]}") from fault


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    # Python's `$` also stands before a line feed at the end, which ECMA-262's does not.
    return re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern))


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and _compile(pattern).search(value) is None:
        yield ValidationError(f"{value!r} does not match {pattern!r}")


_Strict = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
