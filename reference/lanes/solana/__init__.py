"""The Solana lane: its node asked, and payments found."""
