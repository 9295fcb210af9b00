"""Addresses of a network's nodes, from the environment (P-NW-02)."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from reference.lanes.descriptor import NodeSettings
from reference.protocol.networks import Network


def read_node_settings(network: Network) -> NodeSettings:
    """Return the addresses of a network's nodes, from `WP_NODE_<KEY>` and its companions; secrets are in files.

    Raises:
        ValueError: An address is malformed, or the file cannot be read; the text names the setting.
    """
    key = network.key.upper()
    node, indexer = _read_address(f"WP_NODE_{key}"), _read_address(f"WP_INDEXER_{key}")
    return NodeSettings(node, indexer, _read_secret(f"WP_NODE_TOKEN_{key}_FILE"))


def _read_address(name: str) -> str:
    text = os.environ.get(name, "")
    parts = urlsplit(text)
    if text and (parts.scheme not in {"http", "https"} or not parts.hostname):
        raise ValueError(f"{name}: give an http:// or https:// address")
    return text


def _read_secret(name: str) -> str:
    # A file and not the variable itself: the environment of a process is visible to others on its machine.
    path = os.environ.get(name, "")
    try:
        return Path(path).read_text("ascii").strip() if path else ""
    except (OSError, UnicodeDecodeError) as fault:
        raise ValueError(f"{name}: the file cannot be read") from fault
