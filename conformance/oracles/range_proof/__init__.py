"""The suite's reading of `bulletproofs-ed25519/1`: range proofs verified, and made honestly or not, in plain integers.

Written from the paper (Bünz et al. 2018, sections 3 and 4.2) and the target's profile, on curve arithmetic of its own.
Nothing here guards a secret, so nothing here takes care of timing.
"""
