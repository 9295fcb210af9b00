"""`weldproof up`: a stack comes up, says where it is, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import pytest

from conformance import target
from localnet.plan import Plan
from reference.protocol.jws import sign_compact
from reference.web.clock import WpClock
from reference.web.keyring import KeyFile
from tests import prepared
from tests.reference.gateway.test_gateway_receipts import CLAIMS

LANES = ("algorand", "base", "solana")
SECRETS = ("algod_token", "payto_algorand.mnemonic", "payto_base.key", "payto_solana.json", "settler.key")
SHOP_SECRETS = ("signing_key.pem", "admin_key", "tenant_first.key", "tenant_second.key", "tenant_second_test.key")
HOOK_SECRETS = ("webhook_first.secret", "webhook_first_too.secret", "webhook_second.secret")
HUB_SECRETS = ("admin_token", "audit_key")
SERVICES = ("rail", "gateway", "agent", "control_plane", "federation_validator", "zkp_receipt", "atb_verifier")


@dataclass(frozen=True, slots=True)
class Started:
    """A launcher, forked with its imports done or started without a fork, and its output."""

    process: prepared.Prepared | subprocess.Popen[bytes]
    stdout: IO[str]
    words: Path

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return how it ended."""
        self.process.send_signal(number)
        return self.process.wait(600)


@contextmanager
def start(
    folder: Path,
    *options: str,
    anew: bool = False,
    environment: Mapping[str, str] | None = None,
    form: tuple[str, ...] = ("--json",),
) -> Iterator[Started]:
    reading, writing = os.pipe()
    words, log = ["up", *form, "--port-base", "0", "--data-dir", "stack", *options], folder / "up.log"
    process: prepared.Prepared | subprocess.Popen[bytes]
    with os.fdopen(reading, encoding="utf-8") as stdout:
        with os.fdopen(writing, "wb") as ready_pipe, log.open("wb") as stderr:
            if anew:
                command = [sys.executable, "-m", "localnet", *words]
                process = subprocess.Popen(command, cwd=folder, stdout=ready_pipe, stderr=stderr)
            else:
                process = prepared.start(
                    "localnet",
                    *words,
                    env={**os.environ, **(environment or {})},
                    cwd=folder,
                    stdout=ready_pipe,
                    stderr=stderr,
                )
        stack = Started(process, stdout, log)
        try:
            yield stack
        finally:
            stack.end()  # where a test failed before it did


def ready_line(stack: Started) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(stack.stdout.readline())
    return line


def listens(url: str) -> bool:
    address = urlsplit(url)
    try:
        socket.create_connection((address.hostname or "", address.port or 0), 1).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stack_comes_up_and_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    """The profile claims only what exists, works, and goes when the stack stops; no process and no port stays."""
    with start(tmp_path) as stack:
        ready = ready_line(stack)
        with urllib.request.urlopen(ready["rail"] + "/health", timeout=600) as answer:
            assert json.loads(answer.read())["lanes"] == [f"{lane}_mainnet" for lane in LANES]
        profile = target.load(tmp_path / "weldproof.toml")
        assert profile.claims.surfaces == ("rail", "gateway", "agent", "control_plane", "webhooks")
        assert profile.claims.lanes == LANES
        # Rows about limits and time have a gateway of their own, so that the run that is suggested decides them.
        limits = profile.limited["gateway"]
        assert listens(limits.url)
        assert limits.offset_file is not None
        assert {name: one.url for name, one in profile.surfaces.items()} == {
            "rail": ready["rail"],
            "gateway": ready["gateway"],
            "agent": ready["agent"],
            "control_plane": ready["control_plane"],
        }
        with urllib.request.urlopen(ready["agent"] + "/health", timeout=600) as answer:
            assert json.loads(answer.read())["service"] == "weldproof-agent"
        assert stack.end(number) == 0
    assert not (tmp_path / "weldproof.toml").exists()
    for name in (*SERVICES, "algod", "indexer", "base", "base_sepolia", "solana"):
        assert not listens(ready[name])
    assert not listens(limits.url)
    for pid in dict(ready["pids"]).values():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_every_service_joins_the_control_plane(tmp_path: Path) -> None:
    """It is up before them; the posture soon shows each of them healthy, and the profile says what opens it."""
    with start(tmp_path, "--lane", "algorand") as stack:
        ready = ready_line(stack)
        hub = target.load(tmp_path / "weldproof.toml").hub
        assert (hub.token, hub.audit_key) == (
            target.Secret(file=Path(ready["hub_token_file"])),
            target.Secret(file=Path(ready["hub_audit_key_file"])),
        )
        healthy: set[str] = set()
        deadline = time.monotonic() + 600
        while len(healthy) < 6 and time.monotonic() < deadline:
            with urllib.request.urlopen(ready["control_plane"] + "/v1/posture", timeout=600) as answer:
                healthy = {one["name"] for one in json.loads(answer.read())["services"] if one["healthy"]}
            time.sleep(0.1)
        names = ("rail", "gateway", "agent", "federation-validator", "zkp-receipt", "atb-credential-verifier")
        assert healthy == {f"weldproof-{name}" for name in names}
        assert stack.end() == 0


def test_chains_alone_come_up_beside_a_server_of_somebodys_own(tmp_path: Path) -> None:
    """Nodes and clock file are printed; no surface runs, no port of one is bound, and no profile describes them."""
    with start(tmp_path, "--chains-only", anew=True) as stack:
        ready = ready_line(stack)
        assert not set(SERVICES) & set(ready)
        for name in ("algod", "indexer", "base", "base_sepolia", "solana"):
            assert listens(ready[name])
        assert Path(ready["clock_file"]).read_text("ascii").strip() == "0"
        assert not (tmp_path / "weldproof.toml").exists()
        assert int(Path(ready["settler_key_file"]).read_text("ascii"), 16)
        account_request = urllib.request.Request(f"{ready['algod']}/v2/accounts/{ready['payout_second_algorand']}")
        account_request.add_header("X-Algo-API-Token", Path(ready["algod_token_file"]).read_text("ascii").strip())
        with urllib.request.urlopen(account_request, timeout=600) as answer:
            assert {one["asset-id"] for one in json.loads(answer.read())["assets"]} >= {10458941, 31566704}
        chains = {urlsplit(ready[name]).port for name in ("algod", "indexer", "base", "base_sepolia", "solana")}
        bound_ports = _list_ports([int(pid) for pid in (stack.process.pid, *dict(ready["pids"]).values())])
        assert bound_ports == chains | {urlsplit(ready["solana_ws"]).port}
        assert stack.end() == 0


def test_the_lines_for_a_server_of_somebodys_own_are_whole(tmp_path: Path) -> None:
    """What `init` is to be given for a rail, and for a gateway, names the nodes and the clock file of this stack."""
    with start(tmp_path, "--chains-only", "--lane", "base", form=()) as stack:
        said = list[str]()
        while not said or said[-1] != "Ctrl-C ends it.\n":
            said.append(stack.stdout.readline())
            assert said[-1], "it ended"
        lines = [one.replace("\\\n", "").partition("\n")[0] for one in "".join(said).split("weldproof init URL ")[1:]]
        assert len(lines) == 2
        for line in lines:
            options = dict(zip(words := line.split(), words[1:], strict=False))
            assert listens(options["--base-rpc"])
            assert Path(options["--clock"]).read_text("ascii").strip() == "0"
        assert stack.end() == 0


def _list_ports(pids: list[int]) -> set[int]:
    """Return the TCP ports at which processes listen, or would be heard."""
    socket_names = {
        str(one.readlink()) for pid in pids for one in Path(f"/proc/{pid}/fd").iterdir() if one.is_symlink()
    }
    lines = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    return {
        int(one[1].rpartition(":")[2], 16) for one in lines if one[3] == "0A" and f"socket:[{one[9]}]" in socket_names
    }


def test_the_gateway_takes_receipts_of_the_rail_beside_it(tmp_path: Path) -> None:
    """Its hosted verifier knows the rail's key without a given key set, and `up` reports what it leaves out."""
    left_out = {"WP_SERVICE_WORD": "Acme"}
    with start(
        tmp_path, "--lane", "algorand", "--surface", "rail", "--surface", "gateway", environment=left_out
    ) as stack:
        ready = ready_line(stack)
        key = KeyFile(tmp_path / "stack" / "rail" / "signing_key.pem", WpClock(), 365)().active
        body = json.dumps({"jws": sign_compact(CLAIMS, key)}).encode()
        verify_request = urllib.request.Request(ready["gateway"] + "/v1/receipt/verify", body)
        verify_request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(verify_request, timeout=600) as answer:
            report = json.loads(answer.read())
        assert (report["verified"], report["key_source"], report["kid"]) == (True, "platform", key.public.kid)
        assert "--setting WP_SERVICE_WORD=" in (tmp_path / "up.log").read_text()
        assert stack.end() == 0


def test_a_profile_of_the_operators_own_stays(tmp_path: Path) -> None:
    """A weldproof.toml that was there before is neither replaced nor removed."""
    (tmp_path / "weldproof.toml").write_text("version = 1\n")
    with start(tmp_path, "--lane", "algorand", "--surface", "agent") as stack:
        ready_line(stack)
        assert stack.end() == 0
    assert (tmp_path / "weldproof.toml").read_text() == "version = 1\n"


def test_secrets_are_in_files_of_their_owner_and_in_no_argument(tmp_path: Path) -> None:
    """Key files have mode 0600, and no child was given a secret on its command line, which a fork does not show."""
    with start(tmp_path, anew=True) as stack:
        ready = ready_line(stack)
        secrets = [tmp_path / "stack" / name for name in SECRETS]
        secrets += [tmp_path / "stack" / "rail" / name for name in ("signing_key.pem", "token_secret")]
        secrets += [tmp_path / "stack" / "gateway" / name for name in (*SHOP_SECRETS, *HOOK_SECRETS)]
        secrets += [tmp_path / "stack" / "control_plane" / name for name in HUB_SECRETS]
        for path in secrets:
            assert path.stat().st_mode & 0o777 == 0o600, path
            for pid in (stack.process.pid, *dict(ready["pids"]).values()):
                assert path.read_text().strip() not in Path(f"/proc/{pid}/cmdline").read_text()
        assert stack.end() == 0


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    """The launcher says which port is taken and what to do, and ends with 4."""
    with socket.create_server(("127.0.0.1", 0)) as taken_port:
        port = taken_port.getsockname()[1]
        words = [sys.executable, "-m", "localnet", "up", "--port-base", str(port), "--data-dir", "stack"]
        result = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
    assert result.returncode == 4
    assert f"port {port}" in result.stderr
    assert "--port-base" in result.stderr


def test_a_stack_of_one_lane_starts_that_chain_alone(tmp_path: Path) -> None:
    """`--lane` leaves the other chains away, and the profile claims what is left."""
    with start(tmp_path, "--lane", "algorand") as stack:
        ready = ready_line(stack)
        addons = {"the credential verifier", "the federation validator", "the ZK receipt addon"}
        surfaces = {"the agent", "the control plane", "the gateway", "the rail"}
        companions = {"the limited gateway", "the limited rail", "the edge host", "the limited agent"}
        assert set(dict(ready["pids"])) == {*addons, *surfaces, *companions, "the simulated Algorand"}
        assert target.load(tmp_path / "weldproof.toml").claims.lanes == ("algorand",)
        addresses = {name: value for name, value in ready.items() if str(value).startswith(("http:", "ws:"))}
        assert all(listens(url) for name, url in addresses.items() if not name.startswith("webhook_"))
        assert not any(word in name for name in ready for word in ("base", "solana"))
        assert stack.end() == 0


def test_an_unknown_mutant_is_refused(tmp_path: Path) -> None:
    """A mutant that does not exist never passes for one that was caught: the stack does not come up."""
    with start(tmp_path, "--lane", "algorand", "--surface", "rail", "--mutant", "no-such") as stack:
        assert stack.process.wait(600) == 4
        assert "no-such" in stack.words.read_text()


def test_a_child_that_dies_ends_the_stack(tmp_path: Path) -> None:
    """When a part ends by itself the launcher says which, ends the rest, and fails."""
    with start(tmp_path, "--lane", "algorand", "--surface", "rail") as stack:
        ready = ready_line(stack)
        os.kill(int(dict(ready["pids"])["the rail"]), signal.SIGKILL)
        assert stack.process.wait(600) == 4
        assert "the rail" in stack.words.read_text()
    assert not listens(ready["algod"])


def test_a_stack_that_starts_again_keeps_its_webhook_destinations(tmp_path: Path) -> None:
    """URLs, which the ready line names, and secrets, whose files it names, are those of the first start.

    The profile has both; no process listens there, and no port is one that the system assigns by itself.
    """
    starts = []
    for _ in range(2):
        with start(tmp_path, "--lane", "algorand", "--surface", "gateway") as stack:
            ready = ready_line(stack)
            destinations = target.load(tmp_path / "weldproof.toml").webhook.destinations
            starts.append(
                {name: (one.url, one.secret.read(), one.tenant, one.events) for name, one in destinations.items()}
            )
            for name, destination in destinations.items():
                assert ready[f"webhook_{name}"] == destination.url
                assert Path(ready[f"webhook_{name}_secret_file"]) == destination.secret.file
                assert destination.secret.read() not in json.dumps(ready)
            assert stack.end() == 0
    first, again = starts
    assert first == again
    assert {name: tenant for name, (_, _, tenant, _) in first.items()} == {
        "first": "first",
        "first_too": "first",
        "second": "second",
    }
    assert len({secret for _, secret, _, _ in first.values()}) == 3
    assert all(20_000 <= (urlsplit(url).port or 0) < 32_000 and not listens(url) for url, _, _, _ in first.values())


@pytest.mark.parametrize("surface", ["rail", "gateway"])
def test_a_surface_starts_again_when_its_profile_asks(surface: str, tmp_path: Path) -> None:
    """The command in the profile ends when the surface serves again, at the same address, and the stack goes on."""
    with start(tmp_path, "--lane", "algorand", "--surface", surface) as stack:
        ready = ready_line(stack)
        before = int(dict(ready["pids"])[f"the {surface}"])
        words = target.load(tmp_path / "weldproof.toml").surfaces[surface].restart
        assert words is not None
        subprocess.run(words, check=True, timeout=300)
        assert not Path(f"/proc/{before}").exists()
        assert listens(ready[surface])
        assert stack.process.poll() is None


@pytest.mark.parametrize(("port_base", "algod", "rail"), [(None, 4001, 8402), (9000, 9000, 9002)])
def test_what_does_not_start_takes_no_usual_port(tmp_path: Path, port_base: int | None, algod: int, rail: int) -> None:
    """A program that uses the usual port of another chain or surface does not keep `--lane` from starting."""
    plan = Plan(tmp_path, port_base, lanes=("algorand",), surfaces=("rail",))
    assert (plan.port("algod"), plan.port("rail")) == (algod, rail)
    assert [plan.port(name) for name in ("base", "base_sepolia", "solana", "gateway", "agent")] == [0] * 5
