"""The requirements as data."""
