"""The ATB credential verifier: says what a certificate or a passport is worth now (profile 8.2)."""
