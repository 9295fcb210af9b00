"""The weld on Base."""
