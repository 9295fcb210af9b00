"""The Solana lane: reads its node and finds payments."""
