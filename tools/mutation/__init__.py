"""Mutants made by rule: places of the reference's syntax, operators over them, and the suite's rows that reach each."""
