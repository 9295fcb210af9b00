"""Checks of the gateway in the words of Base's transactions."""
