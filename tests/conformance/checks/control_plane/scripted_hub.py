"""A small control plane that is honest but for one flaw, over HTTP, in a thread or as a program.

It shares no code with what it is used to test. As a program it takes the interface's settings, a port in PORT, the
flaw in FLAW and its look in LOOK: `ours` or `foreign`, which has other names for everything that the interface leaves
open.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import os
import re
import secrets
import socket
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

KEY_BYTES = 1793
TOKEN = "the-admin-token-of-the-scripted-hub"
CHAIN_KEY = bytes(range(32)).hex()
Reply = tuple[int, Any]
_ASKING_SECONDS = 3.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Go nowhere else."""


_TO_THE_ADDRESS = urllib.request.build_opener(_NoRedirect)


class Hub:
    """The state and the answers of a control plane; `flaw` names the rule that it drops."""

    def __init__(
        self,
        flaw: str = "",
        look: str = "ours",
        token: str = TOKEN,
        chain_key: str = CHAIN_KEY,
        store: str | None = None,
    ) -> None:
        self.flaw, self.look, self.token, self.chain_key, self.store = flaw, look, token, chain_key, store
        self.issuers: dict[str, str] = {}
        self.services: dict[str, dict[str, Any]] = {}
        self.log: list[dict[str, Any]] = []
        self.first_health: dict[str, bool] = {}
        self.registered: dict[str, str] = {}
        self._started_at = 0
        self._lock = threading.RLock()
        if store is not None:
            self._load(store)
        if flaw == "forgets old entries":
            for number in range(3):
                self._write("registered", f"did:web:older-{number}.example")

    # Keeping.

    def _load(self, store: str) -> None:
        with sqlite3.connect(store) as database:
            database.execute("CREATE TABLE IF NOT EXISTS kept (kind TEXT, name TEXT, value TEXT)")
            rows = database.execute("SELECT kind, value FROM kept ORDER BY rowid").fetchall()
        for kind, text in rows:
            value = json.loads(text)
            if kind == "issuer":
                self.issuers[value[0]] = value[1]
            elif kind == "service":
                self.services[value["name"]] = value
            else:
                self.log.append(value)
        self._started_at = len(self.log)
        if self.flaw == "makes new MACs on a start":
            self._chain_anew()

    def _keep(self) -> None:
        if self.store is None or self.flaw == "forgets":
            return
        stored_issuers = self.registered if self.flaw == "keeps registrations only" else self.issuers
        rows = [("issuer", did, json.dumps([did, key])) for did, key in stored_issuers.items()]
        rows += [("service", name, json.dumps(one)) for name, one in self.services.items()]
        rows += [("entry", "", json.dumps(one)) for one in self.log]
        with sqlite3.connect(self.store) as database:
            database.execute("DELETE FROM kept")
            database.executemany("INSERT INTO kept VALUES (?, ?, ?)", rows)

    # The log.

    def _write(self, action: str, subject: str) -> None:
        if self.flaw == f"does not log {action}":
            return
        if self.flaw == "logs the same for everything":
            action = "change"
        if self.flaw == "forgets old entries" and len(self.log) > 2:
            del self.log[0]
        if self.flaw == "rewrites old entries" and self.log:
            self.log[-1]["actor"] = "somebody"
        self.log.append({"action": action, "actor": "admin", "subject": subject, "at": int(time.time() * 1000)})
        self._chain(len(self.log) - 1)

    def _chain_anew(self) -> None:
        for place in range(len(self.log)):
            self._chain(place)

    def _chain(self, place: int) -> None:
        entry = {name: value for name, value in self.log[place].items() if name not in {"seq", "prev_mac", "mac"}}
        before = str(self.log[place - 1]["mac"]) if place else "0" * 64
        if self.flaw == "begins a chain at each start" and place == self._started_at:
            before = "0" * 64
        if self.flaw == "links nothing":
            before = "0" * 64
        entry |= {"seq": place + 1, "prev_mac": before}
        key = bytes.fromhex(self.chain_key)
        covered_members = {name: value for name, value in entry.items() if name != "prev_mac"}
        text = json.dumps(
            covered_members if self.flaw == "the MAC covers no link" else entry, sort_keys=True, separators=(",", ":")
        )
        mac = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        self.log[place] = {**entry, "mac": hashlib.sha256(text.encode()).hexdigest() if self.flaw == "no key" else mac}

    def _audit(self, query: str) -> Any:
        if self.look == "foreign":
            return {"log": self._retold()[::-1]}
        after = int((re.search(r"after=(\d+)", query) or ["", "0"])[1])
        head = {"seq": len(self.log), "mac": self.log[-1]["mac"]} if self.log else {"seq": 0, "mac": "0" * 64}
        page = [one for one in self.log if one.get("seq", 0) > after][:5]
        return {"entries": page, "count": len(self.log), "head": head}

    def _retold(self) -> list[dict[str, Any]]:
        """Return the log under other names, with a chain over those."""
        entries: list[dict[str, Any]] = []
        for place, one in enumerate(self.log):
            before = entries[-1]["hash"] if entries else ""
            entry = {"number": place, "event": one["action"], "about": one["subject"], "previous": before}
            text = json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()
            raw = hmac.new(bytes.fromhex(self.chain_key), text, hashlib.sha256).digest()
            entries.append({**entry, "hash": base64.b64encode(raw).decode()})
        return entries

    # Who may.

    def is_admitted(self, credential: str) -> bool:
        """Return whether a value of Authorization opens the admin operations."""
        token = credential.removeprefix("Bearer ")
        if self.flaw == "compares the beginning of tokens":
            return bool(token) and self.token.startswith(token)
        if self.flaw == "compares what it has of tokens":
            return token.startswith(self.token)
        if self.flaw == "compares tokens without case":
            return token.lower() == self.token.lower()
        if self.flaw == "takes any scheme":
            return credential.partition(" ")[2] == self.token
        if self.flaw == "takes any Bearer":
            return credential.startswith("Bearer ")
        return credential == f"Bearer {self.token}"

    def answer(self, method: str, target: str, credential: str, body: bytes) -> Reply:
        """Answer one request."""
        path, _, query = target.partition("?")
        if self.flaw == "guards paths as they are sent" and not path.startswith("/v1/"):
            plain = "/" + path.lower().strip("/").removeprefix("health/../")
            under = "/v1/issuers/" if plain.startswith("/v1/issuers/") else plain
            return self._carried_out(f"{method} {under}", plain, query, body)
        if self.flaw == "looks for an open path in the URL" and "/v1/issuer-pks" in target:
            under = "/v1/issuers/" if path.startswith("/v1/issuers/") else path
            return self._carried_out(f"{method} {under}", path, query, body)
        operation = f"{method} {'/v1/issuers/' if path.startswith('/v1/issuers/') else path}"
        with self._lock:
            if operation in {"POST /v1/issuers", "DELETE /v1/issuers/", "POST /v1/services", "GET /v1/audit"}:
                is_refused = not self.is_admitted(credential) and self.flaw != f"open: {operation}"
                if is_refused and self.flaw == "refuses when it is done":
                    self._carried_out(operation, path, query, body)
                if is_refused:
                    self._log_attempt(operation, path, body)
                    return (401 if self.look == "ours" else 403), {"detail": "Unauthorized"}
            elif self.flaw == f"closed: {path}" and not self.is_admitted(credential):
                return 401, {"detail": "Unauthorized"}
            if path == "/v1/posture":
                services = list(self.services.values())
            else:
                return self._carried_out(operation, path, query, body)
        return 200, self._posture(services)

    def _log_attempt(self, operation: str, path: str, body: bytes) -> None:
        """Write an attempt down where that is this hub's way."""
        subject = unquote(path.rpartition("/")[2]) if "DELETE" in operation else str(_parse_body(body).get("did"))
        if self.flaw == "logs refused changes as done":
            self._write("registered", subject)
        elif self.look == "foreign" and "issuers" in operation:
            self._write("attempt rejected", subject)

    def _carried_out(self, operation: str, path: str, query: str, body: bytes) -> Reply:
        if operation == "POST /v1/issuers":
            return self._register_issuer(_parse_body(body))
        if operation == "DELETE /v1/issuers/":
            return self._revoke_issuer(path.removeprefix("/v1/issuers/"))
        if operation == "POST /v1/services":
            return self._register_service(_parse_body(body))
        if operation == "DELETE /v1/services/" or (path.startswith("/v1/services/") and operation.startswith("DELETE")):
            removed_service = self.services.pop(path.removeprefix("/v1/services/"), None)
            return (404, {"detail": "Not Found"}) if removed_service is None or self.look == "foreign" else (204, None)
        if operation == "GET /v1/audit":
            return 200, self._audit(query)
        if operation == "GET /health":
            return self._health()
        if operation == "GET /v1/issuer-pks":
            return 200, self._trust_set()
        if operation == "GET /.well-known/atb-keys.json":
            return 200, self._build_key_document()
        return 404, {"detail": "Not Found"}

    # Issuers.

    def _register_issuer(self, body: dict[str, Any]) -> Reply:
        did, key = body.get("did"), body.get("public_key_b64")
        fault = self._fault(did, key)
        if fault and self.flaw == "refuses late" and isinstance(did, str):
            self.issuers[did] = str(key)
        if fault and self.flaw != f"takes {fault}":
            return 422, {"detail": fault}
        if not isinstance(did, str):
            return 201, {}
        key = str(key)
        is_rekeyed = did in self.issuers and self.issuers[did] != key
        if is_rekeyed and self.look == "foreign":
            return 409, {"detail": "registered with another key"}
        if is_rekeyed and self.flaw == "keeps the old key":
            return 200, {}
        is_changed = self.issuers.get(did) != key
        self.registered.setdefault(did, key)
        self.issuers[did] = key[:-4] + "AAA=" if self.flaw == "writes keys in its own way" else key
        if is_changed and not (is_rekeyed and self.flaw == "does not log new keys"):
            self._write("registered", did)
        self._keep()
        return (201 if self.look == "ours" else 200), {"did": did}

    def _fault(self, did: Any, key: Any) -> str | None:
        if not isinstance(did, str) or not did or key is None:
            return "half a body"
        if not did.startswith("did:"):
            return "any name"
        try:
            raw = base64.b64decode(key, validate=True)
        except (ValueError, TypeError):
            return "no base64"
        return None if len(raw) == KEY_BYTES else "other lengths"

    def _revoke_issuer(self, segment: str) -> Reply:
        did = segment if self.flaw == "does not decode paths" else unquote(segment)
        if self.flaw == "decodes paths twice":
            did = unquote(did)
        if did not in self.issuers and segment in self.issuers and self.flaw != "decodes paths twice":
            did = segment
        if self.flaw == "deletes by beginnings":
            did = next((one for one in self.issuers if one.startswith(did) or did.startswith(one)), did)
        if self.flaw == "deletes in any case":
            did = next((one for one in self.issuers if one.lower() == did.lower()), did)
        if did not in self.issuers and self.flaw.startswith("logs what was not there"):
            self._write("revoked", segment if self.flaw.endswith("as it was sent") else did)
        if did not in self.issuers:
            return (500 if self.flaw == "breaks on unknown issuers" else 404), {"detail": "Not Found"}
        if self.flaw != "revokes in words only":
            del self.issuers[did]
        self._write("revoked", did)
        self._keep()
        return (204, None) if self.look == "ours" else (200, {"revoked": did})

    def _trust_set(self) -> Any:
        if self.flaw == "a list for a trust set":
            return [{"did": did, "key": key} for did, key in self.issuers.items()]
        if self.flaw == "hex keys":
            return {did: "z:" + base64.b64decode(key).hex() for did, key in self.issuers.items()}
        if self.flaw == "objects for keys":
            return {did: {"public_key_b64": key} for did, key in self.issuers.items()}
        if self.flaw == "short keys":
            return {did: base64.b64encode(b"short").decode() for did in self.issuers}
        if self.flaw == "names for issuers":
            return {did.removeprefix("did:web:"): key for did, key in self.issuers.items()}
        if self.flaw == "keeps both keys":
            return Twice(self.issuers, self.log)
        return self.issuers

    def _build_key_document(self) -> Any:
        issuers = self.issuers
        if self.flaw == "atb-keys lags":
            return {"keys": []}
        if self.flaw == "atb-keys of one":
            issuers = dict([*issuers.items()][:1])
        if self.flaw == "atb-keys never forgets":
            logged_subjects = {one["subject"] for one in self.log}
            issuers = {**{did: base64.b64encode(b"\x0a" * KEY_BYTES).decode() for did in logged_subjects}, **issuers}
        if self.look == "foreign":
            return {did: {"falcon": key} for did, key in issuers.items()}
        return {"keys": [{"did": did, "public_key_b64": key, "status": "active"} for did, key in issuers.items()]}

    def _health(self) -> Reply:
        services, issuers = len(self.services), len(self.issuers)
        if self.flaw == "no health":
            return 503, {"status": "down"}
        if self.flaw == "no issuer count":
            return 200, {"status": "ok", "services": services}
        if self.flaw == "no service count":
            return 200, {"status": "ok", "issuers": issuers}
        if self.flaw == "counts nothing":
            return 200, {"status": "ok", "issuers": 0, "services": 0}
        if self.look == "foreign":
            return 200, {"alive": True, "counts": {"issuer_count": issuers, "service_count": services}}
        return 200, {"status": "ok", "issuers": issuers, "services": services}

    # Services.

    def _register_service(self, body: dict[str, Any]) -> Reply:
        name, url = body.get("name"), body.get("base_url" if self.look == "ours" else "url")
        if not isinstance(name, str) or not isinstance(url, str):
            return 422, {"detail": "name and address"}
        path = self._health_path(body)
        if (not path.startswith("/") or path.startswith("//")) and self.flaw != "takes any path":
            return 422, {"detail": "a path"}
        key = f"{name} {len(self.services)}" if self.flaw == "lists every registration" else name
        if self.flaw == "registers the first only" and self.services:
            return 201, {}
        if self.flaw == "keeps the first address" and key in self.services:
            return 200, {"name": name}
        if self.flaw == "keeps the first path" and key in self.services:
            path = self.services[key]["path"]
        if self.flaw != "registers no service":
            self.services[key] = {"name": name, "url": url, "path": path}
            self._keep()
        return 201, {"name": name, "url": url}

    def _health_path(self, body: dict[str, Any]) -> str:
        """Return where a registration says that its health is; of other looks it says nothing."""
        is_read = self.look == "ours" and self.flaw != "asks /health only"
        return str(body.get("health_path", "/health")) if is_read else "/health"

    def _posture(self, services: list[dict[str, Any]]) -> Any:
        pool = ThreadPoolExecutor(1 if self.flaw == "asks one after the other" else 32)
        futures = [pool.submit(self._is_well, one) for one in services]
        patient = self.flaw in {"waits for everybody", "asks one after the other", "bounds each read alone"}
        finished_futures, _ = wait(futures, timeout=None if patient else _ASKING_SECONDS + 1)
        pool.shutdown(wait=False, cancel_futures=True)
        records = [
            (one, well in finished_futures and well.result()) for one, well in zip(services, futures, strict=True)
        ]
        if self.flaw == "lists none":
            records = []
        if self.look == "foreign":
            return {"bridged": {one["name"]: {"state": "up" if well else "down"} for one, well in records}}
        return {"services": [{"name": one["name"], "healthy": well} for one, well in records]}

    def _is_well(self, service: dict[str, Any]) -> bool:
        if self.flaw == "calls no service":
            return True
        if self.flaw == "remembers for ever" and service["name"] in self.first_health:
            return bool(self.first_health[service["name"]])
        seconds = 60.0 if self.flaw == "waits for everybody" else _ASKING_SECONDS
        try:
            opener = urllib.request.build_opener() if self.flaw == "follows redirects" else _TO_THE_ADDRESS
            address = service["url"] + service["path"]
            address = "http://" + address.rpartition("@")[2] if "@" in address else address
            with opener.open(address, timeout=seconds) as answer:
                well = bool(answer.status == 200) or self.flaw == "any success is health"
        except urllib.error.HTTPError as answer:
            below = {"well below 500": 500, "well below 400": 400}.get(self.flaw, 0)
            well = self.flaw == "any answer is health" or answer.code < below
        except (OSError, http.client.HTTPException):
            well = False
        if self.flaw == "always well":
            well = True
        if self.flaw == "never well":
            well = False
        self.first_health[service["name"]] = well
        return well


class Twice(dict[str, str]):
    """A trust set that has every key that an issuer ever had, its DID each time."""

    def __init__(self, issuers: dict[str, str], log: list[dict[str, Any]]) -> None:
        super().__init__(issuers)
        self.more = [one["subject"] for one in log if one["action"] == "registered"]

    def text(self) -> str:
        """Return it as JSON with duplicate members."""
        pairs = [*self.items(), *((did, self[did]) for did in self.more if did in self)]
        return "{" + ",".join(f"{json.dumps(did)}:{json.dumps(key)}" for did, key in pairs) + "}"


def _parse_body(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _server(hub: Hub, port: int) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _take(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, value = hub.answer(self.command, self.path, self.headers.get("Authorization") or "", body)
            content = (
                b"" if value is None else (value.text() if isinstance(value, Twice) else json.dumps(value)).encode()
            )
            self.send_response(status)
            kind = "text/plain" if hub.flaw == "plain text" else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            if hub.flaw == "says when to come again":
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = _take  # noqa: N815 - names that the server looks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer.request_queue_size = 64
    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


@contextmanager
def serve_hub(hub: Hub) -> Iterator[str]:
    """Serve a hub in a thread and yield its address."""
    server = _server(hub, 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.socket.close()


def _secret_in(path: Path, secret: str, mode: int) -> str:
    """Return what a file holds, made on the first run."""
    if not path.exists():
        path.write_text(secret)
        path.chmod(mode)
    return path.read_text().strip()


def main() -> None:
    """Serve as a program: settings of the interface, PORT, and FLAW."""
    flaw = os.environ.get("FLAW", "")
    folder = Path(os.environ.get("S2CP_DATA_DIR") or "/app/data")
    if flaw == "another folder":
        folder = Path(str(folder) + "-of-its-own")
    folder.mkdir(parents=True, exist_ok=True)
    if os.environ.get("S2CP_DB", "").startswith("postgresql://") and flaw != "keeps its SQLite file":
        _ended_without_a_database(os.environ["S2CP_DB"], asks=flaw != "knows no PostgreSQL")
    made = TOKEN if flaw == "one token for all" else secrets.token_urlsafe(32)
    name = "token.txt" if flaw == "another file" else "admin_token"
    if flaw == "a new token each time":
        (folder / name).unlink(missing_ok=True)
    if flaw == "writes its token late" and not (folder / name).exists():
        token = made
        threading.Timer(0.7, _secret_in, (folder / name, made, 0o600)).start()
    else:
        token = _secret_in(folder / name, made, 0o644 if flaw == "a token for everybody" else 0o600)
    chain_key = _secret_in(folder / "audit_key", secrets.token_hex(32), 0o600)
    if flaw == "the file is not the token":
        token = secrets.token_urlsafe(32)
    store = None if flaw == "keeps nothing" else str(folder / "hub.sqlite3")
    if flaw == "calls home":
        threading.Thread(target=_call_url, args=("http://192.0.2.77:8080/hello",), daemon=True).start()
    hub = Hub(flaw, os.environ.get("LOOK", "ours"), token, chain_key, store)
    if flaw == "resolves DIDs":
        hub = Resolving(flaw, "ours", token, chain_key, store)
    if flaw == "keeps no SQLite":
        hub = Hub(flaw, "ours", token, chain_key, None)
        hub.store = None
    port = int(os.environ.get("PORT") or (8080 if flaw == "another port" else 8094))
    _server(hub, port).serve_forever()


def _ended_without_a_database(dsn: str, *, asks: bool) -> None:
    """End, as who has no client for PostgreSQL must: after a look whether the server is there, where it `asks`."""
    if asks:
        place = urlsplit(dsn)
        with socket.create_connection((place.hostname or "", place.port or 5432)) as connection:
            connection.sendall((8).to_bytes(4, "big") + (80877103).to_bytes(4, "big"))
            connection.recv(1)
    sys.exit("there is no such database")


class Resolving(Hub):
    """Fetches the document of every DID that is registered."""

    def _register_issuer(self, body: dict[str, Any]) -> Reply:
        did = str(body.get("did"))
        if did.startswith("did:web:"):
            host = unquote(did.removeprefix("did:web:").split(":")[0])
            threading.Thread(target=_call_url, args=(f"http://{host}/.well-known/did.json",), daemon=True).start()
        return super()._register_issuer(body)


def _call_url(url: str) -> None:
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except (OSError, ValueError):
        return


if __name__ == "__main__":
    main()
