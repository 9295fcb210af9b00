"""RAIL-RCPT-01 to -03 and -08 to -10: the signature of the payable receipt."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.oracles import jose
from conformance.oracles.ed25519_keys import Ed25519Key
from conformance.surfaces.rail.keys import published_keys
from conformance.surfaces.rail.purchase import Purchase
from conformance.surfaces.rail.receipts import buy_receipt

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
# Header and payload are long, and each character is under the same signature. The signature itself is changed at every
# place.
_SAMPLE_SIZE = 24


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
    set_keys, did_keys = await published_keys(case)
    # Drawn before the operations run concurrently, so that the changes depend on the seed and not on their order.
    seeds = [case.rng.getrandbits(64) for _ in case.session.catalog.operations]

    async def judge_operation(operation: Operation, seed: int) -> None:
        sale, token = await buy_receipt(case, operation)
        _judge_signature(case, sale, token, set_keys, did_keys)
        keys = set_keys or did_keys
        if jose.fault_of(token, keys) is None:
            rng = random.Random(seed)  # noqa: S311 - repeatable on purpose
            survivors = [place for place, text in change_each_once(token, rng) if jose.fault_of(text, keys) is None]
            where = {"operation": operation.path}
            case.expect("RAIL-RCPT-09", not survivors, "no changed receipt verifies", survivors, where=where)

    await run_concurrently(map(judge_operation, case.session.catalog.operations, seeds))


def _judge_signature(
    case: Case, sale: Purchase, token: str, set_keys: list[Ed25519Key], did_keys: list[Ed25519Key]
) -> None:
    where = {"operation": sale.operation.path}
    header = _read_header(token)
    is_eddsa = header.get("alg") in jose.ALGORITHMS
    case.expect("RAIL-RCPT-01", is_eddsa, "alg EdDSA", header.get("alg"), exchange=sale.answer, where=where)
    # Three rows for one signature: a verifier may use either document, or keys that it saved earlier.
    for row, keys, expectation in (
        ("RAIL-RCPT-02", set_keys, "verifies under jwks.json"),
        ("RAIL-RCPT-03", did_keys, "verifies under did.json"),
        ("RAIL-RCPT-08", set_keys or did_keys, "verifies with saved keys"),
    ):
        fault = jose.fault_of(token, keys)
        case.expect(row, fault is None, expectation, fault, exchange=sale.answer, where=where)
    kid = header.get("kid")
    is_known = kid is None or is_published(kid, [*set_keys, *did_keys])
    case.expect("RAIL-RCPT-10", is_known, "a kid of the published set", kid, exchange=sale.answer, where=where)


def is_published(kid: Any, keys: Sequence[Ed25519Key]) -> bool:
    """Return whether a header's `kid` names one of the keys, by itself or as the fragment of a DID URL."""
    # A kid may be a plain name or a DID URL. In the second form the fragment names the key.
    return isinstance(kid, str) and not {kid, kid.rpartition("#")[2]}.isdisjoint(key.kid for key in keys if key.kid)


def _read_header(token: str) -> Mapping[str, Any]:
    try:
        return jose.parse(token).header
    except jose.JwsFault:
        return {}


def change_each_once(token: str, rng: random.Random) -> list[tuple[int, str]]:
    """Return the token with one character changed, by place: all of the signature, samples of header and payload."""
    header, payload, _ = token.split(".")
    first, second = len(header) + 1, len(header) + len(payload) + 2
    parts = (range(first - 1), range(first, second - 1))
    places = [place for part in parts for place in rng.sample(part, min(_SAMPLE_SIZE, len(part)))]
    changes = []
    for place in [*sorted(places), *range(second, len(token))]:
        other_character = rng.choice([one for one in _ALPHABET if one != token[place]])
        changes.append((place, token[:place] + other_character + token[place + 1 :]))
    return changes
