"""A small package of vectors and verifiers for it: real programs, each with one habit."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from conformance.vectors import Expected, FamilyInfo, Package, Vector

# What every program begins with: `right` is the true answer, `respond` what a test may redefine.
_PROGRAM_HEAD = """
import json, os, signal, subprocess, sys, time

def say(value):
    print(json.dumps(value), flush=True)

def hello(families=("numbers", "words")):
    say({"verifier": "made 1", "families": list(families)})

def right(asked):
    given = asked["input"]
    if asked["family"] == "words":
        if given["word"].islower():
            return {"n": asked["n"], "verdict": "valid"}
        return {"n": asked["n"], "verdict": "invalid", "stage": "case", "codes": ["upper"]}
    if given["value"] % 2 == 0:
        return {"n": asked["n"], "verdict": "valid", "values": {"half": given["value"] // 2}}
    return {"n": asked["n"], "verdict": "invalid", "stage": "parity", "codes": ["odd"], "why": "it is odd"}

def respond(asked):
    say(right(asked))

def finish():
    pass
"""
_END = """
for line in sys.stdin:
    asked = json.loads(line)
    if "protocol" in asked:
        hello()
    else:
        respond(asked)
finish()
"""


def program(folder: Path, habit: str = "", *, end: str = _END) -> tuple[str, ...]:
    """Return the command of a verifier that judges right but for its habit, some lines of Python."""
    text = _PROGRAM_HEAD + habit + end
    path = folder / f"verifier-{sha256(text.encode()).hexdigest()[:12]}.py"
    path.write_text(text, "utf-8")
    return (sys.executable, "-I", "-S", str(path))


def number(value: int, *, pinned_members: Sequence[str] = (), padding: str = "") -> Vector:
    """Return a vector that holds where its number is even."""
    even = value % 2 == 0
    kind = "valid/even" if even else "parity/odd"
    vector_input: dict[str, Any] = {"value": value, "padding": padding} if padding else {"value": value}
    expectation = Expected(
        even, None if even else "parity", () if even else ("odd",), {"half": value // 2} if even else {}
    )
    return _vector("numbers", f"numbers/{kind}/n{value}", vector_input, expectation, pinned_members)


def word(text: str, *, pinned_members: Sequence[str] = ()) -> Vector:
    """Return a vector that holds where its word has no capital letter."""
    low = text.islower()
    expectation = Expected(low, None if low else "case", () if low else ("upper",), {})
    return _vector(
        "words",
        f"words/{'valid/low' if low else 'case/high'}/{text.lower()}",
        {"word": text},
        expectation,
        pinned_members,
    )


def _vector(
    family: str, name: str, vector_input: dict[str, Any], expectation: Expected, pinned_members: Sequence[str]
) -> Vector:
    return Vector(
        family=family,
        id=name,
        kind="/".join(name.split("/")[1:3]),
        requirements=("GW-RCPT-06",),
        input=vector_input,
        expected=expectation,
        pinned=tuple(pinned_members),
        pins=("profile 0.0",) if pinned_members else (),
        doors=("offline",),
        fault=None if expectation.valid else "it is odd, or loud",
        origin="weldproof",
        why="a small one",
    )


NUMBERS = FamilyInfo("numbers", "numbers", "even numbers", {"value": "a number"}, ("parity",), ("half",))
WORDS = FamilyInfo("words", "words", "words in small letters", {"word": "a word"}, ("case",), ())
FAMILIES = {"numbers": NUMBERS, "words": WORDS}
VECTORS = (*(number(value) for value in range(8)), *(word(text) for text in ("low", "High", "lower", "Higher")))
PACKAGE = Package("9.1.0", FAMILIES, VECTORS)


def write_package(folder: Path, package: Package = PACKAGE) -> Path:
    """Write a package as it is published, so that a command can be given its folder."""
    files = {}
    for name in package.families:
        vectors = [
            {
                "id": vector.id,
                "kind": vector.kind,
                "requirements": list(vector.requirements),
                "input": dict(vector.input),
                "expected": {
                    "valid": vector.expected.valid,
                    "stage": vector.expected.stage,
                    "codes": list(vector.expected.codes),
                    "values": dict(vector.expected.values),
                },
                "pinned": list(vector.pinned),
                "pins": list(vector.pins),
                "doors": list(vector.doors),
                "fault": vector.fault,
                "origin": vector.origin,
                "why": vector.why,
            }
            for vector in package.vectors
            if vector.family == name
        ]
        document = {"format": "weldproof-vectors/1", "family": name, "vectors": vectors}
        data = json.dumps(document).encode()
        (folder / name).mkdir(parents=True)
        (folder / name / "made.json").write_bytes(data)
        files[f"{name}/made.json"] = sha256(data).hexdigest()
    families = {
        family.name: {
            "prefix": family.prefix,
            "title": family.title,
            "input": dict(family.input),
            "stages": list(family.stages),
            "told": list(family.told),
        }
        for family in package.families.values()
    }
    manifest = {"format": "weldproof-vectors/1", "version": package.version, "families": families, "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder
