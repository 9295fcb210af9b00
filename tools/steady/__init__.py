"""Whole runs of the suite again and again, under load that a machine may have: each has to give the same verdicts."""
