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
    kept = tuple(families)
    built = {f"{one.name}/{name}": data for one in kept for name, data in one.build().items()}
    made = manifest(kept, built, version)
    _demand_a_version(made, before, releases or {})
    listed = {RELEASES: _text({**(releases or {}), version: made["digest"]})} if release else {}
    return {**built, vectors.MANIFEST: _text(made), **listed}


def manifest(families: Iterable[Family], built: Mapping[str, bytes], version: str) -> dict[str, Any]:
    """Return the manifest of built files: version, families, a digest of every file and of every vector."""
    documents = {name: json.loads(data) for name, data in built.items()}
    listed = [one for document in documents.values() for one in document["vectors"]]
    counted = {
        one.name: sum(len(found["vectors"]) for found in documents.values() if found["family"] == one.name)
        for one in families
    }
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in built.items()}
    return {
        "format": FORMAT,
        "version": version,
        "digest": _sum(sums),
        "families": {
            one.name: {
                "prefix": one.prefix,
                "title": one.title,
                "input": dict(one.input),
                "stages": list(one.stages),
                "told": list(one.told),
                "vectors": counted[one.name],
            }
            for one in families
        },
        "files": sums,
        "vectors": {one["id"]: _sum([one["input"], one["expected"]]) for one in listed},
    }


def bump(before: Mapping[str, Any], after: Mapping[str, Any]) -> Bump:
    """Return what the change from one manifest to another demands."""
    old, new = before["vectors"], after["vectors"]
    if any(new.get(name) != digest for name, digest in old.items()):
        return Bump.MAJOR
    if new.keys() - old.keys():
        return Bump.MINOR
    return Bump.PATCH if before["files"] != after["files"] else Bump.NOTHING


def _demand_a_version(made: Mapping[str, Any], before: Mapping[str, Any] | None, releases: Mapping[str, str]) -> None:
    version = made["version"]
    if releases.get(version, made["digest"]) != made["digest"]:
        told = "" if before is None else f": what has changed demands a new {bump(before, made).name} version"
        raise BuildFault(f"version {version} was released with other vectors{told}")
    if before is None or before["version"] == version:
        return
    demanded, given = bump(before, made), _raised(before["version"], version)
    if given < demanded:
        raise BuildFault(f"{before['version']} to {version}: what has changed demands a new {demanded.name} version")


def _raised(old: str, new: str) -> Bump:
    """Return which part of a version was raised.

    Raises:
        BuildFault: None was: the new one is no later version.
    """
    one, other = ([int(part) for part in text.split(".")] for text in (old, new))
    if other <= one:
        raise BuildFault(f"{new} is no later version than {old}")
    place = next(place for place in range(3) if other[place] != one[place])
    return (Bump.MAJOR, Bump.MINOR, Bump.PATCH)[place]


def _sum(value: Any) -> str:
    """Return the SHA-256 of a value as compact JSON with sorted members, hex."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _text(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=True, indent=1) + "\n").encode("ascii")


def standing(folder: Path) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """Return the manifest and the releases that stand in a folder."""
    made, releases = folder / vectors.MANIFEST, folder / RELEASES
    return (
        json.loads(made.read_text("ascii")) if made.exists() else None,
        json.loads(releases.read_text("ascii")) if releases.exists() else {},
    )
