"""Judgements of creating calls and limits that several checks of the gateway share."""
