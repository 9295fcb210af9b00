"""Judgements of paid and refused calls that several checks of the rail share."""
