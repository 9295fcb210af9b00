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
    variant_file, log = tmp_path / "look.json", tmp_path / "log"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WP_")}
    seed = next(seed for seed in range(50) if draw_variant(seed).shape.agent_openapi_path != "/openapi.json")
    with socket.create_server(("127.0.0.1", 0)) as listener, log.open("wb") as output:
        listener.set_inheritable(True)
        process = subprocess.Popen(
            [sys.executable, "-m", "reference.variants.chameleon", str(seed), "reference.agent"],
            env=clean
            | {"WP_MODE": "test", "WP_AGENT_FD": str(listener.fileno()), "WP_VARIANT_FILE": str(variant_file)},
            pass_fds=[listener.fileno()],
            stdout=output,
            stderr=output,
        )
        try:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            with httpx.Client(base_url=url, trust_env=False, timeout=60) as http:
                response = http.get(draw_variant(seed).shape.agent_openapi_path)
                usual = http.get("/openapi.json")
        finally:
            process.terminate()
            exit_code = process.wait(120)
    assert (response.status_code, usual.status_code, exit_code) == (200, 404, 0), log.read_text("utf-8")
    assert json.loads(variant_file.read_bytes())["seed"] == seed
