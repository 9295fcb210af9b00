"""What trust costs: a Falcon-1024 signature verified, and the control plane's log checked."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import orjson
import rfc8785

from reference.protocol import falcon
from reference.protocol.audit_chain import Action, ChainCheck, Entry, Head, StoredEntry, encode_entry, follow
from reference.protocol.credentials import Question, judge
from reference.protocol.envelope import signed_bytes, with_signature
from reference.protocol.keys import falcon_kid
from reference.protocol.time_text import unix_of
from tools.bench.reference.jobs import Contenders, must
from tools.bench.reference.rounds import Contender, repeat_job

_ISSUER = "did:web:bench.example"
_ENTRIES = 5_000
_KEY = bytes(range(32))
_TS_MS = 1_767_225_600_000


@asynccontextmanager
async def falcon_verification(folder: Path) -> AsyncIterator[Contenders]:
    """Verify one signature over a certificate; and judge the credential whole."""
    del folder
    library = cast("falcon.Library", import_module("pqcrypto.sign.falcon_1024"))
    public, secret = library.generate_keypair()
    payload = _certificate(falcon_kid(public))
    message = signed_bytes(payload)
    signature = library.sign(secret, message)
    credential = with_signature(payload, falcon_kid(public), signature)
    question, keys = Question(unix_of("2026-06-01T00:00:00Z"), 60), {_ISSUER: public}
    must(judge(credential, question, keys, library).valid, "our credential did not verify")
    must(not falcon.verify(library, public, message + b" ", signature), "an altered message verified")
    yield [
        Contender("weldproof", "ours", repeat_job(lambda: falcon.verify(library, public, message, signature))),
        Contender("weldproof, a credential", "ours", repeat_job(lambda: judge(credential, question, keys, library))),
        Contender("bare pqcrypto", "floor", repeat_job(lambda: library.verify(public, message, signature))),
    ]


@asynccontextmanager
async def audit_chain(folder: Path) -> AsyncIterator[Contenders]:
    """Check a chain that is in memory, by the entry."""
    del folder
    entries = _chain()
    rows = [encode_entry(entry) for entry in entries]
    contents = [rfc8785.dumps(_select_signed(entry.wire())) for entry in entries]
    lines = [orjson.dumps(entry.wire()) for entry in entries]
    must(_whole(rows), "our chain is broken")
    altered_rows = [*rows[:-1], (*rows[-1][:4], "did:web:x", *rows[-1][5:])]
    must(not _whole(cast("Sequence[StoredEntry]", altered_rows)), "an altered chain is whole")

    def walk(part: Sequence[StoredEntry]) -> None:
        must(_whole(part), "the chain is broken")

    def hash_each(part: Sequence[bytes]) -> None:
        for content in part:
            hashlib.sha256(content).digest()

    def check_plainly(part: Sequence[bytes]) -> None:
        for line in part:
            entry = json.loads(line)
            content = rfc8785.dumps(_select_signed(entry))
            must(hmac.new(_KEY, content, "sha256").hexdigest() == entry["mac"], "the chain is broken")

    yield [
        Contender("weldproof", "ours", _over(rows, walk)),
        Contender("plain SHA-256", "floor", _over(contents, hash_each)),
        Contender("json + rfc8785 + hmac.new", "peer", _over(lines, check_plainly)),
    ]


def _over(entries: Sequence[Any], job: Callable[[Sequence[Any]], None]) -> Callable[[Any], Awaitable[None]]:
    """Return the `run` of a job over a chain, again and again until so many entries were checked."""

    async def run(parts: Sequence[object]) -> None:
        whole, remainder = divmod(len(parts), len(entries))
        for _ in range(whole):
            job(entries)
        job(entries[:remainder])

    return run


def _whole(rows: Sequence[StoredEntry]) -> bool:
    check = ChainCheck(_KEY)
    return check.walk(rows) and check.end() is None


def _select_signed(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "mac"}


def _chain() -> list[Entry]:
    head, entries = Head(), []
    for number in range(_ENTRIES):
        did = f"did:web:issuer-{number}.example"
        payload = {"kid": hashlib.sha256(did.encode()).hexdigest()[:16]}
        action = Action.ISSUER_REGISTERED
        entry = follow(head, _KEY, ts_ms=_TS_MS + number, actor="admin", action=action, subject=did, payload=payload)
        entries.append(entry)
        head = entry.head
    return entries


def _certificate(kid: str) -> dict[str, Any]:
    return {
        "atb_cert_version": "2",
        "bench_issuer": _ISSUER,
        "bench_kid": kid,
        "score": 0.91,
        "passed": True,
        "methodology_version": "atb-v2.1",
        "issued_at": "2026-01-01T00:00:00Z",
        "expires_at": "2027-01-01T00:00:00Z",
        "tasks_total": 120,
        "tasks_passed": 109,
    }
