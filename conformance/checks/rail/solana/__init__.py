"""Checks of the pay rail on Solana."""
