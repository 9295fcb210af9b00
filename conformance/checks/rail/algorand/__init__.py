"""Checks of the pay rail on Algorand."""
