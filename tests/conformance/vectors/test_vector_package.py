"""The package as a whole: schemas, linter, rebuild, version, and that each of them can say no."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance import vectors
from conformance.vectors import PackageFault, Vector, linting, package, read
from conformance.vectors.judges import Verdict
from conformance.vectors.judges.table import judge as judge_of
from tools.vectors_builder import package as packaging
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.family import BuildFault, Family
from tools.vectors_builder.package import FAMILIES, FOLDER, RELEASES, Bump, build, bump, read_state

ROW = "GW-RCPT-01"


def test_every_file_keeps_its_schema() -> None:
    """Files, manifest, and the input of each vector by its family's schema; ASCII throughout."""
    assert list(linting.faults_of_form(FOLDER)) == []


def test_the_linter_finds_nothing() -> None:
    """Ids, kinds, rows, stages, codes, values, doors, pins, and no question asked twice."""
    assert list(linting.faults_of_sense(package())) == []


def test_there_are_enough() -> None:
    """At least 600 in nine families, each with some that hold and some that do not."""
    faults = package()
    assert len(faults.vectors) >= 600
    assert set(faults.families) == {one.name for one in FAMILIES}
    assert len(FAMILIES) == 9


@pytest.mark.slow
def test_the_build_gives_every_file_byte_for_byte() -> None:
    """From seeds and recordings alone, two unrelated libraries agreeing on the way; and the version is released."""
    before, releases = read_state(FOLDER)
    built_package = build(before=before, releases=releases, release=True)
    assert {name: data for name, data in built_package.items() if (FOLDER / name).read_bytes() != data} == {}
    file_names = {f"{path.parent.name}/{path.name}" for one in FAMILIES for path in (FOLDER / one.name).glob("*.json")}
    assert file_names == set(built_package) - {vectors.MANIFEST, RELEASES}


@pytest.mark.parametrize("name", [one.name for one in FAMILIES])
def test_our_own_verifier_says_what_is_expected(name: str) -> None:
    """Verdict, stage, codes and every value that the vector knows."""
    judge = judge_of(name)
    assert judge is not None
    for vector in vectors.of_family(name):
        faults = judge(vector.input)
        assert (vector.expected.valid, vector.expected.stage) == (faults.valid, faults.stage), vector.id
        assert set(vector.expected.codes) == set(faults.codes), vector.id
        assert {name: faults.values.get(name) for name in vector.expected.values} == dict(vector.expected.values), (
            vector.id
        )


# What the linter says no to.


def change_package(**members: Any) -> vectors.Package:
    """Return the package with its first vector changed."""
    faults = package()
    return replace(faults, vectors=(replace(faults.vectors[0], **members), *faults.vectors[1:]))


def refused_one() -> Vector:
    return next(one for one in package().vectors if not one.expected.valid)


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ({"id": package().vectors[1].id}, "have this id"),
        ({"id": "x/y/z/1"}, "prefix, kind and variant"),
        ({"input": package().vectors[1].input}, "asks what"),
        ({"requirements": ("GW-NONE-99",)}, "no row GW-NONE-99"),
        ({"expected": replace(refused_one().expected, stage="nowhere")}, "has no stage nowhere"),
        ({"expected": replace(refused_one().expected, codes=("ONE", "TWO"))}, "2 codes for one fault"),
        ({"doors": ("offline", "hosted")}, "last door"),
        ({"pinned": ("valid",), "pins": ()}, "pinned exactly where"),
    ],
)
def test_the_linter_says_no(members: dict[str, Any], complaint: str) -> None:
    """One thing wrong in one vector, and it is named."""
    assert [one for one in linting.faults_of_sense(change_package(**members)) if complaint in one] != []


def test_the_linter_counts() -> None:
    """A fourth vector of a kind, a stage that no vector reaches, a family in which nothing holds."""
    faults = package()
    kinds = [replace(faults.vectors[0], id=f"receipts/x/y/{n}", kind="x/y", origin="weldproof") for n in range(4)]
    assert any("4 vectors of the kind" in one for one in linting.faults_of_sense(replace(faults, vectors=tuple(kinds))))
    refused_vectors = tuple(one for one in faults.vectors if not one.expected.valid)
    assert any("no vector holds" in one for one in linting.faults_of_sense(replace(faults, vectors=refused_vectors)))
    holding = tuple(one for one in faults.vectors if one.expected.valid)
    assert any("no vector is refused" in one for one in linting.faults_of_sense(replace(faults, vectors=holding)))


@pytest.mark.parametrize(
    "change",
    [
        {"id": "jcs/x"},
        {"requirements": []},
        {"doors": []},
        {"fault": None},
        {"input": {}},
        {"expected": {"valid": False, "stage": None, "codes": [], "values": {}}},
        {"expected": {"valid": True, "stage": "x", "codes": ["X"], "values": {}}},
        {"expected": {"valid": False, "stage": "x", "codes": ["X"], "values": {"n": [1]}}},
        {"pinned": ["valid"], "pins": []},
        {"further": 1},
    ],
)
def test_the_schema_says_no(change: dict[str, Any], tmp_path: Path) -> None:
    """One thing wrong in one vector of a file that is right without it, and it is named."""
    folder = copy_package(tmp_path)
    path = next((folder / "receipts").glob("*.json"))
    name = f"receipts/{path.name}"
    manifest = json.loads((folder / vectors.MANIFEST).read_text("ascii"))
    only = {**manifest, "files": {name: manifest["files"][name]}}
    (folder / vectors.MANIFEST).write_text(json.dumps(only), "ascii")
    assert list(linting.faults_of_form(folder)) == []
    document = json.loads(path.read_text("ascii"))
    at = next(n for n, one in enumerate(document["vectors"]) if not one["expected"]["valid"])
    document["vectors"][at] = {**document["vectors"][at], **change}
    path.write_text(json.dumps(document), "ascii")
    faults = list(linting.faults_of_form(folder))
    assert faults
    assert {one.partition(":")[0] for one in faults} <= {name, document["vectors"][at]["id"]}


def copy_package(place: Path) -> Path:
    """Return a copy of the package."""
    return Path(shutil.copytree(FOLDER, place / "package", ignore=shutil.ignore_patterns("__pycache__")))


# Reading.


def test_a_file_that_was_changed_is_not_read(tmp_path: Path) -> None:
    """The manifest knows each file's digest; a package without a manifest is invalid."""
    folder = copy_package(tmp_path)
    assert read(folder) == package()
    path = folder / "manifest.json"
    first = next(iter(json.loads(path.read_text("ascii"))["files"]))
    (folder / first).write_bytes((folder / first).read_bytes() + b"\n")
    with pytest.raises(PackageFault, match=first):
        read(folder)
    (folder / first).unlink()
    with pytest.raises(PackageFault, match="missing"):
        read(folder)
    path.write_text("{}")
    with pytest.raises(PackageFault, match="form"):
        read(folder)
    path.unlink()
    with pytest.raises(PackageFault, match="no vector package"):
        read(folder)


# Building and versions, on a family of two vectors.


def judge_input(question: Any) -> Verdict:
    return Verdict.holds(twice=2 * question["n"]) if question["n"] > 0 else Verdict.refuse("sign", "NEGATIVE")


def small(*drafts: Draft, **members: Any) -> Family:
    family_members = {
        "name": "small",
        "prefix": "small",
        "title": "numbers",
        "input": {"n": "a number"},
        "stages": ("sign",),
    }
    return Family(**{**family_members, "files": {"all.json": (lambda: drafts,)}, "judge": judge_input, **members})


ONE_DRAFT = Draft("valid", "number", "one", {"n": 1}, "the smallest of them", (ROW,), values={"twice": 2})
MINUS = Draft("sign", "minus", "one", {"n": -1}, "a sign is a fault", (ROW,), fault="a minus", codes=("NEGATIVE",))


@pytest.mark.parametrize(
    "draft",
    [
        replace(ONE_DRAFT, input={"n": -1}),
        replace(ONE_DRAFT, values={"twice": 3}),
        replace(MINUS, input={"n": 1}),
        replace(MINUS, codes=("OTHER",)),
        replace(MINUS, codes=()),
    ],
)
def test_the_build_stops_at_a_draft_that_is_not_what_it_says(draft: Draft) -> None:
    """Verdict, code and values are what the suite finds."""
    assert set(build([small(ONE_DRAFT, MINUS)], version="1.0.0")) == {"small/all.json", "manifest.json"}
    with pytest.raises(BuildFault):
        build([small(draft)], version="1.0.0")


def test_the_build_stops_where_a_library_differs_without_a_reason() -> None:
    """A difference has a reason, and no reason is kept without a difference."""

    def says_no(draft: Draft) -> Iterator[str]:
        if draft is ONE_DRAFT:
            yield "a library says no"

    with pytest.raises(BuildFault, match="a library says no"):
        build([small(ONE_DRAFT, second=says_no)])
    reason = {"valid/number/one": "it counts from two"}
    assert build([small(ONE_DRAFT, second=says_no, differences=reason)]) == build([small(ONE_DRAFT)])
    with pytest.raises(BuildFault, match="do not differ"):
        build([small(ONE_DRAFT, differences=reason)])


@pytest.mark.parametrize(
    ("after", "demanded_bump"),
    [
        ((ONE_DRAFT, MINUS), Bump.NOTHING),
        ((replace(ONE_DRAFT, why="other words for it"), MINUS), Bump.PATCH),
        ((ONE_DRAFT, MINUS, replace(ONE_DRAFT, variant="two", input={"n": 2}, values={"twice": 4})), Bump.MINOR),
        ((ONE_DRAFT,), Bump.MAJOR),
        ((replace(ONE_DRAFT, input={"n": 5}, values={"twice": 10}), MINUS), Bump.MAJOR),
        ((replace(ONE_DRAFT, values={}), MINUS), Bump.MAJOR),
    ],
)
def test_what_changed_demands_a_version(after: tuple[Draft, ...], demanded_bump: Bump) -> None:
    """Words a patch, more vectors a minor, another question or answer a major one; released ones never change."""
    released_package = build([small(ONE_DRAFT, MINUS)], version="1.0.0", release=True)
    before, releases = json.loads(released_package["manifest.json"]), json.loads(released_package[RELEASES])
    family = small(*after)
    assert bump(before, json.loads(build([family])["manifest.json"])) is demanded_bump
    versions = {"1.0.0": Bump.NOTHING, "1.0.1": Bump.PATCH, "1.1.0": Bump.MINOR, "2.0.0": Bump.MAJOR}
    for version, question in versions.items():
        if question >= demanded_bump:
            build([family], version=version, before=before, releases=releases)
        else:
            with pytest.raises(BuildFault):
                build([family], version=version, before=before, releases=releases)


def test_a_version_is_never_used_again() -> None:
    """An earlier number is refused, and so is a released one with other vectors, even if no manifest stands there."""
    released_package = build([small(ONE_DRAFT, MINUS)], version="1.2.0", release=True)
    before, releases = json.loads(released_package["manifest.json"]), json.loads(released_package[RELEASES])
    with pytest.raises(BuildFault, match="no later version"):
        build([small(ONE_DRAFT, MINUS)], version="1.1.9", before=before, releases=releases)
    with pytest.raises(BuildFault, match="released with other vectors"):
        build([small(ONE_DRAFT)], version="1.2.0", releases=releases)
    assert json.loads(build([small(ONE_DRAFT)], version="2.0.0", releases=releases, release=True)[RELEASES]).keys() == {
        "1.2.0",
        "2.0.0",
    }


def test_this_version_is_the_one_that_stands_there() -> None:
    """The builder's number, the manifest's and the last release are one."""
    before, releases = read_state(FOLDER)
    assert before is not None
    assert packaging.VERSION == before["version"] == list(releases)[-1] == package().version
    assert releases[before["version"]] == before["digest"]
