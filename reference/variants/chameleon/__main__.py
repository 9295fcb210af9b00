"""`python -m reference.variants.chameleon SEED MODULE [ARGUMENT]…`: a service in the look that a seed draws.

SEED alone prints the look, and `python -m reference.variants.chameleon points` the page of all points. A service writes
its look to the file that `WP_VARIANT_FILE` names, before it starts: what was drawn, and what an operator would tell
in their target profile.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import click
import orjson

from reference.variants.chameleon.catalog import draw_variant
from reference.variants.chameleon.installation import install
from reference.variants.chameleon.points import Variant
from reference.variants.chameleon.points_page import page

EXIT_USAGE = 2


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("seed")
@click.argument("module", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def main(seed: str, module: str | None, arguments: tuple[str, ...]) -> None:
    """Run the service MODULE in the look of SEED."""
    if seed == "points" and module is None:
        click.echo(page(), nl=False)
        return
    if not (seed.isascii() and seed.isdecimal()):
        click.echo(f"{seed} is no seed; give a number, or `points`", err=True)
        sys.exit(EXIT_USAGE)
    variant = draw_variant(int(seed))
    if module is None:
        click.echo(as_json(variant))
        return
    if module.partition(".")[0] != "reference":
        click.echo(f"{module} is no service of the reference", err=True)
        sys.exit(EXIT_USAGE)
    place = os.environ.get("WP_VARIANT_FILE")
    if place:
        Path(place).write_bytes(as_json(variant))
    os.environ.update(variant.shape.settings)
    install(variant.shape, module.removeprefix("reference."))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def as_json(variant: Variant) -> bytes:
    """Return a look as JSON: `seed`, `drawn`, `bindings` by dotted key, `undecided`."""
    members = {
        "seed": variant.shape.seed,
        "drawn": variant.choices,
        "bindings": variant.bindings,
        "undecided": variant.undecidable_rows,
    }
    return orjson.dumps(members, option=orjson.OPT_INDENT_2)


if __name__ == "__main__":
    main(prog_name="python -m reference.variants.chameleon")
