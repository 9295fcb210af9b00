"""`weldproof init` at a control plane writes a profile that a run can use."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance import target
from conformance.cli import main
from tests.conformance.checks.control_plane.scripted_hub import TOKEN, Hub, serve_hub


def write_profile(url: str, folder: Path) -> tuple[str, target.Profile]:
    """Probe a server and return what was said, and the profile."""
    path = folder / "weldproof.toml"
    result = CliRunner().invoke(main, ["init", url, "--output", str(path)])
    assert result.exit_code == 0, result.output
    return result.output, target.load(path)


def test_a_control_plane_is_told_by_its_trust_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The surface is claimed; the token goes in by the name of its variable, and only where that is set."""
    hub = Hub(look="foreign")
    with serve_hub(hub) as url:
        monkeypatch.delenv("WELDPROOF_HUB_TOKEN", raising=False)
        output, profile = write_profile(url, tmp_path)
        assert (profile.claims.surfaces, profile.hub.token) == (("control_plane",), None)
        assert "WELDPROOF_HUB_TOKEN" in output
        (tmp_path / "weldproof.toml").unlink()
        monkeypatch.setenv("WELDPROOF_HUB_TOKEN", TOKEN)
        output, profile = write_profile(url, tmp_path)
        assert profile.hub.token == target.Secret(env="WELDPROOF_HUB_TOKEN")
        assert TOKEN not in (tmp_path / "weldproof.toml").read_text("utf-8") + output
    assert (hub.issuers, hub.services) == ({}, {})


def test_a_server_without_a_trust_set_is_none(tmp_path: Path) -> None:
    """A list is no trust set: nothing is claimed."""
    with serve_hub(Hub("a list for a trust set")) as url:
        result = CliRunner().invoke(main, ["init", url, "--output", str(tmp_path / "weldproof.toml")])
    assert result.exit_code == 3
    assert "not a surface that the suite knows" in result.output
