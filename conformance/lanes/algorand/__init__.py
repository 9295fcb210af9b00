"""The Algorand lane: its node, its payer, and where the payer's money comes from."""
