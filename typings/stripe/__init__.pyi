# What is used of stripe, to check the vectors and in tests: its own types are 1,600 modules, a seventh of mypy's time.

class SignatureVerificationError(Exception): ...

class WebhookSignature:
    @classmethod
    def verify_header(
        cls, payload: str | bytes, header: str | None, secret: str | None, tolerance: int | None = None
    ) -> bool: ...
