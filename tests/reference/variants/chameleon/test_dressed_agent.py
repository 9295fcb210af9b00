"""A look gets into the program that serves a surface."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx

from reference.variants.chameleon.catalog import draw_variant


def test_a_surface_is_served_in_its_look(tmp_path: Path) -> None:
    """The agent's program starts dressed, tells its look, and publishes its document where that has it."""
    told, log = tmp_path / "look.json", tmp_path / "log"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WP_")}
    seed = next(seed for seed in range(50) if draw_variant(seed).shape.agent_openapi_path != "/openapi.json")
    with socket.create_server(("127.0.0.1", 0)) as bound, log.open("wb") as output:
        bound.set_inheritable(True)
        process = subprocess.Popen(
            [sys.executable, "-m", "reference.variants.chameleon", str(seed), "reference.agent"],
            env=clean | {"WP_MODE": "test", "WP_AGENT_FD": str(bound.fileno()), "WP_VARIANT_FILE": str(told)},
            pass_fds=[bound.fileno()],
            stdout=output,
            stderr=output,
        )
        try:
            url = f"http://127.0.0.1:{bound.getsockname()[1]}"
            with httpx.Client(base_url=url, trust_env=False, timeout=60) as http:
                found = http.get(draw_variant(seed).shape.agent_openapi_path)
                usual = http.get("/openapi.json")
        finally:
            process.terminate()
            ended = process.wait(120)
    assert (found.status_code, usual.status_code, ended) == (200, 404, 0), log.read_text("utf-8")
    assert json.loads(told.read_bytes())["seed"] == seed
