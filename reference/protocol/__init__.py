"""Pure rules of the protocol: bytes and values in, values out, without I/O, a clock or randomness."""
