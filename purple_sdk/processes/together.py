"""Run awaitables side by side; the first failure ends the others."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def do_all(*works: Awaitable[T]) -> list[T]:
    """Await all works side by side, and return their results in order.

    When one work fails, the others are cancelled and awaited, to stop their costs. The first error is raised unchanged.
    (``asyncio.gather`` leaves the others running. ``TaskGroup`` raises a group. In Python 3.11 ``TaskGroup`` also
    leaves a cancellation mark on its caller, and a time limit around it then raises the wrong error.)
    """
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
