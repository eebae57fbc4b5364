"""The trace that a turn belongs to, passed on from the evaluator's message to the agent's requests to the simulator.

An agent needs nothing for it, not even OpenTelemetry: the headers of W3C Trace Context are handed on as they came.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_NAMES = ("traceparent", "tracestate")
_LONGEST = 1_000

_carried: ContextVar[Mapping[str, str]] = ContextVar("trace_carried", default=MappingProxyType({}))


@contextmanager
def carrying(headers: Mapping[str, str]) -> Iterator[None]:
    """Have requests of now, and of tasks that are begun now, belong to the trace of these headers."""
    passed_on = {name: value for name in _NAMES if (value := headers.get(name, "")) and len(value) <= _LONGEST}
    token = _carried.set(passed_on)
    try:
        yield
    finally:
        _carried.reset(token)


def carried() -> Mapping[str, str]:
    """The headers that a request made now has to have; none outside of a trace."""
    return _carried.get()
