"""`weldproof vectors list`, `show`, `check` and `archive`: the package looked at, checked and packed."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance import vectors
from conformance.cli.vectors import command


def run_command(*words: object) -> tuple[int, str]:
    """Return exit code and everything printed."""
    result = CliRunner().invoke(command, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def unpack(place: Path) -> Path:
    """Return the folder of an archive, unpacked."""
    assert run_command("archive", place / "v.zip")[0] == 0
    with zipfile.ZipFile(place / "v.zip") as archive:
        archive.extractall(place)  # noqa: S202 - it was made a line ago
    return place / f"weldproof-vectors-{vectors.package().version}"


def test_list_shows_families_and_their_numbers() -> None:
    """Version, and a line a family with its title."""
    code, output = run_command("list")
    assert code == 0
    assert vectors.package().version in output.splitlines()[0]
    for name, family in vectors.package().families.items():
        line = next(line for line in output.splitlines() if line.startswith(name))
        assert line.endswith(family.title)
        assert str(len(vectors.of_family(name))) in line.split()


@pytest.mark.parametrize(
    ("words", "is_wanted"),
    [
        (["rfc9421/digest/missing"], lambda one: one.id.startswith("rfc9421/digest/missing")),
        (["rfc9421/*/small-order/*"], lambda one: "/small-order/" in one.id and one.family == "message_signatures"),
        (["--family", "receipts", "--each"], lambda one: one.family == "receipts"),
        (["--row", "agent-verify-01"], lambda one: "AGENT-VERIFY-01" in one.requirements),
    ],
)
def test_list_chooses(words: list[str], is_wanted: object) -> None:
    """By id, pattern, family and row; as text a line a vector, as JSON with what is expected."""
    chosen_ids = [one.id for one in vectors.package().vectors if is_wanted(one)]  # type: ignore[operator]
    code, output = run_command("list", *words)
    assert (code, len(output.splitlines())) == (0, len(chosen_ids))
    document = json.loads(run_command("list", *words, "--json")[1])["vectors"]
    assert chosen_ids == [one["id"] for one in document]
    assert {"valid", "stage", "codes", "values"} == set(document[0]["expected"])


def test_what_is_not_there_is_said() -> None:
    """Usage, with what to do."""
    for words in (["list", "nothing/such"], ["show", "nothing/such"]):
        code, output = run_command(*words)
        assert code == 2
        assert "weldproof vectors list --each" in output


def test_show_tells_everything() -> None:
    """What is asked and what is expected, as it stands in the file."""
    vector = vectors.of_family("message_signatures")[0]
    code, output = run_command("show", vector.id)
    document = json.loads(output)
    assert (code, document["input"], document["why"]) == (0, vector.input, vector.why)


def test_check_says_whole_and_what_is_wrong(tmp_path: Path) -> None:
    """The one that comes along, an unpacked archive, and one in which a letter changed."""
    assert run_command("check") == (0, "whole\n")
    folder = unpack(tmp_path)
    assert run_command("check", folder) == (0, "whole\n")
    path = next((folder / "receipts").glob("*.json"))
    path.write_bytes(path.read_bytes().replace(b'"why"', b'"wyh"', 1))
    code, output = run_command("check", folder)
    assert (code, f"receipts/{path.name} is not the file of the manifest" in output) == (1, True)
    assert json.loads(run_command("check", folder, "--json")[1])["whole"] is False
    manifest = json.loads((folder / "manifest.json").read_text("ascii"))
    manifest["files"][f"receipts/{path.name}"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    path.write_bytes(path.read_bytes().replace(b'"wyh"', b'"why"', 1).replace(b'"doors": [', b'"doors": ["moon", ', 1))
    manifest["files"][f"receipts/{path.name}"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    code, output = run_command("check", folder)
    assert (code, "moon" in output) == (1, True)
    assert run_command("check", tmp_path)[0] == 1


def test_an_archive_is_always_the_same_and_needs_no_python(tmp_path: Path) -> None:
    """Both forms hold the same files, with sums for each."""
    for name in ("one.zip", "two.zip", "one.tar.gz", "two.tar.gz"):
        assert run_command("archive", tmp_path / name)[0] == 0
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(fileobj=io.BytesIO((tmp_path / "one.tar.gz").read_bytes())) as archive:
        assert {one.name: archive.extractfile(one).read() for one in archive} == files  # type: ignore[union-attr]
    top = f"weldproof-vectors-{vectors.package().version}/"
    assert all(name.startswith(top) for name in files)
    sums = dict(line.split("  ")[::-1] for line in files[f"{top}SHA256SUMS"].decode().splitlines())
    assert {f"{top}{name}" for name in sums} == set(files) - {f"{top}SHA256SUMS"}
    assert sums == {name: hashlib.sha256(files[f"{top}{name}"]).hexdigest() for name in sums}
    pages = {f"{top}{name}.md" for name in ("README", "RULES", "PROTOCOL")}
    assert {*pages, f"{top}schemas/vectors.schema.json"} <= set(files)
    assert not [name for name in files if name.endswith((".py", ".pyc"))]


def test_an_archive_goes_where_it_can(tmp_path: Path) -> None:
    """Another name, or a folder that does not exist, is reported as a fault of usage."""
    assert run_command("archive", tmp_path / "v.rar")[0] == 2
    assert run_command("archive", tmp_path / "none" / "v.zip")[0] == 2
