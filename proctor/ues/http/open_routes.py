"""Serve the paths that need no key: root, health and documentation. A host and a simulation have the same paths."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import orjson

from proctor.ues.http import openapi
from proctor.ues.http.route import Reply, Route
from proctor.ues.schema import JsonObject, Response

VERSION = "0.3.0"
"""The version of the UES interface that this server speaks."""

OPEN_PATHS = ("/", "/health", "/docs", "/redoc", "/openapi.json")
_SIGNS = (
    ("minimum", "≥"),
    ("exclusiveMinimum", ">"),
    ("maximum", "≤"),
    ("minLength", "length ≥"),
    ("maxLength", "length ≤"),
    ("minItems", "items ≥"),
    ("maxItems", "items ≤"),
)


class RootResponse(Response):
    """The server's name and links."""

    name: str
    version: str
    docs: str
    openapi: str
    health: str


class HealthResponse(Response):
    """The server's health."""

    status: str
    version: str


@dataclass(frozen=True)
class OpenPages:
    """The open paths' answers for a set of routes. The documents are built at the first request, then cached."""

    title: str
    routes: Sequence[tuple[str, Sequence[Route[Any]]]]
    """Route tables, each with its prefix."""

    @cached_property
    def document(self) -> JsonObject:
        merged = openapi.describe(_declared(), title=self.title, version=VERSION)
        for prefix, routes in self.routes:
            part = openapi.describe(routes, title=self.title, version=VERSION, prefix=prefix)
            merged["paths"].update(part["paths"])
            merged["components"]["schemas"].update(part["components"]["schemas"])
        return merged

    @cached_property
    def _json(self) -> bytes:
        return orjson.dumps(self.document)

    @cached_property
    def _html(self) -> bytes:
        return docs_page(self.document)

    def answer(self, path: str, address: str | None = None) -> Reply:
        """Answer a GET of one of ``OPEN_PATHS``. ``address`` is the routes' address; None if they are at the root."""
        if path == "/openapi.json":
            # Without `servers`, tools would look for a hosted simulation's paths at the root of the host.
            return Reply(self._json if address is None else {**self.document, "servers": [{"url": address}]})
        if path in ("/docs", "/redoc"):
            return Reply(self._html, media_type="text/html; charset=utf-8")
        if path == "/health":
            return Reply({"status": "healthy", "version": VERSION})
        return Reply(
            {
                "name": self.title,
                "version": VERSION,
                "docs": "docs",
                "openapi": "openapi.json",
                "health": "health",
            }
        )


def _never(_call: Any) -> JsonObject:
    raise AssertionError("open paths are answered by OpenPages")


def _declared() -> tuple[Route[Any], ...]:
    """Return the open paths as routes, for the OpenAPI description only."""
    return tuple(
        Route(
            method="GET",
            path=path,
            summary=summary,
            handler=_never,
            permission=None,
            responses=responses,
        )
        for path, summary, responses in (
            ("/", "The server's name and links.", (RootResponse,)),
            ("/health", "Whether the server answers.", (HealthResponse,)),
        )
    )


def docs_page(document: JsonObject) -> bytes:
    """Render one self-contained HTML file, without a script, for people."""
    from jinja2 import Environment  # needed for this page only

    environment = Environment(autoescape=False)
    environment.filters["e"] = lambda value: escape(str(value))
    groups: dict[str, list[tuple[str, str, JsonObject]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append((method, path, operation))
    template = environment.from_string(Path(__file__).with_name("docs.html").read_text())
    return template.render(document=document, operations=sorted(groups.items()), signs=_SIGNS).encode()
