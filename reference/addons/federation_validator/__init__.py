"""The federation validator: credentials of trusted issuers in, short-lived tokens out (profile 8.3)."""
