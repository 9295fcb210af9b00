"""A2A 0.3 over JSON-RPC, as every surface that offers it."""
