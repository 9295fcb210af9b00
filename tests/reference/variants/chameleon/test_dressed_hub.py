"""The control plane's program in its look: its log holds after a restart, and a change of it is found out."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx

from conformance.oracles import audit_chain
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.log_reading import oldest_first
from reference.variants.chameleon.catalog import draw_variant
from reference.variants.chameleon.points import Variant


def _seed() -> int:
    """Return a seed whose log has little in common with the reference's own."""
    return next(seed for seed in range(500) if _is_another(draw_variant(seed).shape))


def _is_another(shape: Any) -> bool:
    return (
        shape.audit_entry == "few"
        and shape.audit_recipe == "jcs-newline-prev"
        and shape.audit_starts
        and not shape.audit_services
        and shape.hub_service_request == "health_url"
    )


@contextmanager
def _serve(variant: Variant, folder: Path) -> Iterator[httpx.Client]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WP_", "S2CP_"))}
    with socket.create_server(("127.0.0.1", 0)) as listener, (folder / "log").open("ab") as output:
        listener.set_inheritable(True)
        process = subprocess.Popen(
            [sys.executable, "-m", "reference.variants.chameleon", str(variant.shape.seed), "reference.control_plane"],
            env=clean
            | {
                "WP_MODE": "test",
                "S2CP_FD": str(listener.fileno()),
                "S2CP_DATA_DIR": str(folder),
                "WP_RATE_LIMITS": "off",
            },
            pass_fds=[listener.fileno()],
            stdout=output,
            stderr=output,
        )
        try:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            with httpx.Client(base_url=url, trust_env=False, timeout=100) as http:
                http.get("/health").raise_for_status()
                http.headers["Authorization"] = f"Bearer {(folder / 'admin_token').read_text('ascii')}"
                yield http
        finally:
            process.terminate()
            process.wait(120)


def _log(http: httpx.Client) -> list[Any]:
    return oldest_first(document_reader.entries(http.get("/v1/audit").json(), None) or [])


def _issuer(number: int) -> dict[str, str]:
    body = b"".join(hashlib.sha256(f"{number}/{part}".encode()).digest() for part in range(56))
    key = base64.b64encode(b"\x0a" + body).decode()
    return {"did": f"did:web:issuer-{number}.example", "public_key_b64": key}


def test_a_log_in_another_look_is_kept_and_checked(tmp_path: Path) -> None:
    """Entries stay over a restart, services leave none, starts do; the oracle follows the chain and finds a change."""
    variant = draw_variant(_seed())
    with _serve(variant, tmp_path) as http:
        for number in range(2):
            assert http.post("/v1/issuers", json=_issuer(number)).is_success
        assert http.post("/v1/services", json={"service": "a", "health_url": "http://127.0.0.1:9/health"}).is_success
        first = _log(http)
        trust_set = http.get("/v1/issuer-pks").json()
    key = (tmp_path / "audit_key").read_text("ascii").strip()
    form = audit_chain.find_form(first, key)
    assert form is not None
    assert len(first) == 3
    assert document_reader.mentions(first[2], "did:web:issuer-1.example")
    with _serve(variant, tmp_path) as http:
        again = _log(http)
        assert http.get("/v1/issuer-pks").json() == trust_set
        with closing(sqlite3.connect(tmp_path / "controlplane.sqlite3", timeout=30)) as file:
            file.execute("UPDATE control_plane_audit SET subject = replace(subject, 'issuer-0', 'issuer-9')")
            file.commit()
        changed_log = _log(http)
    assert first == again[:3]
    assert len(again) == 4
    chain_key = audit_chain.key_bytes(key, form.key)
    assert audit_chain.first_fault(again, chain_key, form) is None
    fault = audit_chain.first_fault(changed_log, chain_key, form)
    assert fault is not None
    assert fault.place == 1
