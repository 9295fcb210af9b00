"""RAIL-402-14 to -16: a malformed X-PAYMENT is answered 402 with a challenge.

Each corpus contains a live token of the operation. A rail that finds the token and ignores the faults around it is
then found, too.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.assertions.rail.refusals import judge_challenged_again
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer
from conformance.oracles.challenge_schema import faults_of_challenge
from conformance.surfaces.rail.proofs import encode_base64, encode_json
from conformance.surfaces.rail.purchase import lane_of
from conformance.surfaces.rail.unpaid_answers import cache_control, entries, is_shareable, references
from conformance.vocabulary.lanes.registry import FACTS

Corpus = Callable[[Answer], Mapping[str, tuple[str, ...]]]

# It has the form of an Algorand transaction id: 52 characters of base32. No such transaction exists.
_INVENTED_TX_ID = "CAPTURED" * 6 + "CAPA"
_STALE_TOKEN = "1795240615:047652b0a2d99b35:" + "0" * 64
# The header stays below the 8 KiB that common servers accept. The depth is beyond Python's default recursion limit of
# 1000, and the digits are beyond its limit of 4300 for an integer.
_LONG, _DEEP, _DIGITS = 5600, 1500, 4500
_PAYMENT_REQUIRED = 402


def make_non_base64(token: str) -> Mapping[str, tuple[str, ...]]:
    """Return values that are not standard padded base64, by description. Two texts are two header fields."""
    text = json.dumps({"tx_id": _INVENTED_TX_ID, "payment_reference": token}).encode()
    right_value = encode_base64(text)
    texts = {
        "plain text": "please",
        "the JSON itself": text.decode(),
        "the token itself": token,
        "percent-encoding": "%7B%22tx_id%22%3A%22A%22%7D",
        "one character": "e",
        "cut after five characters": right_value[:5],
        "cut in the middle": right_value[: len(right_value) // 8 * 4 + 1],
        "no padding": encode_base64(text + b" " * (len(text) % 3 == 0)).rstrip("="),
        # The bytes are chosen so that their base64 contains `-` and `_`, where the two alphabets differ.
        "the URL-safe alphabet": base64.urlsafe_b64encode(b'{"tx_id":"\xc3\xbf\xc3\xbf~~~~???"}').decode(),
        "padding in front": "==" + right_value,
        "padding inside": f"{right_value[:8]}={right_value[8:]}",
        "too much padding": right_value.rstrip("=") + "====",
        "only padding": "====",
        "twice with a comma": f"{right_value},{right_value}",
        "a space inside": f"{right_value[:8]} {right_value[8:]}",
        "a scheme word": f"Bearer {right_value}",
        "quotes around": f'"{right_value}"',
        "a character outside ASCII": f"é{right_value}",
        "very long": "!" + "A" * _LONG,
    }
    return {**{what: (value,) for what, value in texts.items()}, "two headers": (right_value, right_value)}


def make_non_json(token: str) -> Mapping[str, tuple[str, ...]]:
    """Return base64 of bytes that are not a JSON text, by description."""
    text = json.dumps({"tx_id": _INVENTED_TX_ID, "payment_reference": token}).encode()
    bodies = {
        "nothing": b"",
        "a space": b" ",
        "bytes that are not text": bytes(range(128, 192)),
        "a byte that is not UTF-8": text.replace(b"CAPA", b"CAP\xff"),
        "half an object": text[: len(text) // 2],
        "an object without its end": text[:-1],
        "single quotes": text.replace(b'"', b"'"),
        "NaN": b'{"tx_id":NaN,' + text[1:],
        "a bare word": b"undefined",
        "two objects": text + text,
        "a trailing comma": text[:-1] + b",}",
        "a comment": text + b" // paid",
        "a raw newline in a text": text.replace(b"CAPA", b"CA\nPA"),
        # JSON between systems is UTF-8 (RFC 8259, 8.1). A library may detect UTF-16 and accept it all the same.
        "UTF-16": text.decode().encode("utf-16"),
        "base64 once more": base64.b64encode(text),
        "a compressed body": b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
        "a form": b"tx_id=" + _INVENTED_TX_ID.encode() + b"&payment_reference=" + token.encode(),
        "brackets without end": b"[" * (_LONG * 3 // 4),
    }
    return {what: (encode_base64(body),) for what, body in bodies.items()}


def make_wrong_fields(token: str, base_token: str | None = None) -> Mapping[str, tuple[str, ...]]:
    """Return base64 of JSON that is not a proof of any lane, by description. Those of Base have a separate token."""
    right = {"tx_id": _INVENTED_TX_ID, "payment_reference": token}
    base = {"authorization": {}, "signature": "0x" + "11" * 65, "challenge_token": base_token or token}
    return {what: (encode_json(value),) for what, value in _make_wrong_values(right, base).items()} | {
        # Two readers of one text may take different members, so the rail checks one id and settles another.
        "duplicate members": (encode_base64(b'{"tx_id":"A",' + json.dumps(right).encode()[1:]),),
        "deep nesting": (encode_base64(b'{"tx_id":' + b"[" * _DEEP + b"]" * _DEEP + b"}"),),
        "a huge integer": (encode_base64(b'{"tx_id":' + b"9" * _DIGITS + b',"payment_reference":"x"}'),),
        "a number out of range": (encode_base64(b'{"tx_id":1e999,"payment_reference":"x"}'),),
        # The text is valid JSON, but it cannot be encoded as UTF-8. It crashes a server that logs or stores it.
        "half a surrogate pair": (encode_base64(b'{"tx_id":"\\ud800","payment_reference":"\\udfff"}'),),
    }


def _make_wrong_values(right: Mapping[str, str], base: Mapping[str, Any]) -> Mapping[str, Any]:
    tx_id, token = right["tx_id"], right["payment_reference"]
    odd_values: Mapping[str, Any] = {
        "null": None,
        "true": True,
        "a number": 5,
        "an array": [tx_id],
        "an object": {"value": tx_id},
        "an empty text": "",
        "white space": " ",
    }
    members = {
        f"{name}: {description}": {**right, name: value}
        for name in ("tx_id", "payment_reference")
        for description, value in odd_values.items()
    }
    shapes = {f"the whole proof: {description}": value for description, value in odd_values.items()}
    return {
        **members,
        **shapes,
        "an array around the proof": [right],
        "an empty object": {},
        "no tx_id": {"payment_reference": token},
        "no payment_reference": {"tx_id": tx_id},
        "member names in camel case": {"txId": tx_id, "paymentReference": token},
        "member names in upper case": {"TX_ID": tx_id, "PAYMENT_REFERENCE": token},
        "NUL in tx_id": {**right, "tx_id": "\0" * 52},
        "letters outside ASCII": {"tx_id": "é" * 52, "payment_reference": "π"},
        "a very long tx_id": {**right, "tx_id": "A" * (_LONG // 2)},
        "SQL in tx_id": {**right, "tx_id": "' OR 1=1 --"},
        "a path in tx_id": {**right, "tx_id": "../../v2/status"},
        # An id that becomes part of a node's URL would let the client choose which address the rail queries.
        "an address in tx_id": {**right, "tx_id": "http://127.0.0.1:1/"},
        "a token of another form": {**right, "payment_reference": "abc"},
        "a token that was never issued": {**right, "payment_reference": _STALE_TOKEN},
        # Date functions raise an overflow for such a time, which becomes a 500 if the code does not expect it.
        "a token with a huge time": {**right, "payment_reference": "9" * 40 + ":0:0"},
        "an empty authorization": base,
        "an authorization that is a text": {**base, "authorization": "x"},
        "an authorization of wrong types": {
            **base,
            "authorization": {"from": 1, "to": [], "value": {}, "validAfter": None, "validBefore": "x", "nonce": True},
        },
        **_ordinary_payloads(tx_id, token),
    }


def _ordinary_payloads(tx_id: str, token: str) -> Mapping[str, Any]:
    """Return what stock x402 clients send."""
    return {
        "an ordinary x402 payload, version 1": {
            "x402Version": 1,
            "scheme": "exact",
            "network": "algorand",
            "payload": {"paymentGroup": [tx_id], "paymentIndex": 0},
        },
        "an ordinary x402 payload, version 2": {
            "x402Version": 2,
            "accepted": {"scheme": "exact", "extra": {"payment_reference": token}},
            "payload": {"transaction": tx_id},
        },
    }


async def _judge_corpus(case: Case, row: str, corpus: Corpus) -> None:
    for operation in case.sample(case.session.catalog.operations):
        unpaid = await case.client.call("POST", operation.url, json_body=operation.body)
        for token in (_choose_token(unpaid), _choose_token(unpaid, base=True)):
            case.client.names.name(token, "PAYMENT_REFERENCE")
        await run_concurrently(
            judge_challenged_again(case, row, operation, unpaid, *one) for one in corpus(unpaid).items()
        )


def _choose_token(unpaid: Answer, *, base: bool = False) -> str:
    """Return a live token of Base, or of a lane whose proofs have a tx_id.

    A token of the other kind would make the proof wrong by its lane as well. Without a live token, which other rows
    judge, it is a token of the usual form.
    """
    extras = [one.get("extra") for one in entries(unpaid) if (_find_family(one) == "base") == base]
    lane_tokens = [extra.get("payment_reference") for extra in extras if isinstance(extra, dict)]
    live_tokens = references(unpaid)
    return min((token for token in live_tokens if token in lane_tokens), default=min(live_tokens, default=_STALE_TOKEN))


def _find_family(entry: Mapping[str, Any]) -> str | None:
    lane = lane_of(entry)
    return None if lane is None else FACTS[lane].family


@check(
    "RAIL-402-14",
    surface="rail",
    fix="Treat an unreadable X-PAYMENT as a missing payment: 402 with accepts, never 400 or 5xx.",
    quick=sample("operations"),
)
async def payment_that_is_not_base64(case: Case) -> None:
    """X-PAYMENT that is not base64 answers 402 with accepts.

    Sends cut, unpadded, URL-safe, doubled and quoted texts around a live token to every operation. Expects 402 with
    accepts each time.
    """
    await _judge_corpus(case, "RAIL-402-14", lambda unpaid: make_non_base64(_choose_token(unpaid)))


@check(
    "RAIL-402-15",
    surface="rail",
    fix="Decode, then parse; a failure of either is 402 with accepts, never 400 or 5xx.",
    quick=sample("operations"),
)
async def payment_that_is_not_json(case: Case) -> None:
    """X-PAYMENT that is base64 of non-JSON answers 402 with accepts.

    Sends base64 of bytes that are not a JSON text to every operation. Expects 402 with accepts each time.
    """
    await _judge_corpus(case, "RAIL-402-15", lambda unpaid: make_non_json(_choose_token(unpaid)))


@check(
    "RAIL-402-16",
    surface="rail",
    fix="Check presence and type of every proof member before using it; a fault is 402 with accepts.",
    quick=sample("operations"),
)
async def payment_with_wrong_fields(case: Case) -> None:
    """X-PAYMENT JSON with missing, wrongly typed or empty fields answers 402 with accepts.

    Sends JSON of every wrong shape around a live token, and the payloads of ordinary x402 clients, to every operation.
    Expects 402 with accepts each time.
    """
    await _judge_corpus(
        case, "RAIL-402-16", lambda unpaid: make_wrong_fields(_choose_token(unpaid), _choose_token(unpaid, base=True))
    )


@check(
    "RAIL-402-03",
    "RAIL-402-05",
    "RAIL-402-18",
    "RAIL-402-21",
    surface="rail",
    fix="Build the 402 that refuses a proof with the same code as the 402 that asks for a payment.",
)
async def a_refusal_is_a_whole_challenge(case: Case) -> None:
    """The 402 that refuses a proof has the form and the lanes of the one that asked for a payment.

    Sends malformed proofs to each operation, and a proof with a live token for a transaction that does not exist. If
    the answer is 402, expects x402 version 2, its form, and an entry for each lane of the 402s before and after. Shared
    caches must not store it.
    """
    for operation in case.session.catalog.operations:
        unpaid = await case.client.call("POST", operation.url, json_body=operation.body)
        token = _choose_token(unpaid)
        case.client.names.name(token, "PAYMENT_REFERENCE")
        proof = {"tx_id": _INVENTED_TX_ID, "payment_reference": token}
        for description, value in {"no proof": "please", "an invented transaction": encode_json(proof)}.items():
            case.client.names.name(value, "X_PAYMENT")
            headers = {"X-PAYMENT": value}
            answer = await case.client.call("POST", operation.url, json_body=operation.body, headers=headers)
            # A lane may become unavailable at any moment. The refusal must list the lanes of the challenge before it
            # or after it.
            later = await case.client.call("POST", operation.url, json_body=operation.body)
            where = {"operation": operation.path, "X-PAYMENT": description}
            if answer.status == later.status == unpaid.status == _PAYMENT_REQUIRED:
                _judge_form(case, answer, (unpaid, later), where)
    for row in case.check.rows:
        if row not in case.judged_rows:
            case.mark_not_applicable(row, "no proof was refused with 402, which other checks judge")


def _judge_form(case: Case, answer: Answer, challenges: Sequence[Answer], where: Mapping[str, str]) -> None:
    version, faults = answer.read_object().get("x402Version"), faults_of_challenge(answer.read_object())
    is_two = version == 2 and version is not True
    case.expect("RAIL-402-03", is_two, "x402Version 2", version, exchange=answer, where=where)
    expectation, is_private = "Cache-Control: no-store", not is_shareable(answer)
    case.expect("RAIL-402-18", is_private, expectation, cache_control(answer), exchange=answer, where=where)
    expectation, finding = "a body that keeps the schema", "; ".join(faults)
    case.expect("RAIL-402-21", not faults, expectation, finding, exchange=answer, where=where)
    ours = case.profile.is_reference
    beyond = None if ours else "the interface demands it only of the 402 that asks for a payment"
    lanes, expectation = _list_networks(answer), "an entry for each lane of the other 402s"
    has_all_lanes = lanes in [_list_networks(one) for one in challenges]
    case.expect("RAIL-402-05", has_all_lanes, expectation, lanes, exchange=answer, where=where, beyond=beyond)


def _list_networks(answer: Answer) -> list[str]:
    return sorted(str(entry.get("network")) for entry in entries(answer))
