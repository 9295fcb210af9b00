"""The chapter of settings names every setting that a service reads, and its default where that is a number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings

from reference.addons.kit.settings import AddonSettings
from reference.agent.settings import AgentSettings
from reference.control_plane.settings import ControlPlaneSettings
from reference.gateway.settings import GatewaySettings
from reference.lanes.registry import LANES, payee_setting
from reference.rail.settings import RailSettings
from reference.web.control_plane_link.link import ControlPlaneSettings as HubSettings

PAGE = Path(__file__).parents[3] / "docs/spec/9-settings.md"
# A port stands beside its surface; how a socket is handed over is between a launcher and its child.
LAUNCHED = re.compile(r"_(FD|PORT)$")


def read_defaults() -> dict[str, str]:
    """Return what the page gives as each setting's default."""
    by_name: dict[str, str] = {}
    for names, default in re.findall(r"^\| (`(?:WP|S2)[^|]+?) \| ([^|]+?) \|", PAGE.read_text("utf-8"), re.MULTILINE):
        setting_names = re.findall(r"`((?:WP|S2)\w+)`", names)
        values = default.split(", ")
        by_name.update(
            zip(
                setting_names,
                values if len(values) == len(setting_names) else [default] * len(setting_names),
                strict=True,
            )
        )
    return by_name


def read(kind: type[BaseSettings]) -> dict[str, object]:
    """Return the defaults of the settings that a service reads, by their names in the environment."""
    prefix = str(kind.model_config.get("env_prefix", ""))
    by_name: dict[str, object] = {}
    for name, field in kind.model_fields.items():
        # A payee a lane, each by a name of its own.
        own = [str(field.validation_alias or prefix + name.upper())]
        names = [payee_setting(lane) for lane in LANES] if name == "rail_payto" else own
        by_name.update(dict.fromkeys(names, field.default))
    return {name: default for name, default in by_name.items() if not LAUNCHED.search(name)}


@pytest.mark.parametrize(
    "kind", [GatewaySettings, RailSettings, AgentSettings, ControlPlaneSettings, AddonSettings, HubSettings]
)
def test_every_setting_is_on_the_page(kind: type[BaseSettings]) -> None:
    """By its name, with its default where that is a number."""
    page = PAGE.read_text("utf-8")
    assert not [name for name in read(kind) if f"`{name}`" not in page]
    numbers = {name: value for name, value in read(kind).items() if type(value) in {int, float}}
    assert numbers == {name: float(read_defaults()[name].split()[0]) for name in numbers}


def test_what_is_not_offered_is_not_on_the_page() -> None:
    """A name on the page is a setting that a service reads; a node's are read by its network."""
    kinds = (GatewaySettings, RailSettings, AgentSettings, ControlPlaneSettings, AddonSettings, HubSettings)
    known_names = {name for kind in kinds for name in read(kind)}
    assert not {name for name in read_defaults() if not LAUNCHED.search(name)} - known_names
