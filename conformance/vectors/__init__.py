"""Reader of the vector package: JSON files, their schemas, and a manifest (rules in README.md of this folder)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any
from zipfile import Path as ZipPath

from conformance.text.files import LARGEST_REPORT, TooLarge, read_file

# `manifest.json` contains the version, the families, and a digest of each file and of each vector's question with its
# answer. The meaning of an id never changes: another question or answer gets a new id, and the package a new version.
# Every signature was made at a time in the past, so an implementation that limits age by itself refuses all of them.
FORMAT = "weldproof-vectors/1"
MANIFEST = "manifest.json"
# The name of the package's archive in a wheel (setup.py).
_ARCHIVE = "vectors.zip"
# The origin of vectors of this project.
OWN_ORIGIN = "weldproof"


class PackageFault(Exception):
    """A folder without a complete vector package; the text names the file and its fault."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected answer to a vector.

    Attributes:
        valid: The verdict.
        stage: The stage of its family that refuses it; None for a valid vector.
        codes: Codes of the refusal, in any order; more than one only for vectors of another origin.
        values: Values that can be computed from it, by name.
    """

    valid: bool
    stage: str | None
    codes: tuple[str, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Vector:
    """One question to a verifier, with its answer.

    Attributes:
        family: Name of its family.
        id: Stable name: prefix, stage, fault, variant.
        kind: Stage and fault; at most three vectors share it.
        requirements: Rows of the ledger to which it belongs.
        input: The question for a verifier.
        expected: The expected answer.
        pinned: Members of `expected` that only the profile decides. With `valid` among them, an implementation that
            answers differently breaks no standard.
        pins: The clauses beyond the standards on which the verdict depends, if any.
        doors: Endpoints to which it can be sent; `offline` means only a separate verifier.
        fault: The one fault in a sentence; None for a valid vector.
        origin: Its author.
        why: The reason why it exists.
    """

    family: str
    id: str
    kind: str
    requirements: tuple[str, ...]
    input: Mapping[str, Any]
    expected: Expected
    pinned: tuple[str, ...]
    pins: tuple[str, ...]
    doors: tuple[str, ...]
    fault: str | None
    origin: str
    why: str

    @property
    def decided_by_standard(self) -> bool:
        """Whether the verdict follows from the interface and its standards, without the profile."""
        return "valid" not in self.pinned


class MessageVector(Vector):
    """A vector of RFC 9421: one signed message."""

    __slots__ = ()

    @property
    def message(self) -> Mapping[str, Any]:
        """Members of profile 6.2; `related_request` and `trailers` only where `doors` leaves out the agent."""
        message: Mapping[str, Any] = self.input["message"]
        return message

    @property
    def key(self) -> Mapping[str, str]:
        """`public_key_hex` or `did_key`; of other algorithms `public_key_pem` or `secret_b64`; and `algorithm`."""
        key: Mapping[str, str] = self.input["key"]
        return key

    @property
    def policy(self) -> Mapping[str, Any]:
        """Policy members of profile 6.2."""
        policy: Mapping[str, Any] = self.input["policy"]
        return policy

    @property
    def signature_base(self) -> str | None:
        """The signature base as text, the same for every verifier; None if it cannot be made completely."""
        base: str | None = self.expected.values.get("signature_base")
        return base

    @property
    def request(self) -> dict[str, Any]:
        """The body for an agent's verify or explain: message, expected key and policy together."""
        key = {name: value for name, value in self.key.items() if name != "algorithm"}
        return {**self.message, **key, **self.policy}


@dataclass(frozen=True, slots=True)
class FamilyInfo:
    """The description of one family of vectors.

    Attributes:
        name: The name of its folder, which verifiers get as the family's name.
        prefix: The prefix of its vectors' ids.
        title: Its title, in a few words.
        input: The members of a question, with a sentence for each.
        stages: The stages at which vectors are refused, in the order of judging.
        told: Values that a verifier must return for a valid vector.
    """

    name: str
    prefix: str
    title: str
    input: Mapping[str, str]
    stages: tuple[str, ...]
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Package:
    """A vector package: its version, its families by name, and every vector in the order of files and places."""

    version: str
    families: Mapping[str, FamilyInfo]
    vectors: tuple[Vector, ...]


@cache
def package() -> Package:
    """Return the package that is part of this distribution."""
    return read(folder())


def folder() -> Traversable:
    """Return the folder of this distribution's package: in a checkout as it is, in a wheel within an archive."""
    package_folder = files(__name__)
    # A wheel contains one archive instead of thousands of files, which would take minutes to install.
    archive = package_folder / _ARCHIVE
    return ZipPath(str(archive)) if archive.is_file() else package_folder


@cache
def of_family(name: str) -> tuple[Vector, ...]:
    """Return the vectors of one family.

    Raises:
        KeyError: There is no such family.
    """
    all_vectors = package()
    return tuple(one for one in all_vectors.vectors if one.family == all_vectors.families[name].name)


def message_signatures() -> tuple[MessageVector, ...]:
    """Return the vectors of RFC 9421 and RFC 9530, in the order of their files and places."""
    return tuple(one for one in of_family("message_signatures") if isinstance(one, MessageVector))


def read(folder: Traversable) -> Package:
    """Read the package in a folder, such as an unpacked archive.

    Raises:
        PackageFault: It contains no package, or a file is missing, cannot be read, or differs from the manifest.
    """
    manifest = _manifest(folder)
    try:
        families = {name: FamilyInfo(name=name, **_family(told)) for name, told in manifest["families"].items()}
        vectors: list[Vector] = []
        for name, digest in manifest["files"].items():
            # The digest is checked before the file is parsed: a changed file would make verdicts that no release
            # contains.
            document = _document(folder, name, digest)
            make = MessageVector if document["family"] == "message_signatures" else Vector
            vectors += (_vector(make, document["family"], one) for one in document["vectors"])
        return Package(str(manifest["version"]), families, tuple(vectors))
    except (KeyError, TypeError, AttributeError) as fault:
        raise PackageFault(f"it is not of the form {FORMAT}: {type(fault).__name__}: {str(fault)[:200]}") from fault


def bytes_of(folder: Traversable, name: str) -> bytes:
    """Return the bytes of a file of a package; names that lead out of the package are refused.

    Raises:
        PackageFault: It is missing, outside the folder, or larger than any file of vectors.
    """
    parts = str(name).split("/")
    # A downloaded package may be hostile: its manifest must not make this reader open other files of the machine.
    if any(part in {"", ".", ".."} or "\\" in part or ":" in part for part in parts):
        raise PackageFault(f"{name!r} is no name of a file in a package")
    file = folder.joinpath(*parts)
    if isinstance(file, Path) and not file.resolve().is_relative_to(Path(str(folder)).resolve()):
        raise PackageFault(f"{name} leads out of the package")
    try:
        if isinstance(file, Path):
            if file.exists() and not file.is_file():  # a pipe of an archive would be read for ever
                raise PackageFault(f"{name} is no regular file")
            return read_file(file, LARGEST_REPORT)
        return file.read_bytes()
    except (OSError, TooLarge) as fault:
        raise PackageFault(f"{name} is missing" if isinstance(fault, OSError) else f"{name}: {fault}") from fault


def _manifest(folder: Traversable) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads(bytes_of(folder, MANIFEST))
    except (ValueError, RecursionError, PackageFault) as fault:
        raise PackageFault(f"{MANIFEST} cannot be read: no vector package there") from fault
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise PackageFault(f"{MANIFEST} is not of the form {FORMAT}")
    return manifest


def _family(entry: Mapping[str, Any]) -> dict[str, Any]:
    lists = {name: tuple(entry[name]) for name in ("stages", "told")}
    if not isinstance(entry["title"], str):
        raise TypeError("a title is a text")
    return {"prefix": entry["prefix"], "title": entry["title"], "input": entry["input"], **lists}


def _document(folder: Traversable, name: str, digest: str) -> dict[str, Any]:
    data = bytes_of(folder, name)
    if hashlib.sha256(data).hexdigest() != digest:
        raise PackageFault(f"{name} is not the file of the manifest: its SHA-256 is another")
    try:
        document: dict[str, Any] = json.loads(data)
    except (ValueError, RecursionError) as fault:
        raise PackageFault(f"{name} is not JSON") from fault
    return document


def _vector(make: type[Vector], family: str, entry: Mapping[str, Any]) -> Vector:
    expected = Expected(**{**entry["expected"], "codes": tuple(entry["expected"]["codes"])})
    texts = [*(entry[name] for name in ("id", "kind", "origin", "why")), *entry["requirements"]]
    texts += [text for text in (entry["fault"], expected.stage) if text is not None]
    if not all(isinstance(text, str) for text in texts):
        # Checked by hand, since the reader must work without a schema library.
        raise TypeError("id, kind, requirements, stage, fault, origin and why are texts")
    lists = {name: tuple(entry[name]) for name in ("requirements", "pinned", "pins", "doors")}
    return make(**{**entry, **lists, "family": family, "expected": expected})
