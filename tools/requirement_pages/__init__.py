"""The page of each requirement, and the breaches that are shown on them: recorded of named mutants, kept as data."""
