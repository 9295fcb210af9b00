"""The chains of a stack: a folder a lane, and one line in `registry`."""
