"""Payments on Algorand as checks make them."""
