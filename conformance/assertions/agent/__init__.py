"""Judgements of verdicts and explanations that several checks of the agent share."""
