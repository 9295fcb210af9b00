"""A simulated Algorand: an algod and an indexer over one in-memory ledger."""
