"""Assertions that several checks share: each judges an answer by the rows that its caller names."""
