"""The A2A tasks of an agent process: in memory, and limited in number."""

from collections import OrderedDict

from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore, TaskStore
from a2a.types.a2a_pb2 import ListTasksRequest, ListTasksResponse, Task

MOST_TASKS = 2000


class BoundedTaskStore(TaskStore):
    """The tasks that were written to last, ``most`` of them; the others are forgotten."""

    def __init__(self, most: int = MOST_TASKS) -> None:
        self._most = most
        self._tasks = InMemoryTaskStore()
        self._order: OrderedDict[str, ServerCallContext] = OrderedDict()

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Keep a task, and forget the one that was longest untouched where there are too many."""
        await self._tasks.save(task, context)
        self._order[task.id] = context
        self._order.move_to_end(task.id)
        while len(self._order) > self._most:
            oldest, its_context = self._order.popitem(last=False)
            await self._tasks.delete(oldest, its_context)

    async def get(self, task_id: str, context: ServerCallContext) -> Task | None:
        """The task, if it is still kept."""
        return await self._tasks.get(task_id, context)

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """The tasks that are still kept."""
        return await self._tasks.list(params, context)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Forget a task."""
        self._order.pop(task_id, None)
        await self._tasks.delete(task_id, context)
