"""`weldproof listen`: the options and the help of the webhook receiver."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

import click

from conformance.vocabulary.receiver_defaults import (
    BODY_LIMIT,
    FORWARD_SECONDS,
    SECRET_VARIABLE,
    SERVICE_WORD,
    TOLERANCE_SECONDS,
)

_PORT: Final = 8096


class _Seconds(click.FloatRange):
    """A finite number of seconds. `nan` would pass every range check, and `inf` would wait for ever."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value} is not a number of seconds.", param, ctx)
        return seconds


@click.command("listen")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="0 chooses a free port.")
@click.option(
    "--secret-file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the destination's secret. During a rotation give the option once per secret.",
)
@click.option(
    "--secret-env",
    "variables",
    multiple=True,
    metavar="NAME",
    help=f"Environment variable that contains a secret [default: {SECRET_VARIABLE}].",
)
@click.option(
    "--service-word",
    help=f"The word in X-<word>-Signature; the key of v2 is also derived from it [default: {SERVICE_WORD}].",
)
@click.option("--header", help="Name of the signature header, if it differs.")
@click.option("--signed-string", default="{t}.{body}", show_default=True, help="The text that v1 and v2 sign.")
@click.option(
    "--tolerance",
    type=_Seconds(min=1),
    default=TOLERANCE_SECONDS,
    show_default=True,
    help="Largest difference in seconds between t and now.",
)
@click.option("--forward", metavar="URL", help="Forward each new event, byte for byte, and return the answer.")
@click.option(
    "--forward-timeout",
    type=_Seconds(min=0.1),
    default=FORWARD_SECONDS,
    show_default=True,
    help="Longest time for the answer to a forwarded event.",
)
@click.option(
    "--fail-first", type=click.IntRange(min=0), default=0, metavar="N", help="Answer the first N deliveries with 500."
)
@click.option("--delay", type=_Seconds(min=0), default=0.0, metavar="SECONDS", help="Delay before each answer.")
@click.option(
    "--body-limit", type=click.IntRange(min=1), default=BODY_LIMIT, show_default=True, help="Largest body in bytes."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines: ready, one per delivery, summary.")
def command(**options: Any) -> None:
    """Receive webhooks here: verify each over its raw bytes, print it, and forward it, once per event id.

    The secret comes from --secret-file or an environment variable. A refused delivery is answered 400 with one of these
    codes: signature_missing, signature_malformed, signature_wrong (v1, or a v2 that came with it), timestamp_stale,
    not_json, no_event_id; 413 means that the body is too large. GET /effects/ID returns how often an event had its
    effect. An event that could not be forwarded may be delivered again. If the header has another name, v2 is verified
    only with --service-word. Ends with Ctrl-C. Exit codes: 0 ended, 2 usage.
    """
    from conformance.cli.listen.execution import listen  # noqa: PLC0415 - `--help` waits for nothing that it imports

    listen(**options)
