"""The conformance suite: a verdict per requirement for any implementation."""
