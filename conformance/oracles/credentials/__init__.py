"""The suite's reading of credentials, tokens and ZK receipts: one envelope, judged in one order (specification 8)."""
