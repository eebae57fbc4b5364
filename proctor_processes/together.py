"""Works that are done side by side: the first failure ends the others."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def do_all(*works: Awaitable[T]) -> list[T]:
    """Do all works side by side; returns their results in order.

    When one fails, the others are cancelled and their end is awaited, so that nothing costs on. Its error is raised as
    it is. (``asyncio.gather`` leaves the others running. ``TaskGroup`` raises a group. In Python 3.11 it also leaves a
    mark of cancellation on its caller, and a time limit around it then raises the wrong error.)
    """
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
