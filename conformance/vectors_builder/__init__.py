"""Builds the files of `conformance/vectors`, the same bytes each time: `python -m conformance.vectors_builder`."""
