"""What pqcrypto says of a receipt's signature, and an independent verifier of the proof."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache

from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.falcon_envelopes.second_opinion import read, said_of
from tools.vectors_builder.zk_receipts.bulletproof_verifier import refusal

# Where the proof is examined, or would be if the fault were corrected.
_PROVEN = frozenset({"valid", "unsupported_alg", "no_public_key", "timestamp_parse", "expired", "proof_invalid"})


def complaints(draft: Draft) -> Iterator[str]:
    """Yield where the second verifier disagrees with a draft."""
    text = str(draft.input["receipt"])
    yield from said_of(draft, text)
    if draft.stage in _PROVEN:
        intended_code = draft.codes[0] if draft.stage == "proof_invalid" else None
        actual_code = _refusal(json.dumps(read(text)["payload"]))
        if actual_code != intended_code:
            yield (
                f"by the second verifier the proof {'holds' if actual_code is None else f'is refused at {actual_code}'}"
            )


@lru_cache(maxsize=256)
def _refusal(payload: str) -> str | None:
    """Return what the second verifier says of a payload; many receipts differ in their envelope alone."""
    return refusal(json.loads(payload))
