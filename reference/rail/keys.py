"""The keys of one rail: its own, and those of others whose receipts it accepts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reference.protocol.keys import did_web
from reference.rail.settings import RailSettings
from reference.rail.signed_answers import PlatformKeys, Signer
from reference.store.used_key_ids import UsedKeyIds
from reference.web.clock import WpClock
from reference.web.first_start import open_signing_key
from reference.web.keyring import KeyFile
from reference.web.reloaded_file import ReloadedFile
from reference.web.settings import name_setting
from reference.web.trusted_keys_file import open_trusted_keys


@dataclass(frozen=True, slots=True)
class RailKeys:
    """The rail's signing keys and the trusted keys of other issuers, each as its file holds them now."""

    key_file: KeyFile
    trusted_keys: ReloadedFile[tuple[Mapping[str, Any], ...]]

    def faults(self) -> list[str]:
        """Return what is wrong with the files now."""
        return [keys.fault for keys in (self.key_file, self.trusted_keys) if keys.fault]


async def open_signing_keys(settings: RailSettings, known_keys: UsedKeyIds, clock: WpClock) -> RailKeys:
    """Return the signing keys, made at a first start only, and the trusted keys of other issuers.

    Raises:
        Misconfigured: A file cannot be used.
    """
    key_file = KeyFile(settings.signing_key_file, clock, settings.retired_key_days)
    with name_setting("WP_RAIL_SIGNING_KEY_FILE"):
        await open_signing_key(known_keys, "rail", key_file)
    with name_setting("WP_RAIL_TRUSTED_JWKS"):
        return RailKeys(key_file, open_trusted_keys(settings.rail_trusted_jwks))


def build_signer(settings: RailSettings, clock: WpClock, keys: RailKeys) -> Signer:
    """Return the signer of answers with these keys."""
    return Signer(
        settings,
        clock,
        keys.key_file,
        did=did_web(settings.public_url),
        platform_keys=PlatformKeys(keys.trusted_keys),
    )
