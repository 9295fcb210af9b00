"""`weldproof`, which forks `tests.outside.judged_payer` where it is the command of a payer under test."""
