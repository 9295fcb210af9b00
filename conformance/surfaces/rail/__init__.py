"""The pay rail as a payer uses it: discovered, asked for a challenge, paid, and asked over A2A."""
