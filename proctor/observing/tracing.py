"""Make OpenTelemetry traces if the standard variables ask for them; otherwise the packages are not even imported.

``OTEL_EXPORTER_OTLP_ENDPOINT`` (or ``…_TRACES_ENDPOINT``) is the address of a collector that takes OTLP over HTTP.
``OTEL_TRACES_EXPORTER`` names an exporter (``otlp``, ``console``). ``OTEL_SDK_DISABLED=true`` and
``OTEL_TRACES_EXPORTER=none`` switch traces off. OpenTelemetry itself reads all other variables (``OTEL_SERVICE_NAME``,
``OTEL_TRACES_SAMPLER``, ``OTEL_EXPORTER_OTLP_HEADERS``, ``OTEL_BSP_…``).
"""

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from proctor.observing.requests import QUIET

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer
    from temporalio.contrib.opentelemetry import OpenTelemetryPlugin

Attributes = Mapping[str, str | int | float | bool]

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_POLLING = ("__temporal_workflow_stream", "temporal_workflow_stream")
"""The names of the requests by which followers of an assessment poll its workflow."""

_TEXT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""OpenTelemetry's variable for spans with the text of messages."""

_OF_EXCEPTIONS = ("exception.type", "exception.escaped")
"""Attributes of a recorded exception that quote nothing."""

_tracer: "Tracer | None" = None


class TracingError(Exception):
    """Traces are requested but can't be made; the message is a sentence with the remedy."""


def is_requested(environment: Mapping[str, str] = os.environ) -> bool:
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter:
        return exporter != "none"
    return any(environment.get(name, "").strip() for name in _ENDPOINTS)


def find_missing() -> str | None:
    """Return a sentence with the remedy if the extra for traces is not installed; None if it is."""
    try:
        importlib.import_module("opentelemetry.sdk.trace")
        importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ImportError as error:
        return _missing(error)
    return None


def find_endpoint(environment: Mapping[str, str]) -> str | None:
    """Return the address that spans are sent to; None if they go to the console."""
    if environment.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "console":
        return None
    return next((environment[name] for name in _ENDPOINTS if environment.get(name)), "http://localhost:4318")


def start_tracing(service: str) -> bool:
    """Start making spans in this process if the environment asks for it; returns whether it makes them.

    Args:
        service: the service's name, unless ``OTEL_SERVICE_NAME`` is set.

    Raises:
        TracingError: the extra is missing, or the exporter is unknown.
    """
    global _tracer
    if not is_requested() or _tracer is not None:
        return _tracer is not None
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from temporalio.contrib.opentelemetry import create_tracer_provider
    except ImportError as error:
        raise TracingError(_missing(error)) from None
    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME") or service})
    provider = create_tracer_provider(sampler=_sampler(), resource=resource)
    provider.add_span_processor(BatchSpanProcessor(_exporter() if _includes_text() else _without_text(_exporter())))
    trace.set_tracer_provider(provider)
    _tracer = trace.get_tracer("proctor")
    return True


def stop_tracing() -> None:
    """Send the remaining spans; waits at most a few seconds for the collector."""
    if _tracer is not None:
        from opentelemetry import trace

        flush = getattr(trace.get_tracer_provider(), "force_flush", None)
        if flush is not None:
            flush(3_000)


def temporal_plugins() -> "list[OpenTelemetryPlugin]":
    """Return the plugins for a Temporal client that carry spans through workflows and activities."""
    if _tracer is None:
        return []
    from temporalio.contrib.opentelemetry import OpenTelemetryPlugin

    return [OpenTelemetryPlugin(add_temporal_spans=True)]


def span(
    name: str, attributes: Attributes | None = None, kind: str = "internal"
) -> "AbstractContextManager[Span | None]":
    """Return a context manager that makes a span around its block; without traces it only yields None.

    Args:
        name: the span's name. There should be few names, so ids belong in the attributes.
        attributes: the attributes that are known at the start.
        kind: ``internal``, ``client`` or ``server``.
    """
    if _tracer is None:
        return nullcontext()
    from opentelemetry.trace import SpanKind

    return _tracer.start_as_current_span(name, attributes=attributes, kind=SpanKind[kind.upper()])


def begin_span(name: str, attributes: Attributes | None = None) -> "Span | None":
    """Begin a client's span that the caller must ``end()``, possibly in another function; None without traces."""
    if _tracer is None:
        return None
    from opentelemetry.trace import SpanKind

    return _tracer.start_span(name, attributes=attributes, kind=SpanKind.CLIENT)


def fail(span: "Span", problem: BaseException) -> None:
    """Mark a span as failed; only the error's type is recorded, as its text may come from a participant or model."""
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", type(problem).__name__)
    span.set_status(Status(StatusCode.ERROR, type(problem).__name__))


def is_tracing() -> bool:
    return _tracer is not None


def carry(headers: MutableMapping[str, str]) -> None:
    """Add ``traceparent`` (and ``tracestate``, ``baggage``) to the headers of a request."""
    if _tracer is not None:
        from opentelemetry import propagate

        propagate.inject(headers)


def httpx_hooks() -> dict[str, list[Callable[[Any], Any]]]:
    """Return the ``event_hooks`` with which an ``httpx.AsyncClient`` adds the current trace to its requests."""

    async def add(request: Any) -> None:
        carry(request.headers)

    return {"request": [add]} if _tracer is not None else {}


def note(attributes: Attributes) -> None:
    if _tracer is not None:
        from opentelemetry import trace

        trace.get_current_span().set_attributes(attributes)


def current_ids() -> dict[str, str]:
    """Return the ids of the current trace and span; empty if there are none."""
    if _tracer is None:
        return {}
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


@contextmanager
def request_span(name: str, headers: Mapping[str, str], attributes: Attributes) -> "Iterator[Span | None]":
    """Make a server's span around one request; it is a child of the caller's span if ``traceparent`` names one."""
    if _tracer is None:
        yield None
        return
    from opentelemetry import propagate
    from opentelemetry.trace import SpanKind

    caller = propagate.extract(headers)
    with _tracer.start_as_current_span(name, caller, SpanKind.SERVER, attributes) as server_span:
        yield server_span


class TracedRequests:
    """ASGI middleware that makes a span for each HTTP request. Servers add it only if ``is_tracing()``.

    Args:
        app: the wrapped application.
        name_of: makes a span's name from a request's path, with ids replaced.
    """

    def __init__(self, app: Any, name_of: Callable[[str], str] = str) -> None:
        self._app = app
        self._name_of = name_of

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] in QUIET:
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        method = scope["method"]
        attributes = {"http.request.method": method, "url.path": scope["path"]}
        with request_span(f"{method} {self._name_of(scope['path'])}", headers, attributes) as server_span:

            async def watch(message: Any) -> None:
                if server_span is not None and message["type"] == "http.response.start":
                    server_span.set_attribute("http.response.status_code", message["status"])
                await send(message)

            await self._app(scope, receive, watch)


def _exporter() -> Any:
    name = os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() or "otlp"
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    if name != "otlp" or protocol not in (None, "", "http/protobuf"):
        setting = f"OTEL_TRACES_EXPORTER={name}" if name != "otlp" else f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol}"
        raise TracingError(f"{setting} can't be used: spans go out as otlp by http/protobuf, or to the console")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise TracingError(_missing(error)) from None
    return OTLPSpanExporter()


def _includes_text() -> bool:
    return os.environ.get(_TEXT, "").strip().lower() == "true"


def _without_text(exporter: Any) -> Any:
    """Wrap an exporter to leave out messages and stack traces of exceptions, which may quote a model or participant.

    Temporal's SDK records each exception of an activity in its span. The exception's type stays.
    """
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Status

    def strip(event: Event) -> Event:
        attributes = {name: value for name, value in (event.attributes or {}).items() if name in _OF_EXCEPTIONS}
        return Event(event.name, attributes, event.timestamp) if event.name == "exception" else event

    def stripped(span: ReadableSpan) -> ReadableSpan:
        events = [strip(event) for event in span.events]
        types = [(event.attributes or {}).get("exception.type") for event in events if event.name == "exception"]
        description = str(types[-1]) if types and span.status.description else None
        return ReadableSpan(
            name=span.name,
            context=span.context,
            parent=span.parent,
            resource=span.resource,
            attributes=span.attributes,
            events=events,
            links=span.links,
            kind=span.kind,
            status=Status(span.status.status_code, description),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    class WithoutText(SpanExporter):
        def export(self, spans: Any) -> Any:
            return exporter.export([stripped(span) for span in spans])

        def shutdown(self) -> None:
            exporter.shutdown()

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return bool(exporter.force_flush(timeout_millis))

    return WithoutText()


def _sampler() -> Any:
    """Return the sampler of ``OTEL_TRACES_SAMPLER``, which additionally drops the polling by followers."""
    from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult, _get_from_env_or_default

    chosen = _get_from_env_or_default()

    class WithoutPolling(Sampler):
        def should_sample(self, parent_context: Any, trace_id: int, name: str, *args: Any, **kwargs: Any) -> Any:
            if any(word in name for word in _POLLING):
                return SamplingResult(Decision.DROP)
            return chosen.should_sample(parent_context, trace_id, name, *args, **kwargs)

        def get_description(self) -> str:
            return f"WithoutPolling({chosen.get_description()})"

    return WithoutPolling()


def _missing(problem: ImportError) -> str:
    return (
        f"traces are asked for (OTEL_…) and {problem.name or 'OpenTelemetry'} is not installed: "
        "pip install 'proctor[otel]', or set OTEL_SDK_DISABLED=true"
    )
