"""Text of strangers, made safe for terminals, JSON, files and shells."""
