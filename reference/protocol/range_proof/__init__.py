"""The ZK receipt's proof `bulletproofs-ed25519/1`: a committed score is not below a threshold (8.4).

What it shows, no more: whoever made the proof knows how to open `C - threshold*G` to a value in [0, 2^64). Nothing
shows that the score is true. It is sound where discrete logarithms are hard and SHA-512 is a random oracle, and
perfectly hiding. It is our own and nobody has audited it. How many group operations a proof takes does not depend on
the score; arithmetic on scalars is Python's, whose time depends on the numbers: whoever can time the prover finely is
not kept from learning of them.
"""

from reference.protocol.range_proof.faults import ProofInvalid, Stage
from reference.protocol.range_proof.nonces import NONCE_BYTES, Nonces
from reference.protocol.range_proof.proof import PROOF_BYTES, RangeProof
from reference.protocol.range_proof.proving import Opening, commit, prove
from reference.protocol.range_proof.statement import Statement
from reference.protocol.range_proof.transcript import SYSTEM
from reference.protocol.range_proof.verifying import check

__all__ = [
    "NONCE_BYTES",
    "PROOF_BYTES",
    "SYSTEM",
    "Nonces",
    "Opening",
    "ProofInvalid",
    "RangeProof",
    "Stage",
    "Statement",
    "check",
    "commit",
    "prove",
]
