"""Judgements of log and trust set that several checks of the control plane share."""
