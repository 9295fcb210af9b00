"""The suite's own RFC 9421 and RFC 9530: read, name faults, verify, sign. Pure, on http-sfv and cryptography."""
