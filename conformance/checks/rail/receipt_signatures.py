"""RAIL-RCPT-01 to -03 and -08 to -10: the signature of the payable receipt."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.oracles import jose
from conformance.oracles.keys import Ed25519Key
from conformance.surfaces.rail.keys import published_keys
from conformance.surfaces.rail.purchase import Purchase
from conformance.surfaces.rail.receipts import buy_receipt

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_SAMPLED = 24


@check(
    "RAIL-RCPT-01",
    "RAIL-RCPT-02",
    "RAIL-RCPT-03",
    "RAIL-RCPT-08",
    "RAIL-RCPT-09",
    "RAIL-RCPT-10",
    surface="rail",
    lane="each",
    fix="Sign the receipt as a compact JWS with EdDSA. Use the key that jwks.json and did.json publish, and name it by "
    "its kid.",
)
async def receipt_verifies_offline(case: Case) -> None:
    """The receipt is an Ed25519 JWS that verifies under the published key, offline, and nothing else does.

    Saves both key documents, buys a call of each operation, and verifies the receipt with only the saved keys. Then
    changes one character, at every place of the signature and at sampled places of header and payload. Expects that the
    receipt verifies, and that no changed one does.
    """
    # The keys are fetched before any receipt exists. A receipt must not need a key that appears only afterwards.
    in_set, in_did = await published_keys(case)
    # Drawn before the operations run concurrently, so that the changes depend on the seed and not on their order.
    changes = [case.rng.getrandbits(64) for _ in case.session.catalog.operations]

    async def for_operation(operation: Operation, seed: int) -> None:
        served, token = await buy_receipt(case, operation)
        _judge_signature(case, served, token, in_set, in_did)
        keys = in_set or in_did
        if jose.fault_of(token, keys) is None:
            rng = random.Random(seed)  # noqa: S311 - repeatable on purpose
            survivors = [place for place, text in changed_once(token, rng) if jose.fault_of(text, keys) is None]
            where = {"operation": operation.path}
            case.expect("RAIL-RCPT-09", not survivors, "no changed receipt verifies", survivors, where=where)

    await run_concurrently(map(for_operation, case.session.catalog.operations, changes))


def _judge_signature(
    case: Case, served: Purchase, token: str, in_set: list[Ed25519Key], in_did: list[Ed25519Key]
) -> None:
    where = {"operation": served.operation.path}
    header = _header(token)
    signed = header.get("alg") in jose.ALGORITHMS
    case.expect("RAIL-RCPT-01", signed, "alg EdDSA", header.get("alg"), exchange=served.answer, where=where)
    for row, keys, expected in (
        ("RAIL-RCPT-02", in_set, "verifies under jwks.json"),
        ("RAIL-RCPT-03", in_did, "verifies under did.json"),
        ("RAIL-RCPT-08", in_set or in_did, "verifies with saved keys"),
    ):
        fault = jose.fault_of(token, keys)
        case.expect(row, fault is None, expected, fault, exchange=served.answer, where=where)
    kid = header.get("kid")
    known = kid is None or is_published(kid, [*in_set, *in_did])
    case.expect("RAIL-RCPT-10", known, "a kid of the published set", kid, exchange=served.answer, where=where)


def is_published(kid: Any, keys: Sequence[Ed25519Key]) -> bool:
    """Return whether a header's `kid` names one of the keys, by itself or as the fragment of a DID URL."""
    return isinstance(kid, str) and not {kid, kid.rpartition("#")[2]}.isdisjoint(key.kid for key in keys if key.kid)


def _header(token: str) -> Mapping[str, Any]:
    try:
        return jose.parse(token).header
    except jose.JwsFault:
        return {}


def changed_once(token: str, rng: random.Random) -> list[tuple[int, str]]:
    """Return the token with one character changed, by place: all of the signature, samples of header and payload."""
    header, payload, _ = token.split(".")
    first, second = len(header) + 1, len(header) + len(payload) + 2
    parts = (range(first - 1), range(first, second - 1))
    sampled = [place for part in parts for place in rng.sample(part, min(_SAMPLED, len(part)))]
    changed = []
    for place in [*sorted(sampled), *range(second, len(token))]:
        other = rng.choice([one for one in _ALPHABET if one != token[place]])
        changed.append((place, token[:place] + other + token[place + 1 :]))
    return changed
