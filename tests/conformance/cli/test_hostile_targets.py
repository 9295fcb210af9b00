"""A target that does its worst: no other host is sent a credential, nothing is paid, and its text is text."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import re
import socket
import threading
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance.cli import main

SECRET = "canary-secret-0123456789"
HOSTILE = (
    "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\n::error file=x::owned\n  ::set-output name=a::b\n"
    '##[error]owned ##vso[task.setvariable variable=a]b\r\n"""\n[surfaces.rail]\nrestart = ["touch", "canary"]\n'
)
OBEYED_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]|(?m:^)\s*::[A-Za-z]|##[A-Za-z]*\[")
Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Target:
    """A hostile server, another host of the same stranger, and what came to each.

    Attributes:
        url: Address of the server.
        folder: Working folder of the commands.
        other: A socket at which nothing must arrive.
        answer: How the server answers.
        asked: Credentials that came to the server.
    """

    url: str
    folder: Path
    other_server: socket.socket
    answer: Answer
    requests: list[str] = field(default_factory=list)

    def assert_nothing_happened(self, result: Result) -> None:
        """See that no other host was asked, no command ran, and nothing printed would be obeyed."""
        assert result.exit_code in {0, 1, 2, 3}, f"{result.exit_code}: {result.output[-2000:]}"
        assert SECRET not in result.output
        assert OBEYED_TEXT.search(result.output.replace("\t", " ")) is None, OBEYED_TEXT.search(result.output)
        assert not (self.folder / "canary").exists()
        for path in self.folder.rglob("*"):
            if path.is_file() and path.name != "profile.toml":
                data = path.read_bytes()
                assert SECRET.encode() not in (gzip.decompress(data) if path.suffix == ".gz" else data), path
        with pytest.raises(BlockingIOError):
            self.other_server.accept()


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """Start the server."""
    monkeypatch.chdir(tmp_path)
    for name in ("CANARY_SECRET", "WELDPROOF_HUB_TOKEN", "WELDPROOF_ADMIN_KEY"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                new_target.requests.append(self.headers.get("Authorization", ""))
                with contextlib.suppress(ValueError, OSError):
                    self.rfile.read(int(self.headers.get("Content-Length", 0)))
                    new_target.answer(self)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = handle_any  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        url = f"http://127.0.0.1:{server.server_address[1]}"
        new_target = Target(url, tmp_path, listener, lambda _: None)
        (tmp_path / "profile.toml").write_text(profile(url))
        (tmp_path / "key").write_text("ab" * 32)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield new_target
        server.shutdown()
        server.server_close()


def profile(url: str) -> str:
    """Return the operator's profile of the server, with credentials for it and an account that pays."""
    surfaces = "".join(f'[surfaces.{name}]\nurl = "{url}"\n' for name in ("rail", "gateway", "agent", "control_plane"))
    return (
        f'{surfaces}[claims]\nsurfaces = ["rail", "gateway", "agent", "control_plane"]\nlanes = ["algorand"]\n'
        '[tenants.first]\nid = "t1"\nkey = { env = "CANARY_SECRET" }\n[hub.token]\nenv = "CANARY_SECRET"\n'
        '[gateway]\nadmin_key = { env = "CANARY_SECRET" }\n[budgets]\nrequest = 2.0\n[pace]\nrequests_per_second = 0\n'
        f'[chains.algorand]\nnetwork = "algorand_testnet"\nalgod = "{url}"\ntoken = {{ env = "CANARY_SECRET" }}\n'
        'funder = { env = "CANARY_SECRET" }\nspending_limit = "100000"\n'
    )


def redirect_everything(target: Target, status: int) -> Answer:
    """Return what sends every caller to the other host."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Location", f"http://127.0.0.1:{target.other_server.getsockname()[1]}{handler.path}")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def answer_with(body: bytes, status: int = 200, **headers: str) -> Answer:
    """Return what gives one answer."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def dear(target: Target) -> Answer:
    """Return what asks for a million USDC, for an account of its own, in hostile words."""
    del target
    offer = {
        "scheme": "exact",
        "network": "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe",
        "amount": "1000000000000",
        "maxAmountRequired": "1000000000000",
        "asset": "10458941",
        "payTo": "VCMJKWOY5P5P7SKMZFFOCEROPJCZOTIJMNIYNUCKH7LRO45JMJP6UYBIJA",
        "maxTimeoutSeconds": 60,
        "resource": HOSTILE,
        "description": HOSTILE,
        "mimeType": HOSTILE,
        "extra": {"name": HOSTILE, "payment_reference": HOSTILE},
    }
    terms = {"x402Version": 2, "error": HOSTILE, "resource": {"url": HOSTILE, "description": HOSTILE}}
    body = json.dumps({**terms, "accepts": [offer], "message": HOSTILE, "payment_reference": HOSTILE}).encode()
    return answer_with(body, 402, PAYMENT_REQUIRED=base64.b64encode(body).decode())


def wordy(target: Target) -> Answer:
    """Return what looks like every surface at once, with hostile words everywhere."""
    service = {"path": f"/pay/v1/{HOSTILE}", "name": HOSTILE, "price": HOSTILE, "service_id": HOSTILE}
    document = {
        "openapi": "3.1.0",
        "info": {"title": HOSTILE, "version": HOSTILE},
        "paths": {f"/pay/v1/{HOSTILE}": {"post": {"operationId": HOSTILE, "summary": HOSTILE}}},
        "services": [service],
        "name": HOSTILE,
        "url": f"http://127.0.0.1:{target.other_server.getsockname()[1]}/",
        "status": HOSTILE,
        "error": HOSTILE,
        "message": HOSTILE,
        "keys": [{"kid": HOSTILE, "kty": HOSTILE}],
        "skills": [{"id": HOSTILE, "name": HOSTILE}],
        "networks": {HOSTILE: HOSTILE},
        "entries": [{"seq": 1, "actor": HOSTILE, "mac": HOSTILE}],
        "head": {"seq": 1, "mac": HOSTILE},
    }
    return answer_with(json.dumps(document).encode(), X_Note="::error::x ##[error]y")


def answer_packed(target: Target) -> Answer:
    """Return what unpacks to 50 MB."""
    del target
    return answer_with(gzip.compress(bytes(50_000_000)), Content_Encoding="gzip")


def answer_nested(target: Target) -> Answer:
    """Return JSON that no reader can hold."""
    del target
    return answer_with(b"[" * 200_000)


ANSWERS: dict[str, Callable[[Target], Answer]] = {
    "a redirect 302": lambda one: redirect_everything(one, 302),
    "a redirect 307": lambda one: redirect_everything(one, 307),
    "a redirect 308": lambda one: redirect_everything(one, 308),
    "a price beyond all limits": dear,
    "hostile words": wordy,
    "an answer that unpacks without end": answer_packed,
    "JSON nested without end": answer_nested,
}
RUN = "--config profile.toml --report junit --report json --report html --report markdown --report sarif"
COMMANDS = [
    "check {url}",
    "check {url} --json",
    "check {url}/pay/v1/x --method POST",
    "init {url} --output made.toml",
    f"run RAIL-402-01 {RUN}",
    f"run GW-AUTH-01 {RUN} --json",
    f"run AGENT-CARD-01 {RUN} -v",
    "watch RAIL-402-01 --config profile.toml --rounds 1",
    "pay {url}/pay/v1/x --config profile.toml --lane algorand",
    "pay {url}/pay/v1/x --config profile.toml --lane algorand --max 5",
    "tenant show t1 --url {url}",
    "audit verify {url} --key-file key",
    "receipt verify key --jwks {url}/.well-known/jwks.json",
    "doctor --config profile.toml",
]


@pytest.mark.parametrize("description", ANSWERS)
@pytest.mark.parametrize("line", COMMANDS)
def test_a_hostile_target_has_no_effect(line: str, description: str, target: Target) -> None:
    """Its redirects are not followed, its prices not paid, its words not obeyed, its size not read."""
    target.answer = ANSWERS[description](target)
    result = CliRunner().invoke(main, line.format(url=target.url).split(), input="")
    target.assert_nothing_happened(result)
    made_file = target.folder / "made.toml"
    if made_file.exists():
        file_text = tomllib.loads(made_file.read_text())
        assert all("restart" not in table for table in file_text["surfaces"].values())
        assert "addons" not in file_text
