"""The clauses of the published specification as data: `python -m tools.clauses` reads docs/spec and writes them."""
