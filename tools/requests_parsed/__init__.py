"""Requests that checks send, parsed back by a second parser: each holds the fault that it should, and no other.

`capture` notes what the suite puts on its sockets, `judged` reads it with parsers that the suite does not use (the
standard library's JSON, `jsonschema`, and readers of our own for HTTP, structured fields, msgpack, secp256k1 and
Solana's wire form), and `table` holds it against what each check may send.
"""
