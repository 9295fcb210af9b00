"""The control plane: the trust set of issuers, the services that share it, their posture, and the log (profile 7)."""
