"""A payment in a request to the rail: every way in which it is not the honest one of a live challenge.

Each syntax fault is read over, as a forgiving server would, so that what lies beneath it is seen as well: two faults in
one request decide nothing. Remarks in parentheses are reported but are no faults.
"""

from __future__ import annotations

import base64
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from tools.requests_parsed import algorand, base, plain_json, solana
from tools.requests_parsed.http1 import Request

_MINED_MEMBERS: Final = {"tx_id", "payment_reference"}
_BASE: Final = {"authorization", "signature", "challenge_token"}
_STOCK: Final = ("x402Version", "scheme", "accepted", "payload")
_STANDARD: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


@dataclass(frozen=True, slots=True)
class Challenge:
    """One entry of a 402: its lane, the entry, and the request that it was asked for; None for one of a task."""

    lane: str
    entry: Mapping[str, Any]
    request: tuple[str, str, str, str] | None


@dataclass(slots=True)
class World:
    """Earlier challenges by token, transactions by id, and payments that bought something."""

    challenges: dict[str, Challenge] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)
    algorand: dict[str, algorand.Transfer] = field(default_factory=dict)
    solana: dict[str, solana.Transaction] = field(default_factory=dict)
    served_proofs: set[str] = field(default_factory=set)

    def learn(self, request: Request, document: Any) -> None:
        """Keep the challenges of a 402, and of a task that waits for its payment, which binds another request."""
        values = [document]
        while values:
            value = values.pop()
            if isinstance(value, dict):
                is_task = value is not document
                self._keep(value.get("accepts"), None if is_task else binding_of(request))
                values += value.values()
            elif isinstance(value, list):
                values += value

    def _keep(self, accepts: Any, request: tuple[str, str, str, str] | None) -> None:
        for entry in accepts if isinstance(accepts, list) else []:
            try:
                token, lane = entry["extra"]["payment_reference"], entry["network"].partition(":")[0]
            except (KeyError, TypeError, AttributeError):
                continue
            self.challenges[token] = Challenge(lane, entry, request)
            if "svm_reference_pubkey" in entry["extra"]:
                self.references[entry["extra"]["svm_reference_pubkey"]] = token


def binding_of(request: Request) -> tuple[str, str, str, str]:
    """Return what a challenge binds of a request: method, path, query, body as a JSON value."""
    value, faults = plain_json.read(request.body)
    return request.method, request.path, request.query, repr(request.body if faults else _sort_members(value))


def _sort_members(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted((name, _sort_members(inner)) for name, inner in value.items())
    return [_sort_members(inner) for inner in value] if isinstance(value, list) else value


def deviations(request: Request, world: World, now: float) -> tuple[set[str], str | None]:
    """Return how the payment of a request deviates, and what makes it unique where it can be read."""
    values = request.values("x-payment") or request.values("payment-signature")
    fault_set = set()
    if not request.values("x-payment"):
        fault_set.add("payment in PAYMENT-SIGNATURE")
    decoded_proof, faults = decode(values[0].decode("latin-1"))
    fault_set |= faults
    if decoded_proof is None:
        return fault_set, None
    proof, faults = plain_json.read(decoded_proof)
    fault_set |= {f"X-PAYMENT: {fault}" for fault in faults}
    if proof is None and faults:
        return fault_set, None
    more, key = of_proof(proof, request, world, now)
    return fault_set | more, key


def decode(text: str) -> tuple[bytes | None, set[str]]:
    """Return what base64 holds, read forgivingly, and what is not standard padded base64."""
    faults: set[str] = set()
    plain = text
    if not text:
        return None, {"X-PAYMENT: empty"}
    if not _STANDARD.fullmatch(text):
        faults.add("X-PAYMENT: not base64")
        plain = unquote(text).replace("-", "+").replace("_", "/").removeprefix("Bearer").split(",")[0]
        plain = "".join(one for one in plain if one in string.ascii_letters + string.digits + "+/")
        plain = plain[: len(plain) - 1] if len(plain) % 4 == 1 else plain
        plain += "=" * (-len(plain) % 4)
    decoded_bytes = base64.b64decode(plain)
    if not faults and base64.b64encode(decoded_bytes).decode() != text:
        faults.add("X-PAYMENT: spare bits of base64 set")
    return decoded_bytes, faults


def of_proof(proof: Any, request: Request, world: World, now: float) -> tuple[set[str], str | None]:
    """Return how a proof deviates, and its payment."""
    if isinstance(proof, list) and len(proof) == 1:
        inner, key = of_proof(proof[0], request, world, now)
        return inner | {"proof: inside an array"}, key
    if not isinstance(proof, dict):
        return {"proof: no object"}, None
    if any(name in proof for name in _STOCK):
        return {"proof: of a stock client"}, None
    shape = next((one for one in (_MINED_MEMBERS, _BASE) if one <= set(proof)), None)
    if shape is None:
        return {"proof: a member is missing or has another name"}, None
    faults = _of_members(proof, shape)
    token = proof["payment_reference" if shape == _MINED_MEMBERS else "challenge_token"]
    challenge = world.challenges.get(token) if isinstance(token, str) else None
    if challenge is not None:
        faults |= _other_request(request, challenge, now)
    else:
        if not any(one.startswith("proof: a") for one in faults):
            faults.add(_unknown_token(token, world))
        challenge = _challenge_paid(proof, shape, world)
    if challenge is None:
        return faults, None
    more, key = _payment(proof, shape, challenge, world, now)
    faults |= more | ({"spent"} if key in world.served_proofs else set())
    if proof.get("network") not in (None, challenge.entry["network"]):
        faults.add("proof: network of another lane")
    return faults, key


def _of_members(proof: Mapping[str, Any], shape: set[str]) -> set[str]:
    """Return what the names and types of a proof's members deviate in."""
    more, faults = set(proof) - shape, set()
    if more & (_MINED_MEMBERS | _BASE):
        faults.add("proof: of both shapes")
    if "network" in more:
        faults.add("(proof: with its network)")
    if more - _MINED_MEMBERS - _BASE - {"network"}:
        faults.add("(proof: a member more)")
    texts = [proof[name] for name in sorted(shape - {"authorization"})]
    if any(not isinstance(one, str) for one in texts):
        faults.add("proof: a member of another type")
    elif not all(one.strip() for one in texts):
        faults.add("proof: an empty member")
    return faults


def _challenge_paid(proof: Mapping[str, Any], shape: set[str], world: World) -> Challenge | None:
    """Return the challenge that a payment is welded to, to examine its other members even if the token is wrong."""
    if shape == _MINED_MEMBERS and isinstance(proof["tx_id"], str):
        algorand_transfer = world.algorand.get(proof["tx_id"])
        if algorand_transfer is not None:
            return world.challenges.get(algorand_transfer.fields.get("note", b"").decode("utf-8", "replace"))
        solana_transfer = world.solana.get(proof["tx_id"])
        for _, accounts, _ in solana_transfer.instructions if solana_transfer is not None else ():
            for account in accounts:
                if account in world.references:
                    return world.challenges[world.references[account]]
    return None


def _unknown_token(token: str, world: World) -> str:
    plain = {one.strip().lower() for one in (token, unquote(token))}
    return "token: altered spelling" if plain & set(world.challenges) else "token: never issued"


def _other_request(request: Request, challenge: Challenge, now: float) -> set[str]:
    mine = binding_of(request)
    theirs = challenge.request or mine
    names = ("method", "path", "query", "body")
    differences = {
        f"request: another {name}" for name, one, other in zip(names, mine, theirs, strict=True) if one != other
    }
    issue_time = re.match(r"(\d{10}):", challenge.entry["extra"]["payment_reference"])
    if issue_time and int(issue_time[1]) + challenge.entry["maxTimeoutSeconds"] < now:
        differences.add("challenge: expired")
    # Another operation has another path and mostly another body: that is one thing.
    return differences - {"request: another body"} if "request: another path" in differences else differences


def _payment(
    proof: Mapping[str, Any], shape: set[str], challenge: Challenge, world: World, now: float
) -> tuple[set[str], str | None]:
    if shape == _BASE:
        if challenge.lane != "eip155":
            return {"proof: of another lane"}, None
        values = base.terms_of(proof["authorization"])
        if not isinstance(proof["signature"], str) or not proof["signature"].strip():
            return set(), None
        key = None if values is None else f"{values[0]:x}:{values[5]:x}"
        return base.deviations(proof, challenge.entry, world.challenges, now), key
    if challenge.lane == "eip155":
        return {"proof: of another lane"}, None
    tx_id = proof["tx_id"]
    if not isinstance(tx_id, str) or not tx_id.strip():
        return set(), None
    lane_transactions: Mapping[str, Any] = world.algorand if challenge.lane == "algorand" else world.solana
    other_transactions: Mapping[str, Any] = world.solana if challenge.lane == "algorand" else world.algorand
    if tx_id in lane_transactions:
        if challenge.lane == "algorand":
            return algorand.deviations(lane_transactions[tx_id], challenge.entry, world.challenges), tx_id
        return solana.deviations(lane_transactions[tx_id], challenge.entry, world.references), tx_id
    if tx_id in other_transactions:
        return {"token: of another lane"}, tx_id
    spelt = _spelt(tx_id, lane_transactions) if challenge.lane == "algorand" or tx_id.strip() != tx_id else None
    return {f"transaction: {'in another spelling' if spelt else 'unknown'}"}, spelt


def _spelt(tx_id: str, known_transactions: Mapping[str, Any]) -> str | None:
    """Return the transaction whose id a text means in another spelling."""
    text = unquote(tx_id).strip().strip("\0=").removeprefix("0x")
    for spelling in (text, text.upper()):
        if spelling in known_transactions:
            return spelling
        near = [
            spelling[:-1] + last
            for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
            if spelling[:-1] + last in known_transactions
        ]
        if near and len(spelling) == len(near[0]):
            return near[0]
    return None
