"""The 402 body: x402 version 2 as the interface narrows it, by a published schema."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema_rs

_ATOMIC = re.compile(r"0|[1-9][0-9]{0,38}")


@cache
def _validator() -> Any:
    schema = json.loads(files(__package__).joinpath("challenge.schema.json").read_text("utf-8"))
    return jsonschema_rs.validator_for(schema)


def faults_of_challenge(document: Any) -> list[str]:
    """Return what is wrong with a 402 body, one line a fault; none when it keeps the schema."""
    return [
        f"{'/'.join(str(part) for part in fault.instance_path) or 'body'}: {fault.message}"
        for fault in _validator().iter_errors(document)
    ]


def atomic_amount(value: Any) -> int | None:
    """Return an amount in atomic units: decimal digits in a string, no sign, exponent or leading zero; else None."""
    return int(value) if isinstance(value, str) and _ATOMIC.fullmatch(value) else None
