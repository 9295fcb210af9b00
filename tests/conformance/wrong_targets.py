"""Servers that are no target of the suite, each in its own way: what a user points it at by mistake."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import ipaddress
import json
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
_PIECE = b"x" * 65_536
_UPSTREAM_SECONDS = 0.05


async def _request(reader: asyncio.StreamReader) -> tuple[str, str]:
    """Read one request and return its method and target."""
    if (first := await reader.readexactly(1)) == b"\x16":
        raise ValueError("that is TLS")
    head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, target, _ = head.split(" ", 2)
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            await reader.readexactly(int(value))
    return method, target


def answer_all(status: str, body: bytes, *fields: str, kind: str = "application/json") -> Serve:
    """Return what gives every request one answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *fields, "", ""]
    answer = "\r\n".join(lines).encode() + body

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await _request(reader)
            writer.write(answer)
            await writer.drain()

    return serve


async def whole_request(reader: asyncio.StreamReader) -> bytes:
    """Read one request with its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = (line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return head + await reader.readexactly(int(next(lengths, b"0")))


def read_again(request: bytes) -> asyncio.StreamReader:
    """Return a reader of one request that was read already."""
    reader = asyncio.StreamReader()
    reader.feed_data(request)
    reader.feed_eof()
    return reader


def dropping_half_closed(serve: Serve) -> Serve:
    """Return a server behind a proxy such as nginx, which drops a request when the client closes its writing side."""

    async def behind(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await whole_request(reader)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reader.read(1), _UPSTREAM_SECONDS)
            return
        await serve(read_again(request), writer)

    return behind


def send_bytes(data: bytes, *, reading: bool = True) -> Serve:
    """Return what sends bytes, after a request unless it does not read, and closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if reading:
            await _request(reader)
        writer.write(data)
        await writer.drain()

    return serve


def routing(answers: Mapping[tuple[str, str], tuple[int, object]]) -> Serve:
    """Return what answers each (method, target) with its status and JSON, and everything else with 404."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            status, value = answers.get(await _request(reader), (404, {"error": "not_found"}))
            body = json.dumps(value).encode()
            lines = [f"HTTP/1.1 {status} x", "Content-Type: application/json", f"Content-Length: {len(body)}", "", ""]
            writer.write("\r\n".join(lines).encode() + body)
            await writer.drain()

    return serve


async def hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take everything and say nothing."""
    del writer
    while await reader.read(65_536):
        continue


async def drips(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Begin an answer of a gigabyte, and send a byte now and then."""
    await _request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def never_ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send as much as any client takes."""
    await _request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while True:
        writer.write(_PIECE)
        await writer.drain()


async def resets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Reset the connection once something came."""
    await reader.read(1)
    sock = writer.get_extra_info("socket")
    sock.setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER of no seconds: what follows a close is a reset
    writer.transport.abort()


@dataclass(frozen=True)
class Certificates:
    """A server's certificate for 127.0.0.1 that only its own authority vouches for.

    Attributes:
        authority: File of the authority's certificate.
        server: What a server speaks TLS with.
    """

    authority: Path
    server: ssl.SSLContext


def certificates(folder: Path, *, host: str = "127.0.0.1", days: int = 1) -> Certificates:
    """Make an authority and a certificate; with days below 0 it has lapsed."""
    root, root_key = _sign_certificate("Weldproof test authority", None, None, days=1)
    leaf, leaf_key = _sign_certificate(host, root, root_key, days=days)
    chain, key = folder / "server.pem", folder / "server.key"
    chain.write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    key.write_bytes(leaf_key.private_bytes(*form))
    (folder / "authority.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return Certificates(folder / "authority.pem", context)


def _sign_certificate(
    name: str, issuer: x509.Certificate | None, issuer_key: ec.EllipticCurvePrivateKey | None, *, days: int
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=3))
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if issuer is not None and issuer_key is not None:
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(name))])
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
        builder = builder.add_extension(names, critical=False).add_extension(authority, critical=False)
    else:
        usage = x509.KeyUsage(
            digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
            key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        builder = builder.add_extension(usage, critical=True)
    return builder.sign(issuer_key or key, hashes.SHA256()), key


@contextmanager
def serve_connections(serve: Serve, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve each connection so, in a thread, and yield the place, 127.0.0.1 and its port."""
    ready, place = threading.Event(), []
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except ValueError:
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        with contextlib.suppress(OSError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(connection, "127.0.0.1", 0, ssl=tls)
        place.append(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
        ready.set()
        await over.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield place[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
