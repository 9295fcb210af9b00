"""Put faults into a copy of the product, one at a time, and see whether the tests notice.

As a program: `python -m tests.seeded_faults`.

Exit codes: 0 every fault is noticed, 1 one is not, 2 a record does not fit the tree any more or its tests fail without
the fault, 130 interrupted. The tree itself is never changed.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.seeded_faults.records import Fault, Rotten, chosen, load
from tests.seeded_faults.trying import Broken, Result, Scratch

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Try the faults that the command line names."""
    asked = _arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        faults = chosen(load(), asked.only, asked.shard)
        if not faults:
            raise Rotten("no fault has such a name")
        return _try_all(asked, faults)
    except (Rotten, Broken) as fault:
        _say(str(fault))
        return 2
    except KeyboardInterrupt:
        return 130


def _try_all(asked: argparse.Namespace, faults: Sequence[Fault]) -> int:
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="seeded-faults-") as folder:
        scratch = Scratch.of(asked.root.resolve(), Path(folder).resolve())
        for number, fault in enumerate(faults, start=1):
            results.append(scratch.tried(fault))
            _say(f"[{number}/{len(faults)}] {_line(results[-1])}")
        _say("the tests that noticed one, without any fault")
        results = scratch.sound(results)
    if asked.json:
        print(json.dumps([one.as_json() for one in results], indent=1))  # noqa: T201 - a program
    else:
        print(_conclusion(results))  # noqa: T201 - a program
    return 2 if any(one.trouble for one in results) else int(not all(one.caught for one in results))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a program


def _line(result: Result) -> str:
    head = f"{result.fault.id} ({result.seconds:.1f} s): "
    if result.trouble:
        return f"{head}TROUBLE: {result.trouble}"
    if result.failure is None:
        return f"{head}NOT CAUGHT: {result.fault.breaks}"
    return f"{head}caught by {result.failure.node}"


def _conclusion(results: Sequence[Result]) -> str:
    missed = [_line(one) for one in results if not one.caught]
    return "\n".join((*missed, f"{len(results) - len(missed)} of {len(results)} faults are caught"))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.seeded_faults", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="a fault, or the beginning of its id")
    parser.add_argument("--shard", type=_shard, default=(1, 1), metavar="I/N", help="the I-th of N parts")
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR", help="another checkout of the project")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    return parser.parse_args()


def _shard(text: str) -> tuple[int, int]:
    part, slash, parts = text.partition("/")
    if not (slash and part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError("give I/N, such as 1/4")
    return int(part), int(parts)


if __name__ == "__main__":
    sys.exit(main())
