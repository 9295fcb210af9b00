"""Hosted checkout pages as a payer sees them: their text, their QR codes, and the state that they show."""
