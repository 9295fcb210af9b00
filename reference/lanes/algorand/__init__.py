"""The Algorand lane: its node asked, and payments found."""
