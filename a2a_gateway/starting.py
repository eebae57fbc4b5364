"""Start an assessment from a message; start it only once, even if the message is sent again."""

import hashlib
import uuid
from dataclasses import asdict, dataclass

from a2a.types import Message
from temporalio.client import Client
from temporalio.common import (
    SearchAttributePair,
    WorkflowIDConflictPolicy,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import WorkflowAlreadyStartedError

from proctor.a2a_gateway.auth.quotas import MEMO_SHARE, Allowance, compute_share
from proctor.a2a_gateway.contexts import check_context_id, context_keyword
from proctor.a2a_gateway.parts import check_nesting, extract_request, message_to_json
from proctor.a2a_gateway.tasks import MEMO_MESSAGE
from proctor.a2a_gateway.temporal import RPC_TIMEOUT
from proctor.protocol.callers import Caller
from proctor.protocol.runs import is_run_request
from proctor.protocol.task_ids import readable_id
from proctor.workflows.inputs import AssessmentInput, CampaignInput
from proctor.workflows.limits import CAMPAIGN_TASK, WORKFLOW_TASK
from proctor.workflows.names import (
    ASSESSMENT_WORKFLOW,
    CAMPAIGN_WORKFLOW,
    PROCTOR_CONTEXT,
    PROCTOR_STATUS,
    Status,
    make_owner_attributes,
)
from purple_sdk.protocol.terminal import is_terminal_request


@dataclass(frozen=True)
class Started:
    """The task that a message belongs to.

    Attributes:
            message: the message as it is stored, with the ids of its task and context.
        joined: whether an earlier copy of the message started the task, and nothing was started now.
    """

    task_id: str
    message: Message
    joined: bool


def derive_task_id(message: Message, owner: str) -> str:
    """Return the id of the task that a message starts.

    A caller who lost the connection repeats its message. If the message id is a UUID, no two messages share it by
    chance. The task id then derives from it, the context and the content, and the repetition finds the task. Other
    message ids (``1``, ``msg``) may belong to many messages, so each message starts a separate task. The same message
    of another caller also starts a separate task.
    """
    try:
        uuid.UUID(message.message_id)
    except ValueError:
        return str(uuid.uuid4())
    content = hashlib.sha256()
    for part in message.parts:
        content.update(hashlib.sha256(part.SerializeToString(deterministic=True)).digest())
    what = f"{message.context_id}\n{message.message_id}\n{content.hexdigest()}"
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{what}\n{owner}" if owner else what))


async def start_assessment(
    client: Client, sent: Message, task_queue: str, caller: Caller, allowance: Allowance
) -> Started:
    """Start the workflow for a message, or find the one that an earlier copy from the same caller started.

    Raises:
        InvalidRequestError: the caller's quotas have no room for it.
        InvalidParamsError: the message's context id can't be kept, or its data is nested too deeply.
        temporalio.service.RPCError: Temporal doesn't answer, or doesn't take the workflow.
    """
    check_context_id(sent.context_id)
    check_nesting(sent)
    message = Message()
    message.CopyFrom(sent)
    request = extract_request(message)
    is_campaign = is_terminal_request(request) or is_run_request(request)
    message.task_id = derive_task_id(sent, caller.name)
    if not is_campaign:
        message.task_id = readable_id(message.task_id, request)
    message.context_id = sent.context_id or message.task_id  # later messages find the task by it
    as_json = message_to_json(message)
    started = Started(message.task_id, message, joined=False)
    kind = CampaignInput if is_campaign else AssessmentInput
    share = compute_share(request)
    try:
        async with allowance.reserve_room(client, caller, share, message.task_id):
            await client.start_workflow(
                CAMPAIGN_WORKFLOW if is_campaign else ASSESSMENT_WORKFLOW,
                kind(
                    task_id=message.task_id,
                    context_id=message.context_id,
                    request=request,
                    message=as_json,
                    owner=caller.name,
                ),
                id=message.task_id,
                task_queue=task_queue,
                task_timeout=CAMPAIGN_TASK if is_campaign else WORKFLOW_TASK,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                search_attributes=make_owner_attributes(
                    caller.name,
                    SearchAttributePair(PROCTOR_CONTEXT, context_keyword(message.context_id)),
                    SearchAttributePair(PROCTOR_STATUS, Status.SUBMITTED),
                ),
                memo={MEMO_MESSAGE: as_json, **({MEMO_SHARE: asdict(share)} if is_campaign else {})},
                rpc_timeout=RPC_TIMEOUT,
            )
    except WorkflowAlreadyStartedError:
        return Started(message.task_id, message, joined=True)
    return started
