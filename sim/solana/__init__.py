"""A simulated Solana: the real SVM and its token programs behind Solana's JSON-RPC and WebSocket."""
