"""The documentation page: one self-contained HTML file built from the OpenAPI document, without a script."""

from html import escape
from itertools import groupby
from typing import Any

from ues_sim.schema import JsonObject

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222; }
h2 { border-bottom: 1px solid #ccc; margin-top: 2.5rem; }
details { border: 1px solid #ddd; border-radius: 6px; margin: .4rem 0; padding: .3rem .7rem; }
summary { cursor: pointer; } summary b { display: inline-block; width: 4.5rem; color: #0a5; }
code { background: #f4f4f4; padding: 0 .2rem; } table { border-collapse: collapse; margin: .4rem 0; }
td, th { border: 1px solid #ddd; padding: .15rem .6rem; text-align: left; vertical-align: top; }
"""


def page(document: JsonObject) -> bytes:
    operations = [
        (operation["tags"][0], method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    operations.sort(key=lambda item: item[0])
    title = escape(document["info"]["title"])
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{STYLE}</style>",
        f"<h1>{title}</h1>",
        "<p>Version ",
        escape(document["info"]["version"]),
        ". Send the key as <code>X-API-Key</code> or as <code>Authorization: Bearer</code>. ",
        'The same in machine-readable form: <a href="openapi.json">openapi.json</a>.</p>',
    ]
    for tag, group in groupby(operations, key=lambda item: item[0]):
        parts.append(f"<h2>{escape(tag)}</h2>")
        parts += [_operation(method, path, operation) for _, method, path, operation in group]
    parts.append("<h2>Schemas</h2>")
    parts += [_schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items())]
    return "".join(parts).encode()


def _operation(method: str, path: str, operation: JsonObject) -> str:
    rows = [
        (f"{parameter['in']}: {parameter['name']}", _kind(parameter["schema"]))
        for parameter in operation.get("parameters", ())
    ]
    if "requestBody" in operation:
        rows.append(("body", _kind(operation["requestBody"]["content"]["application/json"]["schema"])))
    rows += [
        (status, f"{escape(response['description'])} {_kind(_json_schema(response))}")
        for status, response in operation["responses"].items()
    ]
    table = "".join(f"<tr><td>{escape(name)}<td>{value}" for name, value in rows)
    permission = operation.get("x-permission")
    needs = f"<p>Permission: <code>{escape(permission)}</code></p>" if permission else "<p>Open without a key.</p>"
    return (
        f"<details><summary><b>{method.upper()}</b> <code>{escape(path)}</code> {escape(operation['summary'])}"
        "</summary>"
        f"{needs}<table>{table}</table></details>"
    )


def _json_schema(response: JsonObject) -> Any:
    return response["content"]["application/json"]["schema"]


def _schema(name: str, schema: JsonObject) -> str:
    required = set(schema.get("required", ()))
    rows = "".join(
        f"<tr><td><code>{escape(field)}</code>{'' if field in required else ' (optional)'}<td>{_kind(shape)}"
        f"<td>{escape(shape.get('description', ''))}"
        for field, shape in schema.get("properties", {}).items()
    )
    about = escape(schema.get("description", ""))
    return (
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary>'
        f"<p>{about}</p><table>{rows}</table></details>"
    )


def _kind(schema: Any) -> str:
    """A schema in a few words, with links to the named ones."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f'<a href="#{escape(name)}">{escape(name)}</a>'
    for joiner in ("anyOf", "oneOf", "allOf"):
        if joiner in schema:
            return " or ".join(_kind(option) for option in schema[joiner])
    if "enum" in schema:
        return " | ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array":
        kind = f"list of {_kind(schema.get('items', {}))}"
    elif kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        kind = f"object of {_kind(schema['additionalProperties'])}"
    else:
        kind = escape(str(schema.get("format", kind)))
    bounds = [
        f"{sign} {schema[name]}"
        for name, sign in (
            ("minimum", "≥"),
            ("exclusiveMinimum", ">"),
            ("maximum", "≤"),
            ("minLength", "length ≥"),
            ("maxLength", "length ≤"),
            ("minItems", "items ≥"),
            ("maxItems", "items ≤"),
        )
        if name in schema
    ]
    default = f" = <code>{escape(str(schema['default']))}</code>" if schema.get("default") is not None else ""
    limits = f" ({escape(', '.join(bounds))})" if bounds else ""
    return f"{kind}{limits}{default}"
