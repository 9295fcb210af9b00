"""Example breaches of the requirements: recorded with named mutants, and kept as data."""
