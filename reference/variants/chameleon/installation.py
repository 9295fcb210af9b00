"""Installation of a whole variant in one service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

from hypercorn.config import Config

from reference.variants.chameleon import control_plane_join_variants, http_variants, key_variants
from reference.variants.chameleon.answer_rewriter import AsgiApp, Edit, Wire, encoder
from reference.variants.chameleon.variant_shape import Shape
from reference.variants.seams import replace
from reference.web.servers import serving


def install(shape: Shape, surface: str) -> None:
    """Install a variant in the service `reference.SURFACE` that this process is about to run."""
    key_variants.install(shape, surface)
    if surface != "control_plane":
        control_plane_join_variants.install(shape)
    before, after = _edits(shape, surface)

    def wrap_build(build: Callable[[], AbstractAsyncContextManager[AsgiApp]]) -> Any:
        @asynccontextmanager
        async def open_variant() -> AsyncIterator[AsgiApp]:
            async with build() as app:
                own = partial(http_variants.own_answer, shape=shape)
                edits = (*after, *http_variants.head_edits(shape))
                yield Wire(app, before, encoder(shape.json_style), edits, elsewhere(shape, surface), own)

        return open_variant

    # A variant writes `Date` itself. So it always runs on the server whose date header can be switched off.
    Config.include_date_header = False
    replace(serving, "run_server", lambda run: lambda build, fd, *_: run(wrap_build(build), fd))


def _edits(shape: Shape, surface: str) -> tuple[list[Edit], list[Edit]]:
    """Install the seams of a surface and return its edits: before and after the body is written."""
    if surface == "rail":
        from reference.variants.chameleon import (  # noqa: PLC0415 - one surface a process
            a2a_variants,
            rail_challenge,
            rail_documents,
            rail_paid,
        )

        for module in (rail_documents, rail_challenge, rail_paid, a2a_variants):
            module.install(shape)
        # `rail_paid.edit` is first: it seals a paid answer, whose bytes are hashed in the receipt, before another
        # edit touches it.
        edits = (rail_paid.edit, rail_documents.edit, rail_challenge.edit, rail_paid.edit_refusal, a2a_variants.edit)
        return [_of(one, shape) for one in edits], [
            _of(rail_challenge.repeat_in_header, shape),
            _of(key_variants.documents_edit, shape),
        ]
    if surface == "gateway":
        from reference.variants.chameleon import gateway_calls, gateway_events, gateway_page  # noqa: PLC0415 - as above

        for module in (gateway_calls, gateway_page, gateway_events):
            module.install(shape)
        before = [_of(gateway_calls.edit, shape)]
        return before, [_of(key_variants.documents_edit, shape), _of(gateway_page.edit, shape)]
    if surface == "agent":
        from reference.variants.chameleon import agent_documents, agent_variants  # noqa: PLC0415 - one surface a process

        agent_variants.install(shape)
        return [_of(one, shape) for one in (agent_variants.edit, agent_documents.edit)], []
    if surface == "control_plane":
        from reference.variants.chameleon import (  # noqa: PLC0415 - as above
            hub_answer_variants,
            hub_audit_variants,
            hub_behaviour_variants,
            hub_documents,
        )

        hub_behaviour_variants.install(shape)
        of_the_hub = (
            hub_audit_variants.edit,
            hub_answer_variants.edit,
            hub_behaviour_variants.edit,
            hub_documents.edit,
        )
        return [_of(one, shape) for one in of_the_hub], []
    if surface.startswith("addons."):
        from reference.variants.chameleon import addon_variants, hub_documents  # noqa: PLC0415 - as above

        addon_variants.install(shape, surface)
        return [hub_documents.edit_of_an_addon, lambda answer: addon_variants.edit(answer, shape, surface)], []
    return [], []


def elsewhere(shape: Shape, surface: str) -> Callable[[str], str]:
    """Return a function from the variant's path to the service's path."""
    if surface == "agent":
        from reference.variants.chameleon import agent_documents  # noqa: PLC0415 - one surface a process

        return agent_documents.elsewhere(shape)
    if surface == "control_plane":
        from reference.variants.chameleon import hub_documents  # noqa: PLC0415 - as above

        return hub_documents.elsewhere(shape)
    if surface.startswith("addons."):
        from reference.variants.chameleon import addon_variants  # noqa: PLC0415 - as above

        return addon_variants.elsewhere(shape, surface)
    if surface != "gateway":
        return str
    from reference.variants.chameleon import gateway_calls  # noqa: PLC0415 - one surface a process

    return gateway_calls.elsewhere(shape)


def _of(edit: Callable[[Any, Shape], None], shape: Shape) -> Edit:
    return lambda answer: edit(answer, shape)
