"""From a message to a running assessment: once, however often the message is sent."""

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

from proctor.a2a_gateway.auth.quotas import MEMO_SHARE, Allowance, share_of
from proctor.a2a_gateway.contexts import check_context_id, context_keyword
from proctor.a2a_gateway.parts import check_nesting, message_to_json, request_of
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
    owned_by,
)
from purple_sdk.protocol.terminal import is_terminal_request


@dataclass(frozen=True)
class Started:
    """The task that a message belongs to.

    Attributes:
        message: the message as it is kept: with the ids of its task and context.
        joined: the same message had started the task before; nothing was started now.
    """

    task_id: str
    message: Message
    joined: bool


def task_id_for(message: Message, owner: str) -> str:
    """The id of the task that a message starts.

    A caller who lost the connection repeats its message. Where the message id is a UUID, which no two messages share
    by chance, the task id derives from it, the context and the content, so that the repetition finds the task. Any
    other message id (``1``, ``msg``) may stand for many messages: each starts a task of its own. So does the same
    message of another caller.
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
    """Start the workflow for a message, or find the one that the same message of the same caller started before.

    Raises:
        InvalidRequestError: the caller's quotas have no room for it.
        InvalidParamsError: the message's context id can't be kept, or its data is nested too deeply.
        temporalio.service.RPCError: Temporal doesn't answer, or doesn't take the workflow.
    """
    check_context_id(sent.context_id)
    check_nesting(sent)
    message = Message()
    message.CopyFrom(sent)
    request = request_of(message)
    is_campaign = is_terminal_request(request) or is_run_request(request)
    message.task_id = task_id_for(sent, caller.name)
    if not is_campaign:
        message.task_id = readable_id(message.task_id, request)
    message.context_id = sent.context_id or message.task_id  # by which those find it that come later
    as_json = message_to_json(message)
    started = Started(message.task_id, message, joined=False)
    kind = CampaignInput if is_campaign else AssessmentInput
    share = share_of(request)
    try:
        async with allowance.room_for(client, caller, share, message.task_id):
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
                search_attributes=owned_by(
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
