"""Builds the files of `conformance/vectors`, the same bytes each time: `python -m tools.vectors_builder`."""
