"""The Base lane: its node, its payer, the suite's contracts, and where the payer's money comes from."""
