"""The OpenAPI description, built from the route tables."""

import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from proctor.ues.http.route import Route
from proctor.ues.schema import JsonObject, ProblemResponse, ValidationProblemResponse

REF = "#/components/schemas/{model}"

MEANINGS = {
    200: "Success.",
    201: "Created.",
    400: "Well-formed, but impossible.",
    401: "No key, an unknown key, or a revoked one.",
    403: "The key lacks the permission.",
    404: "Not found.",
    409: "The state of things doesn't allow this now.",
    412: "Somebody with a higher fence has taken the simulation over.",
    428: "The simulation is held by a fence, and the request has none.",
    422: "The request doesn't fit its schema.",
}


def describe(routes: Iterable[Route[Any]], *, title: str, version: str, prefix: str = "") -> JsonObject:
    """The OpenAPI 3.1 document of the routes, their paths set under ``prefix``."""
    listed = list(routes)
    schemas, definitions = _schemas(listed)
    paths: dict[str, JsonObject] = {}
    for route in listed:
        paths.setdefault(prefix + route.path, {})[route.method.lower()] = _operation(route, prefix, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": {
                "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "Bearer": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _models(route: Route[Any]) -> Iterable[type[BaseModel]]:
    if isinstance(route.body, type) and issubclass(route.body, BaseModel):
        yield route.body
    if route.params is not None:
        yield route.params
    yield from route.responses


def _schemas(routes: list[Route[Any]]) -> tuple[dict[type[BaseModel], JsonObject], JsonObject]:
    models: dict[type[BaseModel], None] = {ProblemResponse: None, ValidationProblemResponse: None}
    for route in routes:
        models.update(dict.fromkeys(_models(route)))
    references, document = models_json_schema([(model, "validation") for model in models], ref_template=REF)
    return {model: references[model, "validation"] for model in models}, document.get("$defs", {})


def _operation(route: Route[Any], prefix: str, schemas: dict[type[BaseModel], JsonObject]) -> JsonObject:
    operation: JsonObject = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "tags": [route.tag],
        "responses": _responses(route, schemas),
    }
    parameters = _parameters(route, prefix, schemas)
    if parameters:
        operation["parameters"] = parameters
    if route.body is bytes:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": {}}}}
    elif route.body is not None:
        schema: JsonObject = schemas[route.body]  # type: ignore[index]
        if not route.body_required:
            schema = {"anyOf": [schema, {"type": "null"}]}
        operation["requestBody"] = {
            "required": route.body_required,
            "content": {"application/json": {"schema": schema}},
        }
    if route.permission is None:
        operation["security"] = []
    else:
        operation["security"] = [{"ApiKey": []}, {"Bearer": []}]
        operation["description"] = f"Needs the permission `{route.permission}`."
        operation["x-permission"] = route.permission
    return operation


def _operation_id(route: Route[Any]) -> str:
    words = re.sub(r"[^a-zA-Z0-9]+", "_", route.path).strip("_") or "root"
    return f"{route.method.lower()}_{words}"


def _parameters(route: Route[Any], prefix: str, schemas: dict[type[BaseModel], JsonObject]) -> list[JsonObject]:
    parameters: list[JsonObject] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", prefix + route.path)
    ]
    if route.params is not None and route.params in schemas:
        described = route.params.model_json_schema(ref_template=REF)
        required = described.get("required", ())
        parameters += [
            {"name": name, "in": "query", "required": name in required, "schema": schema}
            for name, schema in described.get("properties", {}).items()
        ]
    return parameters


def _responses(route: Route[Any], schemas: dict[type[BaseModel], JsonObject]) -> JsonObject:
    shapes = [schemas[model] for model in route.responses]
    success: JsonObject = {} if not shapes else shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
    statuses = {route.status: MEANINGS[route.status], **(route.further_statuses or {})}
    responses: JsonObject = {
        str(status): {"description": meaning, "content": {"application/json": {"schema": success}}}
        for status, meaning in statuses.items()
    }
    if route.also_text:
        responses[str(route.status)]["content"]["text/plain"] = {"schema": {"type": "string"}}
    errors = set(route.errors)
    if route.permission is not None:
        errors |= {401, 403}
    if route.params is not None or (route.body is not None and route.body is not bytes):
        errors.add(422)
    for status in sorted(errors):
        model = ValidationProblemResponse if status == 422 else ProblemResponse
        shape: JsonObject = schemas[model]
        if str(status) in responses or (status == 400 and route.further_statuses):
            shape = {"anyOf": [success, shape]}
        responses[str(status)] = {
            "description": MEANINGS[status],
            "content": {"application/json": {"schema": shape}},
        }
    return responses
