"""A small independent addon, honest but for the flaw in FLAW; it listens at the port in PORT.

Its verifier is the suite's own oracle: what a test shows is what the checks make of answers, not who is right.
"""

from __future__ import annotations

import base64
import json
import os
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FLAW = os.environ.get("FLAW", "")
HUB = os.environ["S2_HUB_URL"].rstrip("/")
TOKEN = os.environ["S2_HUB_TOKEN"]
SELF = os.environ["S2_HUB_SELF_URL"]
trusted_keys: dict[str, str] = {}
resolved_keys: dict[str, str] = {}


def call_hub(path: str, body: Any = None, **headers: str) -> Any:
    """Call the hub and return the answer's JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(HUB + path, data, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def pull() -> None:
    """Take the hub's documents."""
    if FLAW == "no trust set":
        return
    fresh = call_hub("/v1/issuer-pks")
    if FLAW == "never forgets":
        fresh = {**trusted_keys, **fresh}
    if FLAW != "ignores the trust set":
        trusted_keys.clear()
        trusted_keys.update(fresh)
    if FLAW == "no atb-keys":
        resolved_keys.update(fresh)
        return
    time.sleep(float(os.environ.get("BETWEEN_DOCUMENTS", "0")))
    keys = {one["did"]: one["public_key_b64"] for one in call_hub("/.well-known/atb-keys.json")["keys"]}
    if FLAW != "never forgets":
        resolved_keys.clear()
    resolved_keys.update(trusted_keys if FLAW == "reads atb-keys and takes the trust set" else keys)


def register() -> None:
    """Register at the hub."""
    if FLAW == "no registration":
        return
    body: dict[str, Any] = {"name": "scripted", "base_url": SELF, "health_path": "/health"}
    if FLAW == "another address":
        body["base_url"] = "http://127.0.0.1:1/scripted"
    if FLAW == "nested, with the health path":
        body = {"service": {"id": "scripted", "health": SELF + "/health"}}
    token = {"no token": "", "another token": "Bearer something-else"}.get(FLAW, f"Bearer {TOKEN}")
    call_hub("/v1/services", body, **({"Authorization": token} if token else {}))


def join() -> None:
    """Join, and keep the trust set fresh."""
    steps = [register, pull] if FLAW == "registers first" else [pull, register]
    steps_left = list(steps)
    while True:
        try:
            while steps_left:
                steps_left[0]()
                steps_left.pop(0)
            if FLAW not in {"pulls once", "pulls when asked"}:
                pull()
        except (OSError, ValueError, KeyError):
            pass
        time.sleep(0.2)


def is_valid(text: str) -> bool:
    """Return whether a credential holds and its issuer is known."""
    from conformance.oracles.falcon import holds
    from conformance.oracles.hash_recipes import jcs_bytes

    if FLAW == "pulls when asked":
        pull()
    envelope = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    payload = envelope["payload"]
    if FLAW == "looks at the signature alone":
        payload = {**payload, "scopes": ["pay"]}
    key = resolved_keys.get(payload.get("issuer_did", payload.get("bench_issuer")))
    if FLAW == "takes everybody":
        return True
    if key is None or FLAW == "accepts no credential":
        return False
    if FLAW == "looks at no signature":
        return True
    signature = base64.urlsafe_b64decode(envelope["sig"] + "=" * (-len(envelope["sig"]) % 4))
    return holds(base64.b64decode(key), jcs_bytes(payload), signature)


def meets_conditions(body: dict[str, Any]) -> bool:
    """Return whether a passport meets the conditions of a question: without a score, it reaches no `min_score`."""
    text = body["credential"]
    payload = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))["payload"]
    reaches = FLAW == "a passport reaches any score" or "min_score" not in body or "score" in payload
    is_own_issuer = (
        body.get("expected_issuer") in {None, payload.get("issuer_did")} or FLAW == "any issuer is the expected one"
    )
    lasts = body.get("now", "") <= payload["expires_at"] or FLAW == "asks its own clock only"
    return reaches and is_own_issuer and lasts


class Handler(BaseHTTPRequestHandler):
    """Answers health and questions."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer health."""
        self._say(404 if FLAW == "no health" else 200, {"status": "ok", "issuers": len(trusted_keys)})

    def do_POST(self) -> None:
        """Answer a question about a credential."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        valid = is_valid(body["credential"]) and (FLAW == "looks at no condition" or meets_conditions(body))
        self._say(500 if FLAW == "breaks on what it refuses" and not valid else 200, {"valid": valid})

    def _say(self, status: int, value: Any) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Serve, and join beside that."""
    port = 8080 if FLAW == "another port" else int(os.environ.get("PORT") or 8095)
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=join, daemon=True).start()
    server.serve_forever(poll_interval=0.05)


if __name__ == "__main__":
    main()
