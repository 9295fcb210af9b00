"""`python -m tools.bench.offline WHO SECONDS GIVEN`: the suite's own verifier on a receipt, in turns.

WHO is `verifier`, or `cryptography` for the bare signature check that it rests on. GIVEN is a JSON file with `jws` and
`jwks`. The first line printed says that it is ready, each later one answers a line that was read: CPU microseconds a
receipt, as a number.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from conformance.oracles.ed25519_keys import decode_base64url, key_of_jwk
from conformance.oracles.receipts import verify_receipt

_FIRST_COUNT = 16
_MICRO = 1_000_000

Job = Callable[[], object]


def _verifier(material: Mapping[str, Any]) -> Job:
    return lambda: verify_receipt(material["jws"], material["jwks"])


def _cryptography(material: Mapping[str, Any]) -> Job:
    signing_input, _, signature = material["jws"].rpartition(".")
    key = Ed25519PublicKey.from_public_bytes(key_of_jwk(material["jwks"]["keys"][0]).raw)
    message, raw = signing_input.encode("ascii"), decode_base64url(signature)
    return lambda: key.verify(raw, message)


VERIFIERS: Mapping[str, Callable[[Mapping[str, Any]], Job]] = {"verifier": _verifier, "cryptography": _cryptography}


def main(words: Sequence[str]) -> None:
    """Do the rounds that are asked for."""
    name, seconds, material_path = words
    job = VERIFIERS[name](json.loads(Path(material_path).read_text("utf-8")))
    count = _FIRST_COUNT
    while (cost := _round(job, count)) * count < float(seconds) / 4 * _MICRO:
        count *= 4
    count = max(1, round(float(seconds) * _MICRO / cost))
    click.echo(json.dumps({"ready": True}))
    for _ in sys.stdin:
        click.echo(json.dumps(_round(job, count)))


def _round(job: Job, count: int) -> float:
    before = time.process_time()
    for _ in range(count):
        job()
    return (time.process_time() - before) / count * _MICRO


if __name__ == "__main__":
    main(sys.argv[1:])
