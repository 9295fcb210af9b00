"""`python -m reference.variants.chameleon SEED MODULE [ARGUMENT]…`: a service as the variant of a seed.

SEED alone prints the variant, and `python -m reference.variants.chameleon points` the page of all points. Before it
starts, a service writes its variant to the file that `WP_VARIANT_FILE` names: the values that were drawn, and the
bindings that an operator would write into the target profile.
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
    """Run the service MODULE as the variant of SEED."""
    if seed == "points" and module is None:
        click.echo(page(), nl=False)
        return
    if not (seed.isascii() and seed.isdecimal()):
        click.echo(f"{seed} is not a seed; give a number, or `points`", err=True)
        sys.exit(EXIT_USAGE)
    variant = draw_variant(int(seed))
    if module is None:
        click.echo(as_json(variant))
        return
    # The name comes from the command line, and `runpy` would run any module.
    if module.partition(".")[0] != "reference":
        click.echo(f"{module} is not a service of the reference", err=True)
        sys.exit(EXIT_USAGE)
    place = os.environ.get("WP_VARIANT_FILE")
    if place:
        Path(place).write_bytes(as_json(variant))
    os.environ.update(variant.shape.settings)
    # The seams are replaced before the service runs, so that every answer of it is the variant's.
    install(variant.shape, module.removeprefix("reference."))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def as_json(variant: Variant) -> bytes:
    """Return a variant as JSON: `seed`, `drawn`, `bindings` by dotted key, `undecided`."""
    members = {
        "seed": variant.shape.seed,
        "drawn": variant.choices,
        "bindings": variant.bindings,
        "undecided": variant.undecidable_rows,
    }
    return orjson.dumps(members, option=orjson.OPT_INDENT_2)


if __name__ == "__main__":
    main(prog_name="python -m reference.variants.chameleon")
