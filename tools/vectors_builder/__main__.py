"""`python -m tools.vectors_builder`: write the files of `conformance/vectors`, compare or release them."""

from __future__ import annotations

import click

from tools.vectors_builder.family import BuildFault
from tools.vectors_builder.package import FAMILIES, FOLDER, build, read_state


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when a file is not what would be written.")
@click.option("--release", is_flag=True, help="Release this version: from then on it can hold nothing else.")
@click.pass_context
def main(ctx: click.Context, check: bool, release: bool) -> None:
    """Build the vectors."""
    before, releases = read_state(FOLDER)
    try:
        files = build(before=before, releases=releases, release=release)
    except BuildFault as fault:
        raise click.ClickException(str(fault)) from fault
    stale = []
    for name, data in files.items():
        path = FOLDER / name
        if not path.exists() or path.read_bytes() != data:
            stale.append(path)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    kept_paths = {FOLDER / name for name in files}
    stale += [path for one in FAMILIES for path in (FOLDER / one.name).glob("*.json") if path not in kept_paths]
    for path in stale:
        click.echo(f"{'differs' if check or path not in kept_paths else 'written'}: {path.relative_to(FOLDER)}")
    if check and stale:
        ctx.exit(1)


if __name__ == "__main__":
    main()
