"""Algorand in a stack: its simulator, its real node, and what services are given about it."""
