"""`python -m tools.vectors_builder.zk_receipts.recording_command`: draw missing proofs, keys and signatures."""

from __future__ import annotations

from tools.vectors_builder.falcon_envelopes.recording_command import record
from tools.vectors_builder.zk_receipts import FAMILY
from tools.vectors_builder.zk_receipts.making import PROOFS, SIGNER

if __name__ == "__main__":
    record(FAMILY, SIGNER.keys, SIGNER.signatures, PROOFS)
