"""The documentation page: one self-contained HTML file built from the OpenAPI document, without a script."""

from html import escape
from pathlib import Path

from ues_sim.schema import JsonObject

SIGNS = (
    ("minimum", "≥"),
    ("exclusiveMinimum", ">"),
    ("maximum", "≤"),
    ("minLength", "length ≥"),
    ("maxLength", "length ≤"),
    ("minItems", "items ≥"),
    ("maxItems", "items ≤"),
)


def page(document: JsonObject) -> bytes:
    from jinja2 import Environment  # needed for this page only

    environment = Environment(autoescape=False)
    environment.filters["e"] = lambda value: escape(str(value))
    groups: dict[str, list[tuple[str, str, JsonObject]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append((method, path, operation))
    template = environment.from_string(Path(__file__).with_suffix(".html").read_text())
    return template.render(document=document, operations=sorted(groups.items()), signs=SIGNS).encode()
