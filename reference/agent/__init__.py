"""The verifiable-comms agent: verifies, explains and demo-signs RFC 9421 messages, free, offline (specification 6)."""
