"""Payments that the rail settles itself, and those that were not served."""
