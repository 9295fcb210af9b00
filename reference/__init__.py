"""The reference implementation: what a service that keeps the interface looks like."""
