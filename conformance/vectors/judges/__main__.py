"""The suite's verifier under the line protocol: `weldproof vectors run -- python -m conformance.vectors.judges`.

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
    """Answer each line of the input; the first line is the greeting."""
    for line in lines:
        out.write(json.dumps(_answer(json.loads(line))) + "\n")
        # The runner waits for each line, and a pipe is buffered otherwise.
        out.flush()


def _answer(question: Mapping[str, Any]) -> dict[str, Any]:
    if "protocol" in question:
        return {"verifier": f"weldproof {version('weldproof')}", "families": list(FAMILIES)}
    judged_by = judge(question["family"])
    if judged_by is None:
        return {"n": question["n"], "verdict": "unsupported"}
    answer = judged_by(question["input"])
    if answer.valid:
        return {"n": question["n"], "verdict": "valid", "values": dict(answer.values)}
    refusal = {"stage": answer.stage, "codes": list(answer.codes), "values": dict(answer.values)}
    return {"n": question["n"], "verdict": "invalid", **refusal}


if __name__ == "__main__":
    main()
