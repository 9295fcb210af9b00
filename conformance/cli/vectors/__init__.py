"""`weldproof vectors`: lists, checks and packs the test vectors, and runs verifiers on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import click

from conformance import vectors
from conformance.cli.json_output import print_json
from conformance.cli.suggestion import SuggestingGroup
from conformance.cli.usage import UsageFault
from conformance.cli.vectors.package_loading import open_package
from conformance.ledger import has_prefix
from conformance.outcome import Exit
from conformance.text.json_safe import json_safe
from conformance.text.target_text_escaping import one_line
from conformance.vectors import Package, PackageFault, Vector

_RUN_COMMANDS = {
    "run": "Run a verifier in any language on the vectors.",
    "compare": "Compare the results of several verifiers.",
}
_PACKAGE = click.option(
    "--package",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of another vector package, such as an unpacked archive.",
)
_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
# A damaged package can have thousands of faults.
_SHOWN_FAULTS = 20
# Characters of a sentence of a package that are shown.
_LONGEST_TEXT = 2000


class _Group(SuggestingGroup):
    """A group that imports the commands which start verifiers when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_RUN_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _RUN_COMMANDS:
            return super().get_command(ctx, cmd_name)
        from conformance.cli.vectors import run  # noqa: PLC0415 - not needed for the other commands

        return {"run": run.run_command, "compare": run.compare_command}[cmd_name]


@click.group("vectors", cls=_Group)
def command() -> None:
    """Test vectors with known answers, for verifiers of receipts, webhooks, messages, welds and logs."""


@command.command("list")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--family", "names", multiple=True, metavar="NAME", help="Only vectors of this family.")
@click.option("--row", "rows", multiple=True, metavar="ROW", help="Only vectors of this requirement or prefix.")
@click.option("--each", is_flag=True, help="Print one line per vector instead of one per family.")
@_PACKAGE
@_AS_JSON
def list_(ids: Sequence[str], *, each: bool, folder: Path | None, as_json: bool, **filters: Sequence[str]) -> None:
    """List the vector families, or every vector with an ID, --row or --each.

    ID is an id, a prefix, or a pattern such as 'receipts/signature/*'.
    """
    package = open_package(folder)
    selected_vectors = [
        vector for vector in package.vectors if _is_selected(vector, ids, filters["names"], filters["rows"])
    ]
    if not selected_vectors:
        raise UsageFault("no vector has this id; `weldproof vectors list --each` lists all ids")
    if as_json:
        members = {"version": package.version, "vectors": [_vector_members(vector) for vector in selected_vectors]}
        print_json(json_safe(members))
    elif each or ids or filters["rows"]:
        for vector in selected_vectors:
            answer_text = "valid" if vector.expected.valid else one_line(str(vector.expected.stage))
            click.echo(f"{answer_text:12} {one_line(vector.id)}: {one_line(vector.fault or vector.why, _LONGEST_TEXT)}")
    else:
        _show_families(package, selected_vectors)


def _is_selected(vector: Vector, ids: Sequence[str], names: Sequence[str], rows: Sequence[str]) -> bool:
    return (
        (not ids or any(vector.id.startswith(text) or fnmatchcase(vector.id, text) for text in ids))
        and (not names or vector.family in names)
        and (not rows or any(has_prefix(row, text.upper()) for row in vector.requirements for text in rows))
    )


def _vector_members(vector: Vector) -> dict[str, Any]:
    names = ("id", "family", "kind", "requirements", "expected", "pinned", "pins", "doors", "fault", "origin", "why")
    return {**{name: getattr(vector, name) for name in names}, "expected": asdict(vector.expected)}


def _show_families(package: Package, selected_vectors: Sequence[Vector]) -> None:
    click.echo(f"vector package {one_line(package.version)}, {len(selected_vectors)} vectors\n")
    count, valid_count = (
        Counter(one.family for one in selected_vectors),
        Counter(one.family for one in selected_vectors if one.expected.valid),
    )
    kinds = Counter(family for family, _ in {(one.family, one.kind) for one in selected_vectors})
    click.echo(f"{'family':20} vectors  valid  kinds")
    for name, family in package.families.items():
        if count[name]:
            title = one_line(family.title, _LONGEST_TEXT)
            click.echo(f"{one_line(name):20} {count[name]:7} {valid_count[name]:6} {kinds[name]:6}  {title}")


@command.command("show")
@click.argument("name", metavar="ID")
@_PACKAGE
def show(name: str, folder: Path | None) -> None:
    """Show one vector as JSON: the input of a verifier, the expected answer, and the reason for the vector."""
    vector = next((one for one in open_package(folder).vectors if one.id == name), None)
    if vector is None:
        raise UsageFault(f"no vector {one_line(name)}; `weldproof vectors list --each` shows them all")
    print_json(json_safe({**_vector_members(vector), "input": vector.input}))


@command.command("check")
@click.argument("folder", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False))
@_AS_JSON
@click.pass_context
def check(ctx: click.Context, folder: Path | None, as_json: bool) -> None:
    """Check a vector package: digests, schemas, and consistent ids, kinds, rows, stages and values.

    FOLDER is another package, such as an unpacked archive. Exit codes: 0 the package is correct, 1 it is not, 2 usage.
    """
    faults = list(_faults(vectors.folder() if folder is None else folder))
    if as_json:
        print_json({"whole": not faults, "faults": faults})
    else:
        for fault in faults[:_SHOWN_FAULTS]:
            click.echo(one_line(fault))
        more = len(faults) - _SHOWN_FAULTS
        click.echo(f"and {more} more" if more > 0 else "whole" if not faults else "", nl=more > 0 or not faults)
    ctx.exit(Exit.FAILED if faults else Exit.PASSED)


def _faults(folder: Traversable) -> Sequence[str]:
    from conformance.vectors import linting  # noqa: PLC0415 - the other commands need no schemas

    try:
        package = vectors.read(folder)
        return [*linting.faults_of_form(folder), *linting.faults_of_sense(package)]
    except PackageFault as fault:
        return [str(fault)]
    # A package of another author may have any structure. Each exception that reading it raises is a
    # fault of the package and not of the command.
    except (KeyError, TypeError, AttributeError, ValueError) as fault:
        return [f"a file does not have the form of a vector package: {type(fault).__name__}: {fault}"]


@command.command("archive")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def archive(file: Path) -> None:
    """Pack the vectors, their schemas and their documentation into FILE, which ends in .tar.gz or .zip.

    The same package always gives the same bytes. It contains SHA256SUMS for `sha256sum --check`, and needs no Python.
    """
    from conformance.vectors.runner import package_archives  # noqa: PLC0415 - only here

    kinds = {".tar.gz": package_archives.tarball, ".zip": package_archives.write_zip}
    pack = next((one for suffix, one in kinds.items() if file.name.endswith(suffix)), None)
    if pack is None:
        raise UsageFault(f"{file}: the name of an archive must end in .tar.gz or .zip")
    try:
        file.write_bytes(pack(vectors.folder()))
    except OSError as fault:
        raise UsageFault(f"{file}: {fault.strerror}") from fault
    click.echo(f"{file}: vector package {vectors.package().version}, {len(vectors.package().vectors)} vectors")
