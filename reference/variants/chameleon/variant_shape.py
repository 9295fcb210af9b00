"""The shape of a variant: one member for each thing that a point may change, with the reference's values as defaults.

A shape is plain data. Choices set its members, and the modules that know the seams install it in the service.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

REFERENCE_PATHS: Mapping[str, str] = {
    "receipt-verify": "/pay/v1/verify/receipt",
    "rfc9421-verify": "/pay/v1/verify/rfc9421",
    "compliance-receipt": "/pay/v1/compliance/receipt",
}


@dataclass(slots=True)
class Shape:
    """One shape. The values of a member are those that the choices of its point set.

    Attributes:
        seed: Its seed, from which further random values follow, such as a second key.
        settings: Settings of the service, by environment name.
    """

    seed: int = 0
    settings: dict[str, str] = field(default_factory=dict)

    # HTTP and JSON, on every surface.
    json_style: str = "compact"
    header_case: str = "lower"
    media_type: str = "application/json"
    further_headers: Mapping[str, str] = field(default_factory=dict)
    cors: str = "any"
    options: str = "204"
    head: str = "as GET"
    retry_after: str = "seconds"
    rate_headers: str = "x-ratelimit"
    request_id: str = "prefixed"
    cache_control: str = "no-store"

    # Keys and signatures, on every surface that signs.
    kid: str = "digest"
    jwks: str = "alone"
    jwk_members: str = "use"
    did_document: str = "jwk"
    key_media_type: str = "registered"
    jws_header: Mapping[str, str | None] = field(default_factory=dict)

    # The rail's challenge.
    paths: Mapping[str, str] = field(default_factory=lambda: REFERENCE_PATHS)
    max_timeout: int | None = None
    amount_member: bool = True
    accepts_order: str = "as set"
    further_lanes: tuple[str, ...] = ()
    entry_members: str = "v2"
    extra_members: str = "all"
    solana_reference: str = "svm_reference_pubkey"
    evm_case: str = "as set"
    challenge_header: bool = True
    challenge_error: str = "code"
    challenge_members: str = "all"
    token_form: str = "colons"  # noqa: S105 - a form, not a password
    wrong_method: str = "402"

    # The rail's answers to a proof.
    spent_status: int = 409
    chain_down_status: int = 503
    replay: str = "stored"
    overpayment: str = "accepted"
    rail_errors: str = "flat"
    receipt_at: str = "body:payable_receipt"
    result_at: str = "body:result"
    request_hash: str = "jcs-envelope"
    response_hash: str = "jcs-result"
    settled_ref: str = "payable-core"
    hash_form: str = "sha256:hex"
    claims: str = "all"
    answer_members: str = "all"
    payment_response: str | None = "PAYMENT-RESPONSE"
    verdict_claim: str = "screen_result"

    # The rail's documents.
    catalog: str = "addresses"
    listing: str = "items"
    index: str = "list"
    openapi: str = "as written"
    price_info: str = "offers"
    servers: str = "document"

    # The gateway's calls.
    create_status: int = 201
    credential_status: str = "401 and 403"
    error_codes: str = "snake"
    error_context: str = "all"
    receipt_member: str = "jws"
    receipt_hash: str = "expected_payment_hash"
    receipt_codes: str = "upper snake"
    report: str = "verified"
    jwks_path: str = "/.well-known/jwks.json"
    openapi_path: str = "/openapi.json"
    open_calls: str = "open"
    screen_request: str = "flat"
    screen_answer: str = "flat"
    screen_status: int = 200
    resource: str = "flat"
    link_members: str = "all"
    link_wants: str = ""
    link_currency: str = "USDC"
    own_networks: bool = False
    link_token: str = "base64url"  # noqa: S105 - a form, not a token
    times: str = "Z"
    network_labels: str = "keys"
    conflict: str = "409"
    replay_header: bool = True
    tenant_limit: str = "bucket"

    # The checkout.
    page: str = "cards"
    qr: str = "png"
    amount_text: str = "after"
    state_words: str = "waiting"
    page_media: str = "text/html; charset=utf-8"
    unknown_token: int = 404

    # Events.
    event_json: str = "compact"
    event_members: str = "all"
    event_version: str = "1"
    event_created: int = 0
    event_pretty: str = "after"
    event_chain: str = "keys"
    event_asset: str = "alone"
    evm_event_case: str = "as paid"
    event_header: str = ""
    event_signed: str = "{t}.{body}"
    event_key: str = "text"
    event_hex: str = "lower"
    event_signature_more: str = ""
    event_media: str = "application/json"
    event_headers: Mapping[str, str] = field(default_factory=dict)
    event_chunked: bool = False
    event_twice: bool = False
    event_type_more: str = ""

    # The agent's calls.
    agent_request: str = "flat"
    agent_validity: str = "valid"
    agent_errors: str = "texts"
    agent_word: str = "verdict"
    agent_base: str = "text"
    agent_digest: str = "object"
    agent_notes: str = "list"
    agent_components: str = "identifiers"
    agent_parameters: str = "object"
    agent_members: str = "all"
    agent_detail: str = "pydantic"
    agent_refusals: str = "detail"
    agent_unparsable: int = 200
    agent_max_age: int | None = None

    # The agent's demo signatures.
    sign_body: str = "as verify's"
    sign_request: str = "flat"
    sign_key: str = "hex and did:key"
    sign_cover: str = "usual"
    sign_parameters: str = "usual"
    sign_label: str | None = None
    sign_digest: str = "sha-256"
    sign_offered_keys: str = "refused"

    # The agent's documents and its A2A.
    agent_openapi_path: str = "/openapi.json"
    agent_openapi: str = "as written"
    agent_card: str = "whole"
    agent_legacy_card: str = "the same"
    agent_health: str = "status"
    agent_landing: str = "links"
    agent_hint: str = "hint"
    agent_a2a: str = "task"
    agent_rpc_errors: str = "sentences"

    # The rail's A2A.
    a2a_order: str = "service_id"
    a2a_state: str = "input-required"
    a2a_terms: str = "status message"
    a2a_task: str = "all"
    a2a_result: str = "task"
    a2a_ids: str = "uuid"
    a2a_errors: str = "-32001"
    a2a_demands_extension: bool = False
    rail_card: str = "whole"

    # The control plane's calls.
    hub_errors: str = "detail"
    hub_credential_status: str = "401"
    hub_challenge: str = "Bearer"
    hub_created: str = "201 and 200"
    hub_deleted: str = "204"
    hub_unknown: str = "404"
    hub_bad_body: int = 422
    hub_known_issuer: str = "200"
    hub_other_key: str = "replaces"
    hub_issuer_answer: str = "all"
    hub_service_request: str = "base_url"
    hub_service_answer: str = "record"
    hub_service_removal: bool = True

    # Documents of the control plane.
    hub_health: str = "flat"
    hub_posture: str = "list"
    hub_health_word: str = "healthy"
    hub_posture_members: str = "some"
    hub_posture_order: str = "registration"
    hub_polls: str = "on demand"
    hub_keys: str = "usual"
    hub_tags: str = "strong"
    hub_openapi_path: str = "/openapi.json"
    hub_openapi: str = "as written"

    # The audit log.
    audit_document: str = "entries"
    audit_order: str = "oldest first"
    audit_entry: str = "flat"
    audit_actions: str = "dotted"
    audit_times: str = "milliseconds"
    audit_recipe: str = "jcs-without-mac"
    audit_key: str = "hex"
    audit_genesis: str = "0" * 64
    audit_mac: str = "hex"
    audit_starts: bool = False
    audit_services: bool = True

    # Services that join, and the bundled addons.
    join_order: str = "pull first"
    join_scheme: str = "Bearer"
    join_more: bool = False
    addon_health: str = "issuers"
    addon_question: str = "own"
    addon_answer: str = "all"
