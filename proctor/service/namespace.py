"""A worker's set-up of its Temporal namespace: search attributes, and the retention of closed workflows."""

import logging
from datetime import timedelta
from typing import Any

from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.api.workflowservice.v1 import UpdateNamespaceRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey
from temporalio.service import RPCError, RPCStatusCode

from proctor.settings.config import GreenAgentConfig
from proctor.storage.namespaces import NOT_OURS_TO_DO, find_missing_attributes
from proctor.storage.temporal import TemporalUnreachableError
from proctor.workflows.names import SEARCH_ATTRIBUTES
from purple_sdk.protocol.durations import parse_iso8601_duration

log = logging.getLogger(__name__)

_SECONDS = timedelta(seconds=10)


async def ensure_retention(client: Client, config: GreenAgentConfig) -> None:
    """Set the namespace's retention of closed workflows to that of the settings, if they have one.

    If Temporal doesn't permit the change, the retention stays as it is.
    """
    if not config.temporal_retention:
        return
    retention = Duration()
    retention.FromTimedelta(parse_iso8601_duration(config.temporal_retention))
    try:
        await client.workflow_service.update_namespace(
            UpdateNamespaceRequest(
                namespace=client.namespace, config=NamespaceConfig(workflow_execution_retention_ttl=retention)
            )
        )
    except RPCError as error:
        if error.status not in NOT_OURS_TO_DO:
            raise
        log.warning("the namespace %s keeps its own retention: %s", client.namespace, error.message)


async def ensure_search_attributes(client: Client, config: GreenAgentConfig) -> None:
    """Register the search attributes of assessments that the namespace doesn't have yet.

    Raises:
        TemporalUnreachableError: some are missing, and Temporal doesn't permit a worker to make them, as in Temporal
            Cloud. The message has the commands that make them.
        temporalio.service.RPCError: Temporal doesn't answer.
    """
    try:
        missing = await find_missing_attributes(client, SEARCH_ATTRIBUTES, _SECONDS)
    except RPCError as error:
        if error.status not in NOT_OURS_TO_DO:
            raise
        missing = [key for key in SEARCH_ATTRIBUTES if not await _is_known(client, key)]
    if not missing:
        return
    try:
        attributes = {key.name: IndexedValueType.ValueType(key.indexed_value_type) for key in missing}
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(namespace=client.namespace, search_attributes=attributes)
        )
    except RPCError as error:
        if error.status not in NOT_OURS_TO_DO:
            raise
        raise TemporalUnreachableError(how_to_make(missing, config.temporal_namespace)) from None


async def _is_known(client: Client, key: SearchAttributeKey[Any]) -> bool:
    """Whether the namespace has a search attribute, tested by a query."""
    try:
        await client.count_workflows(f"{key.name} IS NULL")
    except RPCError as error:
        if error.status == RPCStatusCode.INVALID_ARGUMENT:
            return False
        raise
    return True


def how_to_make(missing: list[SearchAttributeKey[Any]], namespace: str) -> str:
    names = ", ".join(key.name for key in missing)
    kinds = {key.name: key.indexed_value_type.name.title() for key in missing}
    cloud = " ".join(f"--search-attribute {name}={kind}" for name, kind in kinds.items())
    own = " ".join(f"--name {name} --type {kind}" for name, kind in kinds.items())
    return (
        f"the namespace {namespace!r} lacks the search attributes {names}, and doesn't let a worker make them. In "
        "Temporal Cloud an account's administrator does:\n"
        f"  tcld namespace search-attributes add --namespace {namespace} {cloud}\n"
        f"in a cluster of your own:\n  temporal operator search-attribute create --namespace {namespace} {own}"
    )
