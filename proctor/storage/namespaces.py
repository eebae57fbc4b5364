"""Requirements of assessments that a Temporal namespace may lack: its existence, or search attributes."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey
from temporalio.service import RPCError, RPCStatusCode

from purple_sdk.protocol.problems import Problem

NOT_OURS_TO_DO = (RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.UNAUTHENTICATED)
"""Status codes of a namespace that reserves changes for administrators, as in Temporal Cloud."""

_SECONDS = timedelta(seconds=2)
_NO_NAMESPACE = "NamespaceNotFoundFailure"
_NO_ATTRIBUTE = "no mapping defined for search attribute"


async def find_missing_attributes(
    client: Client, keys: Sequence[SearchAttributeKey[Any]], timeout: timedelta = _SECONDS
) -> list[SearchAttributeKey[Any]]:
    """Return those of the search attributes ``keys`` that the client's namespace lacks.

    Raises ``RPCError`` if Temporal doesn't answer or refuses.
    """
    request = ListSearchAttributesRequest(namespace=client.namespace)
    known = await client.operator_service.list_search_attributes(request, timeout=timeout)
    return [key for key in keys if key.name not in known.custom_attributes]


async def find_namespace_problem(client: Client, keys: Sequence[SearchAttributeKey[Any]]) -> Problem | None:
    """Return why assessments can't be started in the client's namespace; None if they can, or if we may not ask.

    Raises ``RPCError`` if Temporal doesn't answer.
    """
    try:
        missing = await find_missing_attributes(client, keys)
    except RPCError as error:
        if error.status in NOT_OURS_TO_DO:
            return None
        if refusal := find_refusal(error):
            return refusal
        raise
    if not missing:
        return None
    names = ", ".join(key.name for key in missing)
    return Problem(
        f"The Temporal namespace {client.namespace!r} lacks the search attributes {names}",
        "start a worker: it makes them, or says by which commands an administrator does",
    )


def find_refusal(problem: RPCError) -> Problem | None:
    """Return the namespace's problem behind a failed call; None if the cause is another one."""
    if problem.status == RPCStatusCode.NOT_FOUND and _NO_NAMESPACE in str(problem.grpc_status.details):
        return Problem(
            f"Temporal lacks the evaluator's namespace ({problem.message.rstrip('.')})",
            "make it (`temporal operator namespace create`) or set AGENTBEATS_GREEN_TEMPORAL_NAMESPACE",
        )
    if problem.status == RPCStatusCode.INVALID_ARGUMENT and _NO_ATTRIBUTE in problem.message:
        return Problem(
            f"The evaluator's Temporal namespace is not complete ({problem.message.rstrip('.')})",
            "start a worker: it makes what is missing, or says by which commands an administrator does",
        )
    return None
