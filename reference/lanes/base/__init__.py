"""The Base lane: its node asked and told to settle, and payments found."""
