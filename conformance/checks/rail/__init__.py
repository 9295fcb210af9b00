"""Checks of the pay rail."""
