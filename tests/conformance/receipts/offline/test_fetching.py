"""Documents are fetched within bounds: no redirect, no proxy, no large answer, no waiting without end."""

from __future__ import annotations

import json
import socket
from threading import Event, Thread

import pytest

from conformance.oracles.ed25519_keys import KeyFault
from conformance.receipts.offline.fetching import LARGEST, AddressRefused, NotFetched, fetch_document
from conformance.receipts.offline.key_sources import of_did
from tests.conformance.receipts.offline.served_documents import serve_documents
from tests.conformance.receipts.offline.signed_receipts import did_document
from tests.reserved_port import reserved_port


def test_a_document_of_this_machine_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """By http, path and query as they are, whatever proxy the environment names."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serve_documents({"/a?b=c": (200, {}, b"text")}) as port:
        assert fetch_document(f"http://127.0.0.1:{port}/a?b=c") == b"text"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((302, {"Location": "/other"}, b""), "redirects"),
        ((404, {}, b""), "answered 404"),
        ((200, {}, b"a" * (LARGEST + 1)), "more than"),
        ((200, {"Content-Length": "10"}, b"short"), "broke off|IncompleteRead"),
    ],
)
def test_other_answers_are_none(answer: tuple[int, dict[str, str], bytes], why: str) -> None:
    """Redirects, errors, answers that are too large or too short."""
    with serve_documents({"/": answer, "/other": (200, {}, b"x")}) as port, pytest.raises(NotFetched, match=why):
        fetch_document(f"http://localhost:{port}/")


def test_who_never_answers_is_not_waited_for() -> None:
    """The time holds for the whole, not for each byte."""
    end_event = Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                while not end_event.wait(0.02):
                    connection.sendall(b"X-Slow: 1\r\n")

        thread = Thread(target=drip)
        thread.start()
        try:
            with pytest.raises(NotFetched, match="within"):
                fetch_document(f"http://127.0.0.1:{server.getsockname()[1]}/", seconds=0.5)
        finally:
            end_event.set()
            thread.join()


def test_who_is_not_there_is_told() -> None:
    """A port without a listener."""
    with reserved_port() as port, pytest.raises(NotFetched, match="could not be read"):
        fetch_document(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example/",
        "ftp://localhost/",
        "file:///etc/passwd",
        "http://user@localhost/",
        "http://localhost:port/",
        "http:///x",
        "http://localhost/a b",
        "http://localhost/\r\nX: y",
        "http://localhost/ä",
    ],
)
def test_other_addresses_are_refused_before_anything_is_asked(url: str) -> None:
    """Http elsewhere, other schemes, credentials, header injection."""
    with pytest.raises(AddressRefused):
        fetch_document(url)


def test_a_did_web_is_resolved_and_must_be_of_that_did() -> None:
    """The document's id is the DID that was asked for."""
    answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
    with serve_documents(answers) as port:
        did = f"did:web:localhost%3A{port}"
        answers["/.well-known/did.json"] = (200, {}, json.dumps(did_document(did)).encode())
        answers["/x/did.json"] = answers["/.well-known/did.json"]
        assert of_did(did).did == did
        with pytest.raises(KeyFault, match="not of"):
            of_did(f"{did}:x")
        with pytest.raises(NotFetched, match="404"):
            of_did(f"{did}:y")
