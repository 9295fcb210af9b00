"""A2A 0.3 over JSON-RPC, for every surface that has it."""
