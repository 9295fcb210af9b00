"""Simulated chains that speak the real node protocols."""
