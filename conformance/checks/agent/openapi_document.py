"""AGENT-OAS: the OpenAPI document of the agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.discovery.openapi_paths import apply_server_paths
from conformance.engine.check import Case, check
from conformance.oracles.openapi_validity import LeadsElsewhere, faults_of_openapi
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import OPERATIONS
from conformance.surfaces.openapi_documents import published_answer

# Members of a path item that are operations; it may also have parameters, servers and a description.
_METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        for method, operation in item.items() if isinstance(item, dict) else ():
            if method in _METHODS and isinstance(operation, dict):
                yield method.upper(), path, operation


@check(
    "AGENT-OAS-01",
    "AGENT-OAS-02",
    "AGENT-OAS-03",
    "AGENT-OAS-04",
    surface="agent",
    fix="Publish a valid OpenAPI document with openapi 3.1.0, info.version 0.1.0, all nine operations of the table, "
    "and no security member, neither at the top nor on an operation.",
)
async def openapi_describes_the_agent(case: Case) -> None:
    """The agent publishes an OpenAPI 3.1.0 document of version 0.1.0 with all nine operations, none of them secured.

    Fetches it at its bound place, else at the usual ones, and validates it. Expects those two versions, no security
    requirement, and every operation of the interface's table.
    """
    answer = await published_answer(case, "agent")
    if answer is None:
        if case.profile.agent_bindings.openapi_path is None:
            raise Inconclusive("unbound: no OpenAPI document at a usual place; give [agent] openapi_path")
        case.expect("AGENT-OAS-01", False, "an OpenAPI document", f"none at {case.profile.agent_bindings.openapi_path}")
        return
    document = answer.read_object()
    version = document.get("openapi")
    faults, open_reason = [] if version == "3.1.0" else [f"openapi is {version!r}"], ""
    try:
        faults += faults_of_openapi(document)
    except LeadsElsewhere as reason:
        open_reason = str(reason)
    if open_reason and not faults:
        case.mark_inconclusive("AGENT-OAS-01", open_reason, exchange=answer)
    else:
        case.expect("AGENT-OAS-01", not faults, "a valid OpenAPI 3.1.0 document", "; ".join(faults), exchange=answer)
    info = document.get("info")
    info_version = info.get("version") if isinstance(info, dict) else None
    case.expect("AGENT-OAS-02", info_version == "0.1.0", "0.1.0", info_version, exchange=answer)
    operations = list(_operations(document))
    secured_operations = [
        f"{method} {path}" for method, path, operation in operations if _demands(operation.get("security"))
    ]
    if _demands(document.get("security")):
        # An operation without a `security` member inherits the requirement at the top of the document.
        secured_operations += [
            f"{method} {path}" for method, path, operation in operations if "security" not in operation
        ]
    case.expect(
        "AGENT-OAS-03", not secured_operations, "no security requirement", secured_operations or "none", exchange=answer
    )
    # Paths may be relative to a server's path, so both the plain and the combined spelling count.
    placed_document = apply_server_paths(document, case.profile.surfaces["agent"].url.rstrip("/"))
    listed_operations = {(method, path) for one in (document, placed_document) for method, path, _ in _operations(one)}
    missing_operations = [f"{method} {path}" for method, path in OPERATIONS if (method, path) not in listed_operations]
    case.expect(
        "AGENT-OAS-04", not missing_operations, "all nine operations", missing_operations or "all", exchange=answer
    )


def _demands(security: Any) -> bool:
    """Return whether a `security` member requires a credential: an empty list or an empty alternative does not."""
    return isinstance(security, list) and bool(security) and {} not in security
