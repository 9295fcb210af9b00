"""Validators for the texts of bindings: a malformed one is a fault of the profile, never of the target."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Final, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator

PAID_PREFIX: Final = "/pay/v1/"
_MEMBERS = r"[^.:\[\]\s]+(?:\[[0-9]+\])*(?:\.[^.:\[\]\s]+(?:\[[0-9]+\])*)*"
# `body:` alone means the whole answer, which is useful only for a result.
_RESULT = re.compile(r"body:(?:[^.:\[\]\s]+(?:\.[^.:\[\]\s]+)*)?")
_RECEIPT = re.compile(rf"body:{_MEMBERS}|header:[A-Za-z0-9-]+(?::{_MEMBERS})?")


def _result(text: str) -> str:
    if _RESULT.fullmatch(text) is None:
        raise ValueError(
            f"{text!r} is not a place: give `body:` for the whole answer, or `body:MEMBER.MEMBER`, such as body:result"
        )
    return text


def _receipt(text: str) -> str:
    if _RECEIPT.fullmatch(text) is None:
        raise ValueError(
            f"{text!r} is not a place: give `body:MEMBER.MEMBER`, such as body:payable_receipt or body:receipts[0], "
            "`header:NAME`, or `header:NAME:MEMBER` for a member of the base64 JSON in a header"
        )
    return text


def _paid_path(text: str) -> str:
    # P-RH-01 hashes the path from /pay/ on, so host and query are not part of it.
    if not text.startswith(PAID_PREFIX) or text == PAID_PREFIX or "?" in text:
        raise ValueError(f"{text!r} is not a paid path: give one below {PAID_PREFIX}, without host and query")
    return text


def _request(value: Any) -> Any:
    if not isinstance(value, Mapping | list):
        raise ValueError(  # noqa: TRY004 - what pydantic makes a fault of the profile
            f"{value!r:.60} is not a body: give it as a TOML table, such as "
            'bodies.receipt-verify = { jws = "e30.e30.AA" }, not as JSON in a text'
        )
    return value


def _requests(value: Any) -> Any:
    for body in value if isinstance(value, list) else [value]:
        if not isinstance(body, Mapping):
            message = f"{body!r:.60} is not a body: give a TOML table, or a list of them"
            raise ValueError(message)  # noqa: TRY004 - as above
    return value


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as fault:
        raise ValueError(f"{text!r} is not a regular expression: {fault}") from fault
    return text


def _address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{text!r} is not an address: give one such as http://localhost:8402")
    return text


def keys_of(*known_keys: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Return a validator of a table whose keys must be among `known_keys`."""

    def check_keys(table: Mapping[str, Any]) -> Mapping[str, Any]:
        for name in table:
            if name not in known_keys:
                raise ValueError(f"unknown key {name!r}; known: {', '.join(known_keys)}")
        return table

    return check_keys


def one_of(known_values: Mapping[str, Collection[str]]) -> Callable[[Mapping[str, str]], Mapping[str, str]]:
    """Return a validator of a table: `known_values` has its keys, and the permitted values of each key."""

    def check_values(table: Mapping[str, str]) -> Mapping[str, str]:
        for name, value in keys_of(*known_values)(table).items():
            if value not in known_values[name]:
                raise ValueError(f"{name} = {value!r}: known are {', '.join(known_values[name])}")
        return table

    return check_values


ResultPlace: TypeAlias = Annotated[str, AfterValidator(_result)]
ReceiptPlace: TypeAlias = Annotated[str, AfterValidator(_receipt)]
PaidPath: TypeAlias = Annotated[str, AfterValidator(_paid_path)]
RequestBody: TypeAlias = Annotated[Any, AfterValidator(_request)]
RequestBodies: TypeAlias = Annotated[Any, AfterValidator(_requests)]
Address: TypeAlias = Annotated[str, AfterValidator(_address)]
Pattern: TypeAlias = Annotated[str, AfterValidator(_pattern)]
