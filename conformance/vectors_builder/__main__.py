"""`python -m conformance.vectors_builder [--check]`: write the files of `conformance/vectors`, or compare them."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.vectors_builder.message_signatures.build import build

VECTORS = Path(__file__).parent.parent / "vectors"


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when a file is not what would be written.")
@click.pass_context
def main(ctx: click.Context, check: bool) -> None:
    """Build the vectors."""
    stale = []
    folder = VECTORS / "message_signatures"
    built = build()
    for name, data in built.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != data:
            stale.append(path)
            if not check:
                folder.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    stale += [path for path in folder.glob("*.json") if path.name not in built]
    for path in stale:
        click.echo(f"{'differs' if check else 'written'}: {path}")
    if check and stale:
        ctx.exit(1)


if __name__ == "__main__":
    main()
