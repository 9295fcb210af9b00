"""The gateway's part of a drafted profile: what was found out as tables, what was not as lines to fill in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from pydantic import BaseModel, ValidationError
from tomlkit.exceptions import TOMLKitError

from conformance.surfaces.gateway.probing import DiscoveredGateway
from conformance.target import LANES, Gateway, ProfileError
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.networks import network_named

_TENANTS_HELP = """
# Credentials of tenants: keys by environment variable or file, never by value. Without `first`, what needs a tenant is
# inconclusive; without `second`, what needs two. `payout` gives a tenant's payout addresses, its usual network first.
# [tenants.first]
# id = "00000000-0000-0000-0000-000000000000"
# key = { env = "TENANT_FIRST_KEY" }
# [tenants.first.payout]
# algorand_testnet = "..."
"""
_PAYOUT_HELP = """
# Where each tenant is paid, as set in its settings; the checkout pages are held to it.
"""
_SECOND_HELP = """
# A second tenant shows that tenants are kept apart.
# [tenants.second]
# id = "..."
# key = { env = "TENANT_SECOND_KEY" }
"""
_LIMITED_HELP = """
# Limit rows send bursts, and let minutes and a day pass. With a service of its own for them, best one with a test
# clock, they are fast; without, they wait at the target as long as [budgets] wait_for_expiry allows.
# [limited.gateway]
# url = "https://limited.example"
# offset_file = "clock"
# [limited.gateway.tenants.first]
# id = "..."
# key = { env = "LIMITED_FIRST_KEY" }
"""
_CLOCK_HELP = """
# Where the target adds the seconds in a file to its clock, rows about expiry, redelivery and windows need no waiting.
# [clock]
# offset_file = "clock_offset"
"""
_WORD_HELP = """
# In [target] above: the word that names the target's own headers, as in X-Acme-Signature.
# service_word = "Acme"
"""
_WEBHOOK_HELP = """
# Webhooks: configure destinations at the target that the suite can receive at, and give URL and secret of each. Add
# "webhooks" to [claims] surfaces then. Two destinations of one tenant show that each gets the event, signed with its
# own secret. No probe can tell a secret: it is shown once, when the destination is configured.
# [webhook]
# signed_string = "{t}.{body}"                  # what v1 covers; unset, the usual strings are tried
# key = "text"                                  # or "base64", "hex": what the secret behind its prefix is decoded as
# header = "X-Service-Signature"                # unset, X-<service_word>-Signature
# timeout = 5                                   # seconds until an attempt without an answer has failed
# schedule = [30, 120]                          # seconds from a failed attempt to the next
# [webhook.destinations.first]
# url = "http://127.0.0.1:8097/first"           # as the target has it
# secret = { env = "WEBHOOK_FIRST_SECRET" }
# tenant = "first"
# listen = "127.0.0.1:8097"                     # what the suite binds, where that is not the URL's host and port
# [networks.algorand_testnet]
# event = "algorand:testnet"                    # how events write the network
"""
# Bindings that no probe discovers, with the line to fill in.
_UNKNOWN: Mapping[str, str] = {
    "jwks_path": '# jwks_path = "/.well-known/jwks.json"        # where the gateway publishes its key',
    "openapi_path": '# openapi_path = "/openapi.json"             # where the gateway publishes an OpenAPI document',
    "receipt_member": '# receipt_member = "jws"                      # member that carries the receipt to verify',
    "screen_body": "# screen_body = { ... }                       # a body that POST /compliance/screen accepts",
    "resource_body": '# resource_body = { name = "x-{unique}" }     # a body that POST /v1/resources accepts',
    "checkout_selectors": '# checkout_selectors = { memo = "#memo" }     # CSS selectors of the checkout page',
    "memo": '# memo = { algorand = "note" }                # how exactly payments carry the memo (docs/profile.md)',
    "longest_label": "# longest_label = 255                         # characters that a label may have",
    "limits": '# limits = "raised"                           # where a rate limit would be in the way of a run',
    "screen_fixtures": "# screen_fixtures = { ALLOW = { ... } }       # bodies by the verdict of their screening",
    "screen_receipt_member": '# screen_receipt_member = "..."             # member of the screening with its receipt',
    "receipt_hash_member": '# receipt_hash_member = "..."               # member that tells which payment is expected',
    "receipt_file": '# receipt_file = "receipt.jws"             # a receipt that the platform signed',
    "link_body": '# link_body = { order_id = "7" }              # further members that a link needs',
    "currency": '# currency = "USDC"                           # the code that prices a link in USDC',
    "receipt_codes": "# receipt_codes = [ ... ]                     # the nine typed codes of receipt verification",
    "edge_url": '# edge_url = "https://edge.example"           # the edge host, where there is one',
}

_OF_RECEIPTS = frozenset({"jwks_path", "receipt_member", "receipt_hash_member", "receipt_codes", "receipt_file"})


def writable(value: Any) -> bool:
    """Return whether a profile can hold a value that a server published: TOML has no null, UTF-8 no lone surrogate."""
    try:
        # Writing it is the simplest proof that it can be written.
        tomlkit.dumps({"value": value}).encode()
    except (ValueError, TypeError, TOMLKitError):
        return False
    return True


def bindable(table: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those members of a profile's table that it takes: what a server says of itself may be anything.

    Args:
        table: The table's model.
        values: Members by name.
    """
    return {name: value for name, value in values.items() if writable(value) and _is_taken(table, name, value)}


def _is_taken(table: type[BaseModel], name: str, value: Any) -> bool:
    try:
        table.model_validate({name: value})
    except (ValidationError, ProfileError):
        return False
    return True


def gateway_tables(gateway: DiscoveredGateway, tenants: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Return the tables of a profile that describe a gateway.

    Args:
        gateway: The discovered gateway.
        tenants: Id and environment variable of the key, by the tenant's name.
    """
    tables: dict[str, Any] = {"gateway": bindable(Gateway, gateway.bindings)}
    if tenants:
        tables["tenants"] = {name: _tenant(gateway, name, *given) for name, given in tenants.items()}
    return tables


def _tenant(gateway: DiscoveredGateway, name: str, tenant_id: str, variable: str) -> dict[str, Any]:
    networks = gateway.networks.get(name, [])
    return {"id": tenant_id, "key": {"env": variable}, **({"networks": networks} if networks else {})}


def gateway_help(gateway: DiscoveredGateway, tenants: Mapping[str, tuple[str, str]], clock: str | None) -> str:
    """Return the commented lines that follow, for the bindings that the probe did not discover.

    Args:
        gateway: The discovered gateway.
        tenants: Id and environment variable of the key, by the tenant's name.
        clock: The file of the target's clock, if the profile has it already.
    """
    last = ("" if clock is not None else _CLOCK_HELP) + _WORD_HELP + _LIMITED_HELP + _WEBHOOK_HELP
    unknown = [
        line
        for name, line in _UNKNOWN.items()
        if name not in gateway.bindings and (name in _OF_RECEIPTS or not gateway.receipts_only)
    ]
    text = "\n# Names of [gateway] that were not found; uncomment there what you know.\n" + "\n".join(unknown) + "\n"
    if gateway.receipts_only:
        return text
    if not tenants:
        return text + _TENANTS_HELP + last
    text += "".join(
        f'# [networks.{key}]\n# network = "algorand_testnet"          # which network that is\n'
        for key in dict.fromkeys(key for keys in gateway.networks.values() for key in keys)
        if network_named(key) is None
    )
    text += _PAYOUT_HELP
    for name in tenants:
        text += f"# [tenants.{name}.payout]\n" + "".join(f'# {one} = "..."\n' for one in gateway.networks.get(name, ()))
    return text + ("" if "second" in tenants else _SECOND_HELP) + last


def lanes_of(gateway: DiscoveredGateway) -> list[str]:
    """Return the lanes that the gateway's links were created for."""
    chains = {network.partition("_")[0] for networks in gateway.networks.values() for network in networks}
    return [lane for lane in LANES if lane in chains]


def networks_of(gateway: DiscoveredGateway) -> dict[str, str]:
    """Return the first network of each lane that the gateway's links were created for."""
    keys = [network for networks in gateway.networks.values() for network in networks]
    firsts = {lane: next((key for key in keys if key.partition("_")[0] == lane), None) for lane in LANES}
    return {lane: key for lane, key in firsts.items() if key is not None}


def checkout_nodes_help(gateway: DiscoveredGateway, tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the commented lines for nodes of checkout payments, where `[chains]` has none of that network."""
    text = ""
    for lane, key in networks_of(gateway).items():
        table = tables.get(lane)
        # A lane has one node in [chains]. If links are paid on another network than calls, the gateway needs its own.
        if table is not None and table["network"] != key:
            node = FACTS[lane].options[0].member
            text += (
                f"\n# Links are paid on {key}, and the node of [chains.{lane}] is of {table['network']}.\n"
                f'# [gateway.chains.{lane}]\n# network = "{key}"\n# {node} = "..."\n'
            )
    return text
