"""Settings from the environment; a wrong one ends the start with status 2 and one line (specification 9)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reference.protocol.networks import add_local_networks
from reference.rail.settings import RailSettings
from reference.web.settings import read_settings


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("WP_")]:
        monkeypatch.delenv(name)


def test_the_defaults_are_the_profile_s() -> None:
    """A few of each kind, as the table of section 9 says."""
    settings = read_settings(RailSettings)
    assert (settings.service_word, settings.mode, settings.bind, settings.log_level) == (
        "Weldproof",
        "test",
        "127.0.0.1",
        "info",
    )
    assert (settings.rail_port, settings.public_url, settings.rail_scheme) == (8402, "http://localhost:8402", "exact")
    assert settings.rail_lanes == ("algorand_mainnet", "base_mainnet", "solana_mainnet")
    assert (settings.challenge_ttl, settings.rail_settle_window, settings.rail_store_seconds) == (1800, 900, 86400)
    assert (settings.rail_join_wait, settings.rail_confirm_wait, settings.rail_lease_seconds) == (10, 5, 30)
    assert (settings.rail_rate, settings.rate_limits, settings.body_limit) == (120, True, 65536)
    assert [settings.price(name) for name in ("receipt-verify", "rfc9421-verify", "compliance-receipt")] == [
        10_000,
        10_000,
        50_000,
    ]


WRONG = {
    "WP_SERVICE_WORD": "1st",
    "WP_MODE": "prod",
    "WP_LOG_LEVEL": "loud",
    "WP_RATE_LIMITS": "yes",
    "WP_BODY_LIMIT": "-1",
    "WP_TRUSTED_PROXIES": "everybody",
    "WP_FEATURES": "no-such-change",
    "WP_RAIL_PORT": "70000",
    "WP_RAIL_FD": "x",
    "WP_RAIL_PUBLIC_URL": "localhost:8402",
    "WP_RAIL_DB": "mysql://localhost/x",
    "WP_RAIL_LANES": "dogecoin_mainnet",
    "WP_LOCAL_NETWORKS": "no-such-file.json",
    "WP_RAIL_PRICES": "compliance-receipt=0",
    "WP_CHALLENGE_TTL": "0",
    "WP_RAIL_LEASE_SECONDS": "soon",
    "WP_RAIL_RATE": "1.5",
}


@pytest.mark.parametrize(("name", "value"), WRONG.items(), ids=WRONG)
def test_a_wrong_value_is_named_in_one_line(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, and a line on standard error that names the setting."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as failure:
        read_settings(RailSettings)
    assert failure.value.code == 2
    report = capsys.readouterr().err.strip()
    assert name in report
    assert "\n" not in report


@pytest.mark.parametrize(("name", "value"), [("WP_CLOCK_OFFSET_FILE", "clock"), ("WP_RATE_LIMITS", "off")])
def test_live_mode_refuses_what_is_for_tests(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No clock file and no switched-off limits where money is real."""
    monkeypatch.setenv("WP_MODE", "live")
    read_settings(RailSettings)
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as failure:
        read_settings(RailSettings)
    assert failure.value.code == 2


def test_lists_and_prices_are_read_from_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commas separate, white space around them does not count; a price that is not set keeps its default."""
    monkeypatch.setenv("WP_RAIL_LANES", " algorand_testnet , algorand_mainnet ")
    monkeypatch.setenv("WP_RAIL_PRICES", "receipt-verify=20000")
    settings = read_settings(RailSettings)
    assert settings.rail_lanes == ("algorand_testnet", "algorand_mainnet")
    assert (settings.price("receipt-verify"), settings.price("compliance-receipt")) == (20_000, 50_000)


def test_lanes_may_name_a_network_of_the_file_of_local_networks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The file is read before the settings that name networks, and without it the same key is unknown (P-NW-02)."""
    rows = tmp_path / "local_networks.json"
    row = {"key": "algorand_localnet", "event": "algorand:a-v1", "caip2": "algorand:a", "asset_id": "1001"}
    rows.write_text(json.dumps([{**row, "decimals": 6, "family": "algorand"}]))
    monkeypatch.setenv("WP_RAIL_LANES", "algorand_localnet")
    with pytest.raises(SystemExit):
        read_settings(RailSettings)
    monkeypatch.setenv("WP_LOCAL_NETWORKS", str(rows))
    try:
        assert read_settings(RailSettings).rail_lanes == ("algorand_localnet",)
    finally:
        rows.write_text("[]")
        add_local_networks(rows)
