"""Comparing two JSON schemas for what they mean, whichever way they are written.

``nullable``, a type list and ``anyOf`` with null are the same; a reference is what it refers to; a default of null is
no default; titles and descriptions don't matter.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Json = Any

BOUNDS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "pattern",
    "format",
)


@dataclass(frozen=True)
class Schema:
    """A JSON schema within the document that its references point into."""

    raw: dict[str, Any]
    document: dict[str, Any]

    @cached_property
    def plain(self) -> dict[str, Any]:
        """The schema without references and without null; ``nullable`` says whether null was there."""
        found: dict[str, Any] = dict(self.raw)
        nullable = bool(found.pop("nullable", False))
        while "$ref" in found:
            node = self.document
            for part in found.pop("$ref").removeprefix("#/").split("/"):
                node = node[part]
            found = {**node, **found}
            nullable = bool(found.pop("nullable", nullable))
        choices = found.get("anyOf") or found.get("oneOf")
        if choices:
            rest = [choice for choice in choices if choice.get("type") != "null"]
            nullable = nullable or len(rest) < len(choices)
            if len(rest) == 1:
                outer = {name: value for name, value in found.items() if name not in ("anyOf", "oneOf")}
                inner = Schema(rest[0], self.document).plain
                return {**inner, **outer, "nullable": nullable or inner["nullable"]}
            found["anyOf"] = rest
        if "const" in found:
            found["enum"] = [found.pop("const")]
        return {**found, "nullable": nullable}

    def part(self, raw: dict[str, Any]) -> "Schema":
        return Schema(raw, self.document)

    @property
    def properties(self) -> dict[str, "Schema"]:
        return {name: self.part(raw) for name, raw in self.plain.get("properties", {}).items()}

    @property
    def required(self) -> set[str]:
        return set(self.plain.get("required", ()))

    @property
    def choices(self) -> list["Schema"]:
        return [self.part(raw) for raw in self.plain.get("anyOf", ())]

    def inner(self, keyword: str) -> "Schema | None":
        """The schema of a list's items or of a dictionary's values; None when anything goes."""
        raw = self.plain.get(keyword)
        return self.part(raw) if isinstance(raw, dict) and raw else None


@dataclass(frozen=True)
class Difference:
    """Something that isn't in ours as it is in the contract."""

    where: str
    what: str
    contract: Json
    ours: Json

    def __str__(self) -> str:
        return f"{self.where}: {self.what} is {self.ours!r}, in the contract {self.contract!r}"


def differences(contract: Schema, ours: Schema, where: str, *, answer: bool) -> Iterator[Difference]:
    """Every difference of two schemas, at any depth.

    In an answer only what callers rely on counts: that each field is there and of what type. What ours adds is a
    difference in either, called ``added``; an answer's further shapes stand behind those of the contract.
    """
    theirs, own = contract.plain, ours.plain
    if "anyOf" in theirs:
        yield from _choices(contract.choices, ours, where, answer=answer)
        return
    if answer and "anyOf" in own and contract.properties:
        yield from _choices([contract], ours, where, answer=answer)
        return
    for keyword in ("type", "nullable", *(() if answer else ("enum", "default", *BOUNDS))):
        wanted, got = theirs.get(keyword), own.get(keyword)
        if keyword == "enum" and wanted is not None and got is not None:
            wanted, got = sorted(wanted), sorted(got)
        if keyword == "type" and wanted is None:
            continue
        if wanted != got:
            yield Difference(where, keyword, wanted, got)
    for keyword in ("items", "additionalProperties"):
        inner = contract.inner(keyword)
        if inner is None:
            continue
        other = ours.inner(keyword)
        if other is None:
            yield Difference(where, keyword, inner.raw, own.get(keyword))
        else:
            yield from differences(inner, other, f"{where}[]", answer=answer)
    yield from _properties(contract, ours, where, answer=answer)


def _choices(contract: list[Schema], ours: Schema, where: str, *, answer: bool) -> Iterator[Difference]:
    own = ours.choices
    if len(own) < len(contract) or (len(own) > len(contract) and not answer):
        yield Difference(where, "anyOf", [choice.raw for choice in contract], ours.raw)
        return
    for number, (one, other) in enumerate(zip(contract, own, strict=False)):
        yield from differences(one, other, where if len(contract) == 1 else f"{where}|{number}", answer=answer)
    for number in range(len(contract), len(own)):
        yield Difference(f"{where}|{number}", "added", None, own[number].raw)


def _properties(contract: Schema, ours: Schema, where: str, *, answer: bool) -> Iterator[Difference]:
    own = ours.properties
    for name, wanted in contract.properties.items():
        if name not in own:
            yield Difference(f"{where}.{name}", "missing", wanted.raw, None)
            continue
        if not answer and (name in contract.required) != (name in ours.required):
            yield Difference(f"{where}.{name}", "required", name in contract.required, name in ours.required)
        yield from differences(wanted, own[name], f"{where}.{name}", answer=answer)
    if contract.properties:
        for name in own.keys() - contract.properties.keys():
            yield Difference(f"{where}.{name}", "added", None, own[name].raw)
