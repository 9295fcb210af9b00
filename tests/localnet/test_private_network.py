"""A private Algorand network of programs on the PATH: made, started, given its USDC, and ended without a trace.

The programs are scripts of this test. They leave behind what goal v5.1 does, answer what kmd answers, and run the
simulated Algorand as algod.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from algosdk import account, mnemonic

from localnet.lanes.algorand.private_network import programs
from localnet.state import Process
from programs.missing import Missing

ROOT = Path(__file__).parents[2]
# goal fails where its flags are not those of version 5.1, and keeps an old address of a kmd that has ended.
GOAL = """
import json, pathlib, sys
words = sys.argv[1:]
assert words[:2] == ["network", "create"], words
given = dict(zip(words[2::2], words[3::2]))
assert set(given) == {"-n", "-r", "-t"}, given
root, template = pathlib.Path(given["-r"]), json.loads(pathlib.Path(given["-t"]).read_text())
(network,) = template["Nodes"]
wallets = root / network["Name"] / "kmd-v0.5"
wallets.mkdir(mode=0o700, parents=True)
(wallets / "kmd.net").write_text("127.0.0.1:9")
(wallets.parent / "config.json").write_text(json.dumps({"Version": 38}))
(wallets.parent / "made.json").write_text(json.dumps(template["Genesis"]))
print("Network", given["-n"], "created under", root)
"""
KMD = """
import base64, json, os, pathlib, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
folder = pathlib.Path(sys.argv[sys.argv.index("-d") + 1])
name = "unencrypted-default-wallet"
answers = {
    ("GET", "/v1/wallets"): {"wallets": [{"id": "1", "name": name}]},
    ("POST", "/v1/wallet/init"): {"wallet_handle_token": "t"},
    ("POST", "/v1/key/list"): {"addresses": [os.environ["TEST_ADDRESS"]]},
    ("POST", "/v1/key/export"): {"private_key": os.environ["TEST_KEY"]},
}
class Handler(BaseHTTPRequestHandler):
    def answer(self):
        assert self.headers["X-KMD-API-Token"] == "k" * 64
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.dumps(answers[self.command, self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = answer
    def log_message(self, *_):
        pass
server = HTTPServer(("127.0.0.1", 0), Handler)
(folder / "kmd.token").write_text("k" * 64)
(folder / "kmd.net").write_text(f"127.0.0.1:{server.server_port}")
server.serve_forever()
"""
# The address of the sender of what it mints to is the funder: it gives the genesis account its Algos, then serves.
ALGOD = """
import json, os, pathlib, subprocess, sys, urllib.request
folder = pathlib.Path(sys.argv[sys.argv.index("-d") + 1])
settings = json.loads((folder / "config.json").read_text())
assert settings["Version"] == 38 and settings["Archival"] is True, settings
port = settings["EndpointAddress"].rpartition(":")[2]
(folder / "algod.token").write_text("b" * 64)
words = ["--algod-port", port, "--indexer-port", "0", "--token-file", str(folder / "algod.token")]
command = [sys.executable, "-m", "sim.algorand", *words]
node = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=os.environ["TEST_ROOT"])
node.stdout.readline()
body = {"verb": "fund", "address": os.environ["TEST_ADDRESS"], "amount": str(10**13)}
fields = {"Content-Type": "application/json"}
urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/control", json.dumps(body).encode(), fields))
sys.exit(node.wait())
"""


@pytest.fixture
def key() -> str:
    """The key of the network's account."""
    return str(account.generate_account()[0])


@pytest.fixture
def environment(tmp_path: Path, key: str) -> dict[str, str]:
    """An environment with the three programs on the PATH and nothing else that gives a node."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in (("goal", GOAL), ("kmd", KMD), ("algod", ALGOD)):
        path = folder / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)
    kept_variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("ALGOD_", "INDEXER_", "ALGORAND_"))
    }
    test_variables = {
        "TEST_KEY": key,
        "TEST_ADDRESS": str(account.address_from_private_key(key)),
        "TEST_ROOT": str(ROOT),
    }
    return {**kept_variables, **test_variables, "PATH": f"{folder}:{os.environ['PATH']}"}


def localnet(folder: Path, environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run one command of the launcher."""
    command = [sys.executable, "-m", "localnet", *words, "--data-dir", "nodes"]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.parametrize(("mode", "is_dev"), [("dev", True), ("rounds", False)])
def test_a_network_is_made_started_and_ended(
    tmp_path: Path, environment: dict[str, str], key: str, mode: str, is_dev: bool
) -> None:
    """The account of the network funds payers in a USDC of its own; key files are their owner's; no process is left."""
    environment["ALGORAND_MODE"] = mode
    start = localnet(tmp_path, environment, "start", "algorand", "--port-base", "0", "--json")
    assert start.returncode == 0, start.stderr
    network: dict[str, Any] = json.loads(start.stdout)
    assert (set(network["urls"]), set(network["processes"])) == ({"algod"}, {"algod", "the control sidecar"})
    nodes = tmp_path / "nodes"
    genesis = json.loads((nodes / "algorand_network" / "Node" / "made.json").read_text())
    assert genesis["DevMode"] is is_dev
    assert (genesis["LastPartKeyRound"] > 30_000) is not is_dev
    status = localnet(tmp_path, environment, "status", "--json")
    assert json.loads(status.stdout)["nodes"]["algod"] > 0
    token, words, asset = (nodes / "algod_sidecar").read_text().splitlines()
    assert (token, words) == ("b" * 64, mnemonic.from_private_key(key))
    assert int(asset) not in {31566704, 10458941}

    fresh = account.generate_account()[1]
    refusal = localnet(tmp_path, environment, "fund", "algorand", fresh, "1")
    assert refusal.returncode == 1
    assert f"has not opted in to asset {asset}" in refusal.stderr
    assert "{" not in refusal.stderr
    assert localnet(tmp_path, environment, "fund", "algorand", fresh, "1000000", "--coin").returncode == 0

    for name in ("algod_sidecar", "algorand_funder.mnemonic"):
        assert stat.S_IMODE((nodes / name).stat().st_mode) == 0o600
    for log in (nodes / "logs").iterdir():
        assert words not in log.read_text("utf-8", "replace")
    assert localnet(tmp_path, environment, "stop").returncode == 0
    assert all(Process(**one).gone_within(60) for one in network["processes"].values())


def test_doctor_names_the_programs(tmp_path: Path, environment: dict[str, str]) -> None:
    """Doctor says what a start would run and in which mode, and starts nothing."""
    result = subprocess.run(
        [sys.executable, "-m", "localnet", "doctor", "--json"],
        cwd=tmp_path,
        env={**environment, "ALGORAND_MODE": "rounds"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    (finding,) = [one for one in json.loads(result.stdout) if one["chain"] == "algorand"]
    assert finding["ready"] is True
    assert "goal, mode rounds" in finding["how"]
    assert not (tmp_path / "nodes").exists()


def test_a_program_that_fails_is_named(tmp_path: Path, environment: dict[str, str]) -> None:
    """What a program wrote to its standard error is in the message, and nothing is left running."""
    (tmp_path / "programs" / "goal").write_text("#!/bin/sh\necho no disk space >&2\nexit 1\n")
    began = time.monotonic()
    start = localnet(tmp_path, environment, "start", "algorand", "--port-base", "0")
    assert start.returncode == 4
    assert "goal network create failed: no disk space" in start.stderr
    assert time.monotonic() < began + 120


def test_another_mode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt mode is not taken for DevMode."""
    monkeypatch.setenv("ALGORAND_MODE", "fast")
    with pytest.raises(Missing, match="ALGORAND_MODE=fast"):
        programs()


def test_one_program_alone_is_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All three programs are needed."""
    monkeypatch.delenv("ALGORAND_MODE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "algod").write_text("#!/bin/sh\n")
    (tmp_path / "algod").chmod(0o755)
    assert programs() is None
