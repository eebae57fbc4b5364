"""A collector of OpenTelemetry's spans: takes OTLP over HTTP, as real ones do, and keeps what it is sent.

with Collector() as collector:
    ...  # services whose OTEL_EXPORTER_OTLP_ENDPOINT is collector.url
    spans = collector.spans
"""

import gzip
import json
import threading
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue


@dataclass(frozen=True)
class Collected:
    """A span as it was sent; times in nanoseconds since 1970."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    start: int
    end: int
    is_error: bool
    attributes: dict[str, Any] = field(default_factory=dict)


class Collector:
    """The server, and the spans that it has got so far."""

    def __init__(self) -> None:
        self.spans: list[Collected] = []
        self.paths: set[str] = set()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def take(self, body: bytes) -> None:
        sent = ExportTraceServiceRequest.FromString(body)
        with self._lock:
            for resource in sent.resource_spans:
                told = {attribute.key: _value(attribute.value) for attribute in resource.resource.attributes}
                for scope in resource.scope_spans:
                    self.spans += [
                        Collected(
                            service=str(told.get("service.name", "")),
                            name=span.name,
                            trace_id=span.trace_id.hex(),
                            span_id=span.span_id.hex(),
                            parent_id=span.parent_span_id.hex(),
                            kind=span.kind,
                            start=span.start_time_unix_nano,
                            end=span.end_time_unix_nano,
                            is_error=span.status.code == 2,
                            attributes={attribute.key: _value(attribute.value) for attribute in span.attributes},
                        )
                        for span in scope.spans
                    ]

    def of_trace(self, trace_id: str) -> list[Collected]:
        """The spans of one trace, by their beginning."""
        with self._lock:
            return sorted((span for span in self.spans if span.trace_id == trace_id), key=lambda span: span.start)

    def __enter__(self) -> Self:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.paths.add(self.path)
                collector.take(body)
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def write_spans(spans: list[Collected], path: Path) -> None:
    """Keep spans, for the picture of them."""
    path.write_text(json.dumps([asdict(span) for span in spans], indent=1))


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    return getattr(value, kind) if kind else None
