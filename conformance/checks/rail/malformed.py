"""RAIL-402-14 to -16: X-PAYMENT that is none."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Sequence
from typing import Any

from conformance.check import Case, check
from conformance.checks.rail.challenges import entries
from conformance.client import Answer
from conformance.discovery import Operation

_TX = "A" * 52
_TOKEN = "1795240615:047652b0a2d99b35:" + "0" * 64


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _json(value: Any) -> str:
    return _b64(json.dumps(value, separators=(",", ":")).encode())


_GOOD = _json({"tx_id": _TX, "payment_reference": _TOKEN})

NOT_BASE64: tuple[tuple[str, str], ...] = (
    ("plain text", "please"),
    ("the JSON itself", json.dumps({"tx_id": _TX, "payment_reference": _TOKEN})),
    ("percent signs", "%7B%22tx_id%22%3A1%7D"),
    ("one character", "e"),
    ("five characters", "eyJ0e"),
    ("padding in front", "==" + _GOOD),
    ("padding inside", _GOOD[:8] + "=" + _GOOD[8:]),
    ("too much padding", _GOOD.rstrip("=") + "===="),
    ("a comma", _GOOD + "," + _GOOD),
    ("hexadecimal with a prefix", "0x" + b"{}".hex()),
    ("a scheme word", "Bearer " + _GOOD),
    ("only padding", "===="),
)
NOT_JSON: tuple[tuple[str, str], ...] = (
    ("bytes that are no text", _b64(bytes(range(128, 192)))),
    ("an empty text", _b64(b" ")),
    ("half an object", _b64(b'{"tx_id":"A')),
    ("single quotes", _b64(b"{'tx_id':'A'}")),
    ("NaN", _b64(b'{"tx_id":NaN}')),
    ("two objects", _b64(b"{}{}")),
    ("UTF-16", _b64('{"tx_id":"A"}'.encode("utf-16"))),
    ("a compressed body", _b64(b"\x1f\x8b\x08\x00\x00\x00\x00\x00")),
    ("a byte order mark", _b64(b'\xef\xbb\xbf{"tx_id":"A"}')),
    ("a trailing comma", _b64(b'{"tx_id":"A",}')),
)
WRONG_FIELDS: tuple[tuple[str, str], ...] = (
    ("null", _json(None)),
    ("a number", _json(7)),
    ("a text", _json(_TOKEN)),
    ("an array", _json([{"tx_id": _TX, "payment_reference": _TOKEN}])),
    ("an empty object", _json({})),
    ("no tx_id", _json({"payment_reference": _TOKEN})),
    ("no payment_reference", _json({"tx_id": _TX})),
    ("empty tx_id", _json({"tx_id": "", "payment_reference": _TOKEN})),
    ("empty payment_reference", _json({"tx_id": _TX, "payment_reference": ""})),
    ("a number as tx_id", _json({"tx_id": 5, "payment_reference": _TOKEN})),
    ("null as payment_reference", _json({"tx_id": _TX, "payment_reference": None})),
    ("an object as payment_reference", _json({"tx_id": _TX, "payment_reference": {"a": 1}})),
    ("an array as tx_id", _json({"tx_id": [_TX], "payment_reference": _TOKEN})),
    ("true as tx_id", _json({"tx_id": True, "payment_reference": _TOKEN})),
    ("other member names", _json({"txId": _TX, "paymentReference": _TOKEN})),
    ("NUL in tx_id", _json({"tx_id": "\0" * 52, "payment_reference": _TOKEN})),
    ("not ASCII", _json({"tx_id": "é" * 52, "payment_reference": "π"})),
    ("a very long tx_id", _json({"tx_id": "A" * 4000, "payment_reference": _TOKEN})),
    ("SQL in tx_id", _json({"tx_id": "' OR 1=1 --", "payment_reference": _TOKEN})),
    ("a path in tx_id", _json({"tx_id": "../../v2/status", "payment_reference": _TOKEN})),
    ("a token of another form", _json({"tx_id": _TX, "payment_reference": "abc"})),
    ("a token with a huge time", _json({"tx_id": _TX, "payment_reference": "9" * 40 + ":0:0"})),
    ("authorization is a text", _json({"authorization": "x", "signature": "0x", "challenge_token": _TOKEN})),
    ("authorization is empty", _json({"authorization": {}, "signature": "0x00", "challenge_token": _TOKEN})),
    ("deep nesting", _b64(b'{"tx_id":' + b"[" * 300 + b"]" * 300 + b"}")),
    ("duplicate members", _b64(b'{"tx_id":"A","tx_id":"B","payment_reference":"C"}')),
    ("a huge integer", _b64(b'{"tx_id":' + b"9" * 2000 + b',"payment_reference":"x"}')),
)


async def _judge(case: Case, row: str, corpus: Sequence[tuple[str, str]]) -> None:
    sends = [(operation, kind, value) for operation in case.session.operations for kind, value in corpus]
    for start in range(0, len(sends), 16):
        await asyncio.gather(*(_one(case, row, *one) for one in sends[start : start + 16]))


async def _one(case: Case, row: str, operation: Operation, kind: str, value: str) -> None:
    answer = await case.client.call("POST", operation.url, json_body=operation.body, headers={"X-PAYMENT": value})
    case.expect(
        row,
        is_challenged(answer),
        "402 with accepts",
        f"{answer.status} with {len(entries(answer))} accepts entries",
        exchange=answer,
        where={"operation": operation.path, "X-PAYMENT": kind},
    )


def is_challenged(answer: Answer) -> bool:
    """Return whether an answer is 402 with at least one entry."""
    return answer.status == 402 and bool(entries(answer))


@check(
    "RAIL-402-14",
    surface="rail",
    fix="Treat an unreadable X-PAYMENT as no valid payment: 402 with accepts, never 400 or 5xx.",
)
async def payment_that_is_not_base64(case: Case) -> None:
    """X-PAYMENT that is not base64 answers 402 with accepts.

    Sends texts that no base64 reader takes, on every operation. Expects 402 with accepts each time.
    """
    await _judge(case, "RAIL-402-14", NOT_BASE64)


@check(
    "RAIL-402-15", surface="rail", fix="Decode, then parse; a failure of either is 402 with accepts, never 400 or 5xx."
)
async def payment_that_is_not_json(case: Case) -> None:
    """X-PAYMENT that is base64 of non-JSON answers 402 with accepts.

    Sends base64 of bytes that are no JSON, on every operation. Expects 402 with accepts each time.
    """
    await _judge(case, "RAIL-402-15", NOT_JSON)


@check(
    "RAIL-402-16",
    surface="rail",
    fix="Check presence and type of every proof member before using it; a fault is 402 with accepts.",
)
async def payment_with_wrong_fields(case: Case) -> None:
    """X-PAYMENT JSON with missing, wrongly typed or empty fields answers 402 with accepts.

    Sends JSON of every wrong shape, on every operation. Expects 402 with accepts each time.
    """
    await _judge(case, "RAIL-402-16", WRONG_FIELDS)
