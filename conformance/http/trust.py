"""TLS trust: which certificates of a target are accepted."""

from __future__ import annotations

import ssl

from conformance.target import ProfileError, Tls


def make_context(tls: Tls) -> ssl.SSLContext | None:
    """Return the context that verifies certificates; None for the authorities that this machine trusts.

    Raises:
        ProfileError: The file of authorities cannot be read, or contains no certificate.
    """
    if tls.insecure:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if tls.cacert is None:
        return None
    try:
        return ssl.create_default_context(cafile=str(tls.cacert))
    except ssl.SSLError as fault:
        raise ProfileError(f"{tls.cacert}: no certificate in PEM form in it ({fault.reason or fault})") from fault
    except OSError as fault:
        raise ProfileError(f"cannot read {tls.cacert}: {fault.strerror}") from fault
