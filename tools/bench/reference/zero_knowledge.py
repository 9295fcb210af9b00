"""What a ZK receipt's proof costs, beside the bare group operations that it cannot do without."""

from __future__ import annotations

import base64
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from nacl import bindings

from reference.protocol import falcon
from reference.protocol.credentials import Question
from reference.protocol.envelope import signed_bytes, with_signature
from reference.protocol.keys import falcon_kid
from reference.protocol.range_proof import NONCE_BYTES, Nonces, ProofInvalid, Statement, check, edwards_group, prove
from reference.protocol.zk_receipts import build_proven_payload, judge_receipt
from tools.bench.reference.jobs import Contenders, must
from tools.bench.reference.rounds import Contender, repeat_job

_WHOLE = "weldproof, a receipt"
_SCORE, _THRESHOLD = 912, 700
_NOW = 1_790_000_000
_PAYMENT = {
    "payment_id": "pay_1",
    "chain": "algorand_mainnet",
    "amount_microusd": 50_000,
    "recipient": "7777777777777777777777777777777777777777777777777774MSJUVU",
    "tx_id": "A" * 52,
    "settled_at": "2026-06-01T12:00:00Z",
}


@asynccontextmanager
async def proof_made(folder: Path) -> AsyncIterator[Contenders]:
    """Prove that a score reaches a threshold; and issue the receipt whole, with commitment and signature."""
    del folder
    library, keys = _falcon()
    nonces = _draw_nonces()
    statement = Statement.of(_payload(nonces))

    def ours() -> None:
        prove(statement, _SCORE, nonces)

    def issue_once() -> None:
        _receipt(_draw_nonces(), library, keys)

    yield [
        Contender("weldproof", "ours", repeat_job(ours)),
        Contender(_WHOLE, "ours", repeat_job(issue_once)),
        _bare(ours),
    ]


@asynccontextmanager
async def proof_verified(folder: Path) -> AsyncIterator[Contenders]:
    """Verify such a proof; and judge the receipt whole: envelope, signature, times, proof."""
    del folder
    library, keys = _falcon()
    payload, receipt = _receipt(_draw_nonces(), library, keys)
    statement, proof = Statement.of(payload), base64.b64decode(payload["proof_b64"])
    question = Question(_NOW, 60)
    must(not _holds(statement, proof[:-32] + edwards_group.encode_scalar(5)), "an altered proof verified")

    def ours() -> None:
        check(statement, proof)

    def judge_once() -> None:
        answer = judge_receipt(receipt, question, {}, library, own_keys=[keys.public])
        must(answer.judgement.valid, "our receipt did not verify")

    yield [
        Contender("weldproof", "ours", repeat_job(ours)),
        Contender(_WHOLE, "ours", repeat_job(judge_once)),
        _bare(ours),
    ]


@dataclass(frozen=True, slots=True)
class _KeyPair:
    public: bytes
    secret: bytes


def _falcon() -> tuple[falcon.Library, _KeyPair]:
    library = cast("falcon.Library", import_module("pqcrypto.sign.falcon_1024"))
    return library, _KeyPair(*library.generate_keypair())


def _draw_nonces() -> Nonces:
    return Nonces.of(secrets.token_bytes(NONCE_BYTES))


def _payload(nonces: Nonces) -> dict[str, Any]:
    return build_proven_payload(
        _PAYMENT,
        bench_issuer="did:web:bench.example",
        score=_SCORE,
        threshold=_THRESHOLD,
        now=_NOW,
        ttl=600,
        nonces=nonces,
    )


def _receipt(nonces: Nonces, library: falcon.Library, keys: _KeyPair) -> tuple[dict[str, Any], str]:
    payload = _payload(nonces)
    signature = library.sign(keys.secret, signed_bytes(payload))
    return payload, with_signature(payload, falcon_kid(keys.public), signature)


def _holds(statement: Statement, proof: bytes) -> bool:
    try:
        check(statement, proof)
    except ProofInvalid:
        return False
    return True


def _bare(job: Callable[[], object]) -> Contender:
    """Return the group operations that a job makes, and nothing else: recorded once, then repeated."""
    calls = _record_calls(job)

    def repeat() -> None:
        for operation, arguments in calls:
            operation(*arguments)

    additions = (bindings.crypto_core_ed25519_add, bindings.crypto_core_ed25519_sub)
    multiplications = sum(operation not in additions for operation, _ in calls)
    must(multiplications > 100, "no group operations were recorded")
    return Contender("bare group operations", "floor", repeat_job(repeat))


def _record_calls(job: Callable[[], object]) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
    names = (
        "crypto_core_ed25519_add",
        "crypto_core_ed25519_sub",
        "crypto_core_ed25519_is_valid_point",
        "crypto_scalarmult_ed25519_noclamp",
        "crypto_scalarmult_ed25519_base_noclamp",
    )
    clean = {name: getattr(bindings, name) for name in names}

    def make_recorder(operation: Callable[..., Any]) -> Callable[..., Any]:
        def record(*arguments: Any) -> Any:
            calls.append((operation, arguments))
            return operation(*arguments)

        return record

    try:
        for name, operation in clean.items():
            setattr(bindings, name, make_recorder(operation))
        job()
    finally:
        for name, operation in clean.items():
            setattr(bindings, name, operation)
    return calls
