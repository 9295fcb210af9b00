"""The Solana lane: its node, its payer, the suite's program, and where the payer's money comes from."""
