"""The weld on Algorand."""
