"""The ZK receipt's proof `bulletproofs-ed25519/1`: a committed score is not below a threshold (8.4).

It shows only that the prover knows how to open `C - threshold*G` to a value in [0, 2^64). Nothing shows that the score
is true. It is sound if discrete logarithms are hard and SHA-512 is a random oracle, and it is perfectly hiding. It is a
proof system of this project and has not been audited. The number of group operations of a proof does not depend on the
score. Scalars are computed by Python, whose time depends on the numbers, so an attacker that measures the prover's time
precisely may learn about them.
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
