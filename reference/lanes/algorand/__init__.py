"""The Algorand lane: reads its nodes and finds payments."""
