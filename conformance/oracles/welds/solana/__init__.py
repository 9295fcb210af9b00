"""The weld on Solana."""
