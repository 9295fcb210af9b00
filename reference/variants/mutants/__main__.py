"""`python -m reference.variants.mutants ID MODULE [ARGUMENT]…`: run a service as a mutant; ID alone prints its rule."""

from __future__ import annotations

import difflib
import runpy
import sys

import click

from reference.variants.mutants.catalog import CATALOG

EXIT_USAGE = 2


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("mutant")
@click.argument("module", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def main(mutant: str, module: str | None, arguments: tuple[str, ...]) -> None:
    """Run the service MODULE as its deliberately broken variant MUTANT; a mutant of another service changes nothing.

    Without a module: print the rule that it drops.
    """
    if mutant not in CATALOG:
        near = difflib.get_close_matches(mutant, CATALOG, n=5)
        suggestion = f"; near it: {', '.join(near)}" if near else ""
        click.echo(f"no mutant {mutant}{suggestion}; `weldproof selftest --list` shows them", err=True)
        sys.exit(EXIT_USAGE)
    if module is None:
        click.echo(CATALOG[mutant].rule)
        return
    if module.partition(".")[0] != "reference":
        click.echo(f"{module} is not a service of the reference", err=True)
        sys.exit(EXIT_USAGE)
    # A stack starts every service with the same mutant id. Only the service that the mutant names is changed.
    if module == f"reference.{CATALOG[mutant].surface}":
        CATALOG[mutant].apply()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(prog_name="python -m reference.variants.mutants")
