"""Mutants of the reference as data: the rule each removes, its edits, and the rows that must catch it."""
