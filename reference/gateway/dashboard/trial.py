"""The screen Trial: a tenant's trial, verification and plan, and what they allow now (3.10)."""

from __future__ import annotations

from collections.abc import Mapping

from reference.gateway.admin_api import Decision
from reference.gateway.call_admission import fit_model
from reference.gateway.dashboard.screen_context import OPENS, ScreenContext, screen_path
from reference.gateway.dashboard.signed_in_request import Route, SignedInRequest, redirect_to
from reference.web.errors import Unprocessable
from reference.web.http.exchange import Reply

_SCREEN = "trial"
_SENTENCES = {"status": "Choose one of the decisions.", "plan": "Choose one of the plans."}


class TrialScreen:
    """Answers at …/trial."""

    def __init__(self, context: ScreenContext) -> None:
        self._context = context

    def routes(self) -> tuple[Route, ...]:
        """Return the routes."""
        path = f"/tenants/<tenant_id>/{_SCREEN}"
        return Route("GET", path, self.show, OPENS[_SCREEN]), Route("POST", path, self.judge, ("kyb:write",))

    async def show(self, request: SignedInRequest, faults: Mapping[str, str] | None = None) -> Reply:
        """Show the standing, and the form to those who decide."""
        tenancy = self._context.tenancy
        tenant = await tenancy.record(request.tenant_id)
        # The screen shows the refusal of a smallest link in each mode, so an administrator sees the effect of a
        # decision.
        used, allowance = tenant["used_microunits"], tenant["allowance_microunits"]
        return await self._context.page(
            request,
            "trial.html",
            _SCREEN,
            tenant,
            status=422 if faults else 200,
            test_barred=await tenancy.find_trial_refusal(request.tenant_id, "test"),
            live_barred=await tenancy.find_trial_refusal(request.tenant_id, "live"),
            left=max(0, allowance - used),
            faults=faults or {},
        )

    async def judge(self, request: SignedInRequest) -> Reply:
        """Set what was decided."""
        values = {"status": request.form.value_of("status"), "plan": request.form.value_of("plan")}
        try:
            decision = fit_model(Decision, values)
        except Unprocessable as fault:
            names = {str(item["loc"][1]) for item in fault.detail}
            return await self.show(request, {name: text for name, text in _SENTENCES.items() if name in names})
        await self._context.tenancy.judge(request.tenant_id, decision.status, decision.plan)
        return redirect_to(screen_path(request, _SCREEN, "judged"))
