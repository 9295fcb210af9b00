"""A simulated Base: a real EVM behind Ethereum's JSON-RPC, with a real EIP-3009 token at USDC's address."""
