"""What is under way, from Temporal."""

from temporalio.client import Client

from proctor_protocol.config import GreenAgentConfig
from proctor_storage.temporal import connect
from viewer.pages import Running
from workflows.names import (
    ASSESSMENT_WORKFLOW,
    PROCTOR_OWNER,
    PROCTOR_PARTICIPANT,
    PROCTOR_SCENARIO,
    PROCTOR_STATUS,
    Status,
)

_SHOWN_AT_MOST = 200
_QUERY = f"WorkflowType = '{ASSESSMENT_WORKFLOW}' AND ExecutionStatus = 'Running'"


class UnderWay:
    """Says what runs; connected to Temporal when first asked, and again after a failure."""

    def __init__(self, config: GreenAgentConfig) -> None:
        self._config = config
        self._client: Client | None = None

    async def __call__(self) -> list[Running]:
        """The assessments that run, the latest first.

        Raises:
            TemporalUnreachableError, temporalio.service.RPCError: Temporal doesn't answer.
        """
        if self._client is None:
            self._client = await connect(self._config)
        found = []
        async for execution in self._client.list_workflows(_QUERY, page_size=_SHOWN_AT_MOST, limit=_SHOWN_AT_MOST):
            known = execution.typed_search_attributes
            found.append(
                Running(
                    id=execution.id,
                    scenario_id=known.get(PROCTOR_SCENARIO) or "",
                    participant_url=known.get(PROCTOR_PARTICIPANT) or "",
                    status=known.get(PROCTOR_STATUS) or Status.SUBMITTED,
                    started_at=execution.start_time,
                    url=self._url(execution.id),
                    owner=known.get(PROCTOR_OWNER) or "",
                )
            )
        return found

    def _url(self, workflow_id: str) -> str | None:
        if not self._config.temporal_ui_url:
            return None
        base = f"{self._config.temporal_ui_url.rstrip('/')}/namespaces/{self._config.temporal_namespace}"
        return f"{base}/workflows/{workflow_id}"
