"""The control plane: trust set of issuers, services that share it, their posture, and the log (specification 7)."""
