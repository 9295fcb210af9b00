"""Settings of services as `up` knows them: an unknown one is refused, and none is left out without a word."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from pydantic_settings import BaseSettings

from localnet import setting_names
from localnet.__main__ import main
from reference.addons.kit.settings import AddonSettings
from reference.agent.settings import AgentSettings
from reference.control_plane.settings import ControlPlaneSettings
from reference.gateway.settings import GatewaySettings
from reference.lanes.registry import LANES, payee_setting
from reference.rail.settings import RailSettings
from reference.web.control_plane_link.link import ControlPlaneSettings as HubSettings

KINDS: tuple[type[BaseSettings], ...] = (
    *(RailSettings, GatewaySettings, AgentSettings, ControlPlaneSettings, AddonSettings, HubSettings),
)


def test_the_names_are_those_that_services_read() -> None:
    """None too many, none too few."""
    read = {
        str(field.validation_alias or (str(kind.model_config.get("env_prefix", "")) + name).upper())
        for kind in KINDS
        for name, field in kind.model_fields.items()
    }
    payees = {payee_setting(lane) for lane in LANES}
    assert (read - {"WP_RAIL_PAYTO"}) | payees == setting_names.NAMES


@pytest.mark.parametrize(
    "name", ["WP_NODE_ALGORAND_MAINNET", "WP_INDEXER_ALGORAND_TESTNET", "WP_NODE_TOKEN_ALGORAND_MAINNET_FILE"]
)
def test_addresses_of_nodes_are_settings(name: str) -> None:
    """Their names hold a network's key."""
    assert setting_names.is_known(name)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("FOO", "WP_"),
        ("WP_SERVICEWORD", "WP_SERVICE_WORD"),
        ("SERVICE_WORD", "WP_SERVICE_WORD"),
        ("wp_service_word", "WP_SERVICE_WORD"),
        ("WP_RAIL_PRICE", "WP_RAIL_PRICES"),
    ],
)
def test_an_unknown_setting_is_refused_with_the_nearest_name(name: str, near: str) -> None:
    """Usage, before anything is started."""
    result = CliRunner().invoke(main, ["up", "--setting", f"{name}=bar"])
    assert result.exit_code == 2
    assert f"no service takes a setting {name}; nearest is {near}" in result.output


def test_settings_in_the_environment_are_told() -> None:
    """Only the settings that services would read, unless they are also given to `up`."""
    environment = ("WP_SERVICE_WORD", "WP_MODE", "S2CP_DB", "HOME", "WP_CONTENT_DIR")
    assert setting_names.left_out(environment, {"WP_MODE"}) == ["S2CP_DB", "WP_SERVICE_WORD"]
