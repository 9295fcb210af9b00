"""A simulated Solana: the real SVM and its token programs behind Solana's JSON-RPC and WebSocket.

Real: execution, signatures, rent, compute units, account locks, lookup tables, token, associated-token-account and memo
programs, and programs that clients deploy. Simulated: slots, blockhash window, commitment, the ledger and its index.
Left out: votes, stake and rewards, skipped slots, blocks' leaders, and durable nonces (BlockhashNotFound).
"""
