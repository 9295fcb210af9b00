"""Our own verifier under the line protocol: `weldproof vectors run -- python -m conformance.vectors.judges`.

A fault in a judge is not caught: it ends the process, and the run says crash, which is what it is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any, TextIO

from conformance.vectors.judges.table import FAMILIES, judge


def main() -> None:
    """Answer line by line until the input ends."""
    serve(sys.stdin, sys.stdout)


def serve(lines: Iterable[str], out: TextIO) -> None:
    """Answer each line of some input; the first is the greeting."""
    for line in lines:
        out.write(json.dumps(_answer(json.loads(line))) + "\n")
        out.flush()


def _answer(asked: Mapping[str, Any]) -> dict[str, Any]:
    if "protocol" in asked:
        return {"verifier": f"weldproof {version('weldproof')}", "families": list(FAMILIES)}
    judged_by = judge(asked["family"])
    if judged_by is None:
        return {"n": asked["n"], "verdict": "unsupported"}
    found = judged_by(asked["input"])
    if found.valid:
        return {"n": asked["n"], "verdict": "valid", "values": dict(found.values)}
    refusal = {"stage": found.stage, "codes": list(found.codes), "values": dict(found.values)}
    return {"n": asked["n"], "verdict": "invalid", **refusal}


if __name__ == "__main__":
    main()
