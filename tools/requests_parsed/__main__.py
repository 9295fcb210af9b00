"""`python -m tools.requests_parsed FILE [--write]`: what the requests of a capture hold, against what they should.

Prints the shares, and each finding: a check that sent what the table does not say of it. Then it ends with 1.
`--write` puts what was sent into the table, for a reader to judge.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

from tools.requests_parsed import deviations_by_check
from tools.requests_parsed.capture_parsing import Parsed, lines, parse_capture


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--write", is_flag=True, help="Put what was sent into the table.")
def main(file: Path, *, write: bool) -> None:
    """Hold the requests of a capture to the table."""
    exchanges = parse_capture(lines(file))
    click.echo(shares(exchanges))
    if write:
        deviations_by_check.FILE.write_text(
            deviations_by_check.write_table(exchanges, deviations_by_check.read()), "utf-8"
        )
    wrong = deviations_by_check.findings(exchanges, deviations_by_check.read())
    for fault_name, where in wrong.items():
        click.echo(f"{fault_name}  ({len(where)}, the first is exchange {where[0]})")
    for fault in deviations_by_check.faults_of(deviations_by_check.read()):
        click.echo(fault)
    sys.exit(bool(wrong or deviations_by_check.faults_of(deviations_by_check.read())))


def shares(exchanges: list[Parsed]) -> str:
    """Return how many requests were parsed, honest, with one fault, with several, and how far they were looked into."""
    read = [one for one in exchanges if one.request is not None]
    faults = Counter("several" if len(one.faults) > 1 else ("one" if one.faults else "none") for one in read)
    parts = Counter(part for one in read for part in one.examined_parts)
    return (
        f"{len(exchanges)} exchanges: {len(read)} parsed back, {len(exchanges) - len(read)} sent no bytes; "
        f"no fault {faults['none']}, one {faults['one']}, several {faults['several']}\n"
        f"read into: {', '.join(f'{part} {count}' for part, count in sorted(parts.items()))}"
    )


if __name__ == "__main__":
    main()
