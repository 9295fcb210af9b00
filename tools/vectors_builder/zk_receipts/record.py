"""`python -m tools.vectors_builder.zk_receipts.record`: draw the proofs, keys and signatures that are missing."""

from __future__ import annotations

from tools.vectors_builder.falcon_envelopes.record import record
from tools.vectors_builder.zk_receipts import FAMILY
from tools.vectors_builder.zk_receipts.making import PROOFS, SIGNER

if __name__ == "__main__":
    record(FAMILY, SIGNER.keys, SIGNER.signatures, PROOFS)
