"""TLS listener with an untrusted certificate: a sender that delivers to it has not checked the certificate."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_HOST = "127.0.0.1"
_CHUNK = 65_536
_ANSWER = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


@dataclass(slots=True)
class UntrustedListener:
    """A listener and what it has received.

    Attributes:
        port: Its port on loopback.
        connection_count: How many connections came.
        byte_count: How many bytes came inside of TLS.
    """

    port: int = 0
    connection_count: int = 0
    byte_count: int = 0

    @property
    def url(self) -> str:
        """Its address, whose host the certificate names."""
        return f"https://{_HOST}:{self.port}/hooks"


@asynccontextmanager
async def untrusted_listener() -> AsyncIterator[UntrustedListener]:
    """Listen on loopback with a self-signed certificate until the context is left."""
    listener = UntrustedListener()
    context = _context()
    # The callback runs before the handshake ends, so that a sender that rejects the certificate is
    # counted too.
    context.sni_callback = lambda *_: _count(listener)

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # Bytes inside of TLS prove that the sender accepted the certificate.
            listener.byte_count += len(await reader.read(_CHUNK))
            if listener.byte_count:
                writer.write(_ANSWER)
                await writer.drain()
        except (OSError, ssl.SSLError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(take, _HOST, 0, ssl=context)
    listener.port = server.sockets[0].getsockname()[1]
    try:
        yield listener
    finally:
        server.close()


def _count(listener: UntrustedListener) -> None:
    listener.connection_count += 1


def _context() -> ssl.SSLContext:
    """Return a server's context with a new key and a self-signed certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "untrusted test certificate")])
    now = dt.datetime.now(dt.UTC)
    # Valid in every other respect, so that only the unknown issuer is a reason to reject it.
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(_HOST))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    with tempfile.TemporaryDirectory(prefix="weldproof-untrusted-") as folder:
        path = Path(folder) / "both.pem"
        path.write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()) + certificate.public_bytes(pem))
        context.load_cert_chain(path)
    return context
