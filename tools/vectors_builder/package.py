"""The package as a whole: its families, its version, the rules for a new one, and its manifest.

A version is MAJOR.MINOR.PATCH. MAJOR: a vector went, or asks or expects something else than under an earlier version.
MINOR: vectors were added. PATCH: only words changed (why, fault, origin, requirements, pinned, pins, doors). Each
version that was released stands in `releases.json` with the digest of all its files, so no version means two things.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

from conformance import vectors
from tools.vectors_builder import (
    audit_chains,
    canonical_json,
    challenges,
    falcon_envelopes,
    message_signatures,
    receipts,
    webhook_signatures,
    welds,
    zk_receipts,
)
from tools.vectors_builder.family import FORMAT, BuildFault, Family

VERSION: Final = "2.0.0"
FOLDER: Final = Path(vectors.__file__).parent
RELEASES: Final = "releases.json"
FAMILIES: Final[tuple[Family, ...]] = (
    receipts.FAMILY,
    webhook_signatures.FAMILY,
    message_signatures.FAMILY,
    challenges.FAMILY,
    welds.FAMILY,
    audit_chains.FAMILY,
    canonical_json.FAMILY,
    falcon_envelopes.FAMILY,
    zk_receipts.FAMILY,
)


class Bump(IntEnum):
    """How much of a version a change demands to be raised."""

    NOTHING = 0
    PATCH = 1
    MINOR = 2
    MAJOR = 3


def build(
    families: Iterable[Family] = FAMILIES,
    *,
    version: str = VERSION,
    before: Mapping[str, Any] | None = None,
    releases: Mapping[str, str] | None = None,
    release: bool = False,
) -> dict[str, bytes]:
    """Return every file of the package by its path in it: vectors, manifest and, with a release, the list of releases.

    Args:
        families: What it consists of.
        version: Its version.
        before: The present manifest; None if there is no manifest yet.
        releases: Digest of every version that was released.
        release: Whether this version is released now: from then on it can mean nothing else.

    Raises:
        BuildFault: A draft is wrong, or the version does not tell what has changed.
    """
    family_list = tuple(families)
    files = {f"{one.name}/{name}": data for one in family_list for name, data in one.build().items()}
    new_manifest = manifest(family_list, files, version)
    _demand_a_version(new_manifest, before, releases or {})
    release_file = {RELEASES: _text({**(releases or {}), version: new_manifest["digest"]})} if release else {}
    return {**files, vectors.MANIFEST: _text(new_manifest), **release_file}


def manifest(families: Iterable[Family], files: Mapping[str, bytes], version: str) -> dict[str, Any]:
    """Return the manifest of built files: version, families, a digest of every file and of every vector."""
    documents = {name: json.loads(data) for name, data in files.items()}
    vector_list = [family for document in documents.values() for family in document["vectors"]]
    counts = {
        family.name: sum(len(found["vectors"]) for found in documents.values() if found["family"] == family.name)
        for family in families
    }
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    return {
        "format": FORMAT,
        "version": version,
        "digest": _sum(sums),
        "families": {
            family.name: {
                "prefix": family.prefix,
                "title": family.title,
                "input": dict(family.input),
                "stages": list(family.stages),
                "told": list(family.reported_values),
                "vectors": counts[family.name],
            }
            for family in families
        },
        "files": sums,
        "vectors": {family["id"]: _sum([family["input"], family["expected"]]) for family in vector_list},
    }


def bump(before: Mapping[str, Any], after: Mapping[str, Any]) -> Bump:
    """Return what the change from one manifest to another demands."""
    old, new = before["vectors"], after["vectors"]
    if any(new.get(name) != digest for name, digest in old.items()):
        return Bump.MAJOR
    if new.keys() - old.keys():
        return Bump.MINOR
    return Bump.PATCH if before["files"] != after["files"] else Bump.NOTHING


def _demand_a_version(
    new_manifest: Mapping[str, Any], before: Mapping[str, Any] | None, releases: Mapping[str, str]
) -> None:
    version = new_manifest["version"]
    if releases.get(version, new_manifest["digest"]) != new_manifest["digest"]:
        change_note = (
            "" if before is None else f": what has changed demands a new {bump(before, new_manifest).name} version"
        )
        raise BuildFault(f"version {version} was released with other vectors{change_note}")
    if before is None or before["version"] == version:
        return
    demanded_part, raised_part = bump(before, new_manifest), _raised_part(before["version"], version)
    if raised_part < demanded_part:
        raise BuildFault(
            f"{before['version']} to {version}: what has changed demands a new {demanded_part.name} version"
        )


def _raised_part(old: str, new: str) -> Bump:
    """Return which part of a version was raised.

    Raises:
        BuildFault: No part was raised: the new version is not a later one.
    """
    old_parts, new_parts = ([int(part) for part in text.split(".")] for text in (old, new))
    if new_parts <= old_parts:
        raise BuildFault(f"{new} is no later version than {old}")
    place = next(place for place in range(3) if new_parts[place] != old_parts[place])
    return (Bump.MAJOR, Bump.MINOR, Bump.PATCH)[place]


def _sum(value: Any) -> str:
    """Return the SHA-256 of a value as compact JSON with sorted members, hex."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _text(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=True, indent=1) + "\n").encode("ascii")


def read_state(folder: Path) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """Return the manifest and the releases of a folder."""
    manifest_path, releases = folder / vectors.MANIFEST, folder / RELEASES
    return (
        json.loads(manifest_path.read_text("ascii")) if manifest_path.exists() else None,
        json.loads(releases.read_text("ascii")) if releases.exists() else {},
    )
