"""The federation validator: credentials of trusted issuers in, short-lived tokens out (8.3)."""
