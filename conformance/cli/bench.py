"""`weldproof bench`: runs the benchmark of the source tree, which the wheel does not contain."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

import conformance
from conformance.cli.usage import UsageFault

# The checkout, if the package is used from one.
_TREE: Final = Path(conformance.__file__).parents[1]
_NEEDS_CHECKOUT: Final = "needs the tools of the source tree: run it in a checkout of Weldproof"


@click.command(
    "bench",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Measure the speed of the reference against baselines and other servers in one run."""
    if not (_TREE / "tools" / "bench" / "__main__.py").is_file():
        # Help must work in the wheel as well, where the benchmark is missing.
        if "--help" in ctx.args:
            click.echo(f"weldproof bench {_NEEDS_CHECKOUT}")
            return
        raise UsageFault(f"bench {_NEEDS_CHECKOUT}")
    # The process is replaced, so the tree must be found without the path of this one.
    paths = (str(_TREE), os.environ.get("PYTHONPATH", ""))
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    os.execv(sys.executable, [sys.executable, "-m", "tools.bench", *ctx.args])  # noqa: S606 - our own tool
