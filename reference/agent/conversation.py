"""A2A messages to the agent: a skill with its request, or any other message, which is answered with help (6.6)."""

from __future__ import annotations

from reference.agent.skills import SKILLS, Moment
from reference.protocol.a2a import ErrorCode, Outcome, Task, TaskState, data_part, text_part
from reference.web.a2a.in_memory_tasks import OPENER
from reference.web.a2a.json_rpc import RpcError, build_invalid_params
from reference.web.a2a.methods import Message
from reference.web.clock import WpClock
from reference.web.errors import Unprocessable
from reference.web.http.exchange import Request
from reference.web.http.peers import Networks, client_address, read_hops

HELP = (
    'Send a data part {"skill": …, "request": {…}}. Skills: '
    + ", ".join(SKILLS)
    + ". The request is the JSON body that the skill takes over HTTP."
)


class Conversation:
    """Answers messages."""

    def __init__(self, clock: WpClock, *, skew: int, proxies: Networks) -> None:
        self._clock = clock
        self._skew = skew
        self._proxies = proxies

    async def __call__(self, message: Message, task: Task | None, request: Request) -> Outcome:
        """Return the outcome of a message: a result, or help if no data part names a skill.

        Raises:
            RpcError: -32602 for an unknown skill, or for a request that would be a 422.
        """
        data = message.data_with("skill")
        # Tasks are bounded for each client, which is known by its address alone: the agent needs no credential.
        memo = {OPENER: self._address(request)} if task is None else task.memo
        # INPUT_REQUIRED keeps the task open: the client can send the data part in its next message.
        if data is None:
            return Outcome(TaskState.INPUT_REQUIRED, parts=(text_part(HELP),), memo=memo)
        name = data["skill"]
        skill = SKILLS.get(name) if isinstance(name, str) else None
        if skill is None:
            raise build_invalid_params("skill", f"member skill of the data part is one of {', '.join(SKILLS)}", "skill")
        try:
            result = skill.call(data.get("request"), Moment(self._clock.now(), self._skew))
        # Over JSON-RPC a 422 has the code -32602, with the same list of faults.
        except Unprocessable as fault:
            raise RpcError(ErrorCode.INVALID_PARAMS, data=[dict(item) for item in fault.detail]) from fault
        return Outcome(TaskState.COMPLETED, artifacts=((data_part(result),),), memo=memo)

    def _address(self, request: Request) -> str:
        return client_address(request.peer, read_hops(request.headers.get("x-forwarded-for", ())), self._proxies)
