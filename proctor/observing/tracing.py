"""OpenTelemetry traces, where the standard variables ask for them; otherwise the packages are not even imported.

``OTEL_EXPORTER_OTLP_ENDPOINT`` (or ``…_TRACES_ENDPOINT``) says where a collector takes OTLP over HTTP, or
``OTEL_TRACES_EXPORTER`` names an exporter (``otlp``, ``console``); ``OTEL_SDK_DISABLED=true`` and
``OTEL_TRACES_EXPORTER=none`` switch traces off. All other variables (``OTEL_SERVICE_NAME``, ``OTEL_TRACES_SAMPLER``,
``OTEL_EXPORTER_OTLP_HEADERS``, ``OTEL_BSP_…``) are read by OpenTelemetry itself.
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
"""What followers of an assessment ask its workflow for, over and over."""

_TEXT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""OpenTelemetry's variable for spans with the text of messages."""

_OF_EXCEPTIONS = ("exception.type", "exception.escaped")
"""Attributes of a recorded exception that quote nothing."""

_tracer: "Tracer | None" = None


class TracingError(Exception):
    """Traces are asked for and can't be made; the message is a sentence with the remedy."""


def is_asked_for(environment: Mapping[str, str] = os.environ) -> bool:
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter:
        return exporter != "none"
    return any(environment.get(name, "").strip() for name in _ENDPOINTS)


def find_missing() -> str | None:
    """The sentence for traces that are asked for and can't be made, as the extra isn't there; None where it is."""
    try:
        importlib.import_module("opentelemetry.sdk.trace")
        importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ImportError as problem:
        return _missing(problem)
    return None


def endpoint_of(environment: Mapping[str, str]) -> str | None:
    """Where spans are sent; None where they go to the console."""
    if environment.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "console":
        return None
    return next((environment[name] for name in _ENDPOINTS if environment.get(name)), "http://localhost:4318")


def start_tracing(service: str) -> bool:
    """Have this process make spans from now on, if the environment asks for it; whether it does.

    Args:
        service: the service's name, unless ``OTEL_SERVICE_NAME`` says another one.

    Raises:
        TracingError: the extra is missing, or the exporter isn't known.
    """
    global _tracer
    if not is_asked_for() or _tracer is not None:
        return _tracer is not None
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from temporalio.contrib.opentelemetry import create_tracer_provider
    except ImportError as problem:
        raise TracingError(_missing(problem)) from None
    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME") or service})
    provider = create_tracer_provider(sampler=_sampler(), resource=resource)
    provider.add_span_processor(BatchSpanProcessor(_exporter() if _text_is_asked_for() else _without_text(_exporter())))
    trace.set_tracer_provider(provider)
    _tracer = trace.get_tracer("proctor")
    return True


def stop_tracing() -> None:
    """Send the spans that are still here; a collector that doesn't answer is waited for a few seconds."""
    if _tracer is not None:
        from opentelemetry import trace

        flush = getattr(trace.get_tracer_provider(), "force_flush", None)
        if flush is not None:
            flush(3_000)


def temporal_plugins() -> "list[OpenTelemetryPlugin]":
    """What a Temporal client has to be connected with, so that spans go through workflows and activities."""
    if _tracer is None:
        return []
    from temporalio.contrib.opentelemetry import OpenTelemetryPlugin

    return [OpenTelemetryPlugin(add_temporal_spans=True)]


def span(
    name: str, attributes: Attributes | None = None, kind: str = "internal"
) -> "AbstractContextManager[Span | None]":
    """A span around what happens meanwhile; None, and nothing, where there are no traces.

    Args:
        name: few different ones; ids belong into the attributes.
        attributes: what is known of it already.
        kind: ``internal``, ``client`` or ``server``.
    """
    if _tracer is None:
        return nullcontext()
    from opentelemetry.trace import SpanKind

    return _tracer.start_as_current_span(name, attributes=attributes, kind=SpanKind[kind.upper()])


def begin_span(name: str, attributes: Attributes | None = None) -> "Span | None":
    """A client's span that its maker ends (``end()``), in another function than it began in; None without traces."""
    if _tracer is None:
        return None
    from opentelemetry.trace import SpanKind

    return _tracer.start_span(name, attributes=attributes, kind=SpanKind.CLIENT)


def fail(span: "Span", problem: BaseException) -> None:
    """Mark a span as one of what failed; the failure's words, which may be a stranger's, stay out of it."""
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", type(problem).__name__)
    span.set_status(Status(StatusCode.ERROR, type(problem).__name__))


def is_on() -> bool:
    return _tracer is not None


def carry(headers: MutableMapping[str, str]) -> None:
    """Add ``traceparent`` (and ``tracestate``, ``baggage``) to the headers of a request."""
    if _tracer is not None:
        from opentelemetry import propagate

        propagate.inject(headers)


def httpx_hooks() -> dict[str, list[Callable[[Any], Any]]]:
    """``event_hooks`` of an ``httpx.AsyncClient`` whose requests carry the trace that they belong to."""

    async def add(request: Any) -> None:
        carry(request.headers)

    return {"request": [add]} if _tracer is not None else {}


def note(attributes: Attributes) -> None:
    if _tracer is not None:
        from opentelemetry import trace

        trace.get_current_span().set_attributes(attributes)


def current_ids() -> dict[str, str]:
    """The ids of the trace and the span that are under way; empty where there are none."""
    if _tracer is None:
        return {}
    from opentelemetry import trace

    where = trace.get_current_span().get_span_context()
    if not where.is_valid:
        return {}
    return {"trace_id": f"{where.trace_id:032x}", "span_id": f"{where.span_id:016x}"}


@contextmanager
def request_span(name: str, headers: Mapping[str, str], attributes: Attributes) -> "Iterator[Span | None]":
    """A server's span around one request, a child of the caller's where its ``traceparent`` names one."""
    if _tracer is None:
        yield None
        return
    from opentelemetry import propagate
    from opentelemetry.trace import SpanKind

    caller = propagate.extract(headers)
    with _tracer.start_as_current_span(name, caller, SpanKind.SERVER, attributes) as made:
        yield made


class TracedRequests:
    """ASGI middleware: a span for each HTTP request. Servers add it only where ``is_on()``.

    Args:
        app: what answers.
        name_of: makes a span's name of a request's path: one with ids replaced.

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
        with request_span(f"{method} {self._name_of(scope['path'])}", headers, attributes) as made:

            async def watch(message: Any) -> None:
                if made is not None and message["type"] == "http.response.start":
                    made.set_attribute("http.response.status_code", message["status"])
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
    except ImportError as problem:
        raise TracingError(_missing(problem)) from None
    return OTLPSpanExporter()


def _text_is_asked_for() -> bool:
    return os.environ.get(_TEXT, "").strip().lower() == "true"


def _without_text(exporter: Any) -> Any:
    """An exporter without the messages and stack traces of exceptions, which may quote a model or a participant.

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
    """What ``OTEL_TRACES_SAMPLER`` says, without what followers of an assessment ask its workflow for."""
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
