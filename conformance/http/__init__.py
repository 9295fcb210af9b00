"""Talking HTTP to a target: sent through one recording client, in bounded time, with no secret in the log."""
