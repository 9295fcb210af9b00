"""The suite's reading of `bulletproofs-ed25519/1`: range proofs verified, and made honestly or not, in plain integers.

Written from the paper (Bünz et al. 2018, sections 3 and 4.2) and the target's profile, on separate curve arithmetic.
Nothing here guards a secret, so timing does not matter.
"""
