"""Any verifier, in any language, over the vectors: a process that is asked line by line, and what it answers."""
