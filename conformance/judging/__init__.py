"""Judgements that several checks share: each says of rows what was found, as a check does."""
