"""`weldproof run CP-ADDON --addon -- COMMAND`: tests the user's addon, in any language, with the suite as its hub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from conformance.cli.usage import UsageFault
from conformance.target import Claims, Profile, Target
from conformance.target.hub import Addon

ADDON_ROWS: Final = "CP-ADDON"
NAME: Final = "yours"


def with_addon(profile: Profile | None, words: Sequence[str], url: str | None) -> Profile:
    """Return a profile with this addon as the only one.

    Args:
        profile: The target, or None; its control plane is used by rows that need a real one.
        words: The addon's command.
        url: Address of the addon; None for the port of the S2_HUB_SELF_URL that it receives.

    Raises:
        UsageFault: The command is missing, or the address is malformed.
    """
    if not words:
        raise UsageFault(
            "--addon needs the command of the addon after --: weldproof run CP-ADDON --addon -- node addon.mjs"
        )
    if url is not None and not url.startswith(("http://", "https://")):
        raise UsageFault(f"--addon-url {url}: give an address that begins with http:// or https://")
    base = profile or Profile(target=Target(name="an addon"))
    surfaces = tuple(dict.fromkeys((*base.claims.surfaces, "control_plane")))
    claims = Claims(surfaces=surfaces, lanes=base.claims.lanes, options=base.claims.options)
    hub = base.hub.model_copy(update={"bundled": ()})
    # The report lists fields that were set, because a verdict may depend on them.
    hub.model_fields_set.add("bundled")
    addons = {NAME: Addon(command=tuple(words), url=url)}
    return base.model_copy(update={"claims": claims, "hub": hub, "addons": addons})
