"""What the documents say of addons is what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from reference.addons.kit.settings import AddonSettings
from reference.protocol.credentials import REASONS
from reference.protocol.federation_token import MAX_CREDENTIALS, TOKEN_SECONDS
from reference.web.control_plane_link.link import LONGEST_RETRY, RENEW_SECONDS, ControlPlaneSettings
from tests.reference.addons.conftest import BUNDLED

DOCS = Path(__file__).parents[3] / "docs"
OF_OTHERS = {"wrong_audience", "unknown_proof_system", "proof_invalid"}
PAGE = (DOCS / "addons.md").read_text("utf-8")


def test_every_setting_is_told_with_its_default() -> None:
    """The table lists all settings of the hub with their defaults."""
    report = dict(re.findall(r"^\| `(S2_HUB_\w+)` \| (.+?) \|", PAGE, re.MULTILINE))
    setting_names = {f"S2_HUB_{name.upper()}" for name in ControlPlaneSettings.model_fields}
    assert set(report) == setting_names
    settings = ControlPlaneSettings()
    assert (report["S2_HUB_POLL_SECONDS"], report["S2_HUB_MAX_STALE_SECONDS"]) == (
        f"{settings.poll_seconds:g}",
        f"{settings.max_stale_seconds:g}",
    )
    assert f"| `WP_ADDON_RATE` | {AddonSettings().addon_rate} |" in PAGE


def test_reasons_are_told_in_their_order() -> None:
    """Those of a credential; an audience is a token's, a proof a receipt's."""
    reasons = re.search(r"looked for in this order: (.+?)\. `payload`", PAGE, re.DOTALL)
    assert reasons is not None
    assert re.findall(r"`(\w+)`", reasons[1]) == [reason for reason in REASONS if reason not in OF_OTHERS]


def test_numbers_are_those_of_the_code() -> None:
    """Ports, lifetimes and intervals."""
    assert f"1, 2, 4, … {LONGEST_RETRY:g} seconds" in PAGE
    assert f"renewed every {RENEW_SECONDS:g} seconds" in PAGE
    assert f"1 to {MAX_CREDENTIALS} credentials" in PAGE
    assert f"holds for {TOKEN_SECONDS} seconds" in PAGE
    for addon in BUNDLED.values():
        assert f"`weldproof-{addon.name}`, port {addon.port}" in PAGE


def test_rules_are_held_by_tests_that_exist() -> None:
    """Every file that the section about addons names is there."""
    section = (DOCS / "rules-held-by-tests.md").read_text("utf-8").partition("## The addons")[2].partition("\n## ")[0]
    root, names = DOCS.parent, re.findall(r"`([\w/]+\.py)`", section)
    assert len(names) > 8
    for name in names:
        assert (root / name).exists() or (root / "tests/reference/addons" / name).exists(), name
