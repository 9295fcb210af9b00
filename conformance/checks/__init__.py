"""The checks, one folder a surface."""
