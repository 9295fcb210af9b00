"""Checks of the gateway in the words of Solana's transactions."""
