"""Calls and answers over HTTP, as every surface handles them."""
