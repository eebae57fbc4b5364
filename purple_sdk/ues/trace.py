"""Pass the trace of a turn on, from the evaluator's message to the agent's requests to the simulator.

An agent needs no library for it, not even OpenTelemetry: the headers of W3C Trace Context are passed on unchanged.
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
    """Add requests made now, and in tasks started now, to the trace of these headers."""
    passed_on = {name: value for name in _NAMES if (value := headers.get(name, "")) and len(value) <= _LONGEST}
    token = _carried.set(passed_on)
    try:
        yield
    finally:
        _carried.reset(token)


def carried() -> Mapping[str, str]:
    """Return the trace headers for a request that is made now; none outside of a trace."""
    return _carried.get()
