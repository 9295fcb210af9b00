"""Names of the control plane and of its addons that the interface leaves open, and the reference's own.

Bodies and environments are templates: a placeholder in a text is filled in, and a member whose placeholder has no value
is left out. Of a service: `{name}`, `{base_url}`, `{health_path}`, `{health_url}`. Of a program: `{port}`,
`{data_dir}`. Of a question: `{credential}`, or `{zk_receipt}` where it is about receipts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from conformance.target.placeholder_validation import placeholders
from conformance.target.tables import Secret, Table

# The three services that the interface describes beside the control plane. An operator may have others, or none.
BUNDLED = ("federation_validator", "zkp_receipt", "atb_verifier")
# What the interface says of the bundled services' ports.
PORTS: Mapping[str, int] = {"federation_validator": 8092, "zkp_receipt": 8093, "atb_verifier": 8095}
# The port that the interface gives to the control plane.
HUB_PORT = 8094
_OF_PROGRAMS = placeholders("port", "data_dir")


class ChainNames(Table):
    """How an audit log is made; unset, what entries show and the usual recipes are tried.

    Attributes:
        mac: Member with an entry's own MAC.
        seq: Member with an entry's number, from 1; None: entries have none.
        prev: Member with the predecessor's MAC; None: entries do not name it.
        recipe: What the MAC covers; `weldproof audit verify --help` lists the names.
        key: Form of the key's text: `hex`, `text` or `base64`.
        genesis: What the first entry has for its predecessor's MAC; None: whatever it likes.
    """

    mac: str
    seq: str | None = None
    prev: str | None = None
    recipe: str = "jcs-without-mac"
    key: str = "hex"
    genesis: str | None = None


class HubBindings(Table):
    """What an operator may bind of the control plane. None means: discover it, else the row is `unbound`.

    Places are dotted paths into an answer. On the way a list means each of its items, and `*` means each member.

    Attributes:
        service_body: Body that registers a service.
        service_delete: Path that removes one, for cleaning up.
        posture_name_at: Name of a service in the posture, such as `services.name`.
        posture_healthy_at: Whether it is healthy: true and false, or words such as up and down.
        health_counts: Places of the counts `issuers` and `services` in the health document.
        audit_entries_at: The list of log entries; empty: the document itself.
        audit_page: Query that continues the log, `{seq}` being the number of the last entry that is known.
        audit_chain: How the log is made.
        propagation_budget: Seconds until a change must have reached every bridged service, and the posture.
        listen_host: Address that the suite listens at when it plays a service or a hub.
        reach_host: The same as the target reaches it.
        command: How a control plane is started, word by word, from the folder that the run is called from.
        environment: Further environment variables, in addition to `S2CP_DATA_DIR` and `S2CP_DB`, which the suite sets.
            A target that claims the specification keeps its usual rate limit here, which CP-RATE-01 judges.
            Without `{port}` here or in the command the suite expects it at port 8094.
        audit_key_file: File of its data directory that holds the chain key.
        openapi_path: Path of the control plane's OpenAPI document.
        bundled: The bundled services that the operator has; None: all three.
    """

    service_body: Annotated[Mapping[str, Any] | None, placeholders("name", "base_url", "health_path", "health_url")] = (
        None
    )
    service_delete: Annotated[str | None, placeholders("name")] = None
    posture_name_at: str | None = None
    posture_healthy_at: str | None = None
    health_counts: Mapping[str, str] | None = None
    audit_entries_at: str | None = None
    audit_page: Annotated[str | None, placeholders("seq")] = None
    audit_chain: ChainNames | None = None
    propagation_budget: float = 60.0
    listen_host: str = "127.0.0.1"
    reach_host: str = "127.0.0.1"
    command: Annotated[tuple[str, ...] | None, _OF_PROGRAMS] = None
    environment: Annotated[Mapping[str, str] | None, _OF_PROGRAMS] = None
    audit_key_file: str | None = None
    openapi_path: str | None = None
    bundled: tuple[str, ...] | None = None


class Hub(HubBindings):
    """The control plane's bindings, and what opens it.

    Attributes:
        token: The admin token.
        audit_key: The audit log's chain key.
        postgres: DSN of a PostgreSQL server on which the suite may make a database, for a control plane that it starts.
    """

    token: Secret | None = None
    audit_key: Secret | None = None
    postgres: Secret | None = None


class Question(Table):
    """How an addon is asked about a credential.

    Attributes:
        path: Where it is posted to.
        body: Template of the body.
        valid_at: Place of the verdict.
        proof_system: Proof system of the ZK receipts that it judges; only the reference's own is known here.
    """

    path: str
    body: Annotated[Mapping[str, Any], placeholders("credential", "zk_receipt")]
    valid_at: str
    proof_system: str | None = None


class Addon(Table):
    """An addon that the suite may start.

    Attributes:
        command: How it is started, word by word, from the folder that the run is called from.
        environment: Further environment of it.
        url: Where it is reached once it runs, if not at a port of the suite's choice.
        console: Its console command: a name on the path, or a file path.
        issuers_at: Place of its health document with the number of issuers that it trusts.
        question: How it is asked about a credential.
    """

    command: Annotated[tuple[str, ...] | None, _OF_PROGRAMS] = None
    environment: Annotated[Mapping[str, str] | None, _OF_PROGRAMS] = None
    url: str | None = None
    console: str | None = None
    issuers_at: str | None = None
    question: Question | None = None


REFERENCE_HUB = HubBindings(
    service_body={
        "name": "{name}",
        "type": "addon",
        "base_url": "{base_url}",
        "health_path": "{health_path}",
    },
    service_delete="/v1/services/{name}",
    posture_name_at="services.name",
    posture_healthy_at="services.healthy",
    health_counts={"issuers": "issuers", "services": "services"},
    audit_entries_at="entries",
    audit_page="after={seq}&limit=1000",
    audit_chain=ChainNames(mac="mac", seq="seq", prev="prev_mac", genesis="0" * 64),
    environment={"S2CP_PORT": "{port}", "WP_MODE": "test"},
    audit_key_file="audit_key",
    openapi_path="/openapi.json",
    bundled=BUNDLED,
)
# As `weldproof up` has it: trust sets are pulled every second, so that no row waits for ten, and no limit holds up
# hundreds of questions about credentials.
_ADDON_ENVIRONMENT = {
    "WP_MODE": "test",
    "WP_ADDON_PORT": "{port}",
    "WP_ADDON_DATA_DIR": "{data_dir}",
    "WP_ADDON_RATE": "1000000",
    "S2_HUB_POLL_SECONDS": "1",
}
REFERENCE_ADDONS: Mapping[str, Addon] = {
    "federation_validator": Addon(
        environment=_ADDON_ENVIRONMENT,
        console="weldproof-federation-validator",
        issuers_at="issuers",
        question=Question(path="/v1/validate", body={"credentials": ["{credential}"]}, valid_at="valid"),
    ),
    "zkp_receipt": Addon(
        environment=_ADDON_ENVIRONMENT,
        console="weldproof-zkp-receipt",
        issuers_at="issuers",
        question=Question(
            path="/v1/receipts/verify",
            body={"receipt": "{zk_receipt}"},
            valid_at="valid",
            proof_system="bulletproofs-ed25519/1",
        ),
    ),
    "atb_verifier": Addon(
        environment=_ADDON_ENVIRONMENT,
        console="weldproof-atb-credential-verifier",
        issuers_at="issuers",
        question=Question(path="/v1/verify", body={"credential": "{credential}"}, valid_at="valid"),
    ),
}
