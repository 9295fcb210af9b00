"""Mutants of the reference as data: the rule that each removes, the edits that remove it, the rows that must catch it."""
