"""The documentation site's hooks, which add documents from outside ``docs/`` and pages of schemas.

Links in documents are those of the repository. A link to a file without a page becomes plain text, because the site
works alone. A link to a file that doesn't exist is a warning, and with ``--strict`` an error.
"""

import json
import logging
import posixpath
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "threats.md",
    "a2a_gateway/README.md": "reference/gateway.md",
    "agentbeats/README.md": "agentbeats.md",
    "benchmarks/README.md": "benchmarks.md",
    "proctor/statistics/README.md": "reference/statistics.md",
    "purple_sdk/README.md": "purple_sdk.md",
    "purple_sdk/examples/README.md": "examples.md",
    "scenarios/email_triage_basic/README.md": "scenarios/email_triage_basic.md",
    "scenarios/reschedule_day/README.md": "scenarios/reschedule_day.md",
    "scenarios/terminal_bench/README.md": "scenarios/terminal_bench.md",
    "proctor/ues/README.md": "reference/simulator.md",
    "README.md": "readme.md",
}
"""Documents outside of ``docs/``, and their pages."""

_SOURCES = {page: source for source, page in PAGES.items()}
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")
_NOTE = re.compile(r"^<!-- [^\n]* -->\n", re.MULTILINE)
_CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
_CODE = re.compile(r"(?<=<code>)[^<]*(?=</code>)")
_CHANGED = re.compile(r"^<!-- (?:file|insert|replace) ([^\n]*) -->\n```python$", re.MULTILINE)
_log = logging.getLogger("mkdocs.hooks.site")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated reference pages, if they exist, at the head of their section."""
    (reference,) = [section["Reference"] for section in config.nav or () if "Reference" in section]
    for name in ("commands", "settings"):
        page = f"reference/{name}.md"
        if (ROOT / "docs" / page).exists() and page not in [path for entry in reference for path in entry.values()]:
            reference.insert(0, {name.capitalize(): page})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside of ``docs/`` and the pages of schemas."""
    for source, page in PAGES.items():
        if source != "README.md":  # the site's first page says the same
            files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    from proctor.protocol.archive import schemas
    from proctor.protocol.wire_schemas import wire_schemas

    for page, title, intro, known in (
        (
            "messages",
            "Messages",
            "All messages between evaluator, agent and caller (`proctor schema --wire`).",
            wire_schemas(),
        ),
        ("files", "Archive files", "The files of an archive entry (`proctor schema`).", schemas()),
    ):
        files.append(File.generated(config, f"reference/{page}.json", content=json.dumps(known, indent=1)))
        content = _schema_page(title, f"{intro} The same as [JSON schemas]({page}.json).", known)
        files.append(File.generated(config, f"reference/{page}.md", content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point the repository's links at pages, and leave out the comments that tests read."""
    here = page.file.src_uri
    if page.file.generated_by and here not in _SOURCES:
        return markdown
    source = _SOURCES.get(here, f"docs/{here}")
    markdown = _CHANGED.sub(lambda change: f"```python title='{change[1].replace(chr(39), chr(34))}'", markdown)
    parts = _FENCED.split(_NOTE.sub("\n", markdown))
    return "".join(part if part.startswith("```") else _linked(part, here, source) for part in parts)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Let names in tables break after an underscore, and paths after a slash. The search index is made before this."""
    return _CELL.sub(
        lambda cell: _CODE.sub(lambda code: re.sub(r"(?<=\w)[_/](?=\w)", r"\g<0><wbr>", code[0]), cell[0]), output
    )


def _linked(text: str, here: str, source: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if not (ROOT / path).exists():
            _log.warning("%s links to %s, which does not exist", source, target)
        if path == "README.md":
            path, anchor = "docs/index.md", ""
        uri = path.removeprefix("docs/") if path.startswith("docs/") else PAGES.get(path)
        if uri is None:
            return match["text"] if match["image"] else f"{match['text']} (`{path}`)"
        link = posixpath.relpath(uri, posixpath.dirname(here) or ".")
        return f"{match['image']}[{match['text']}]({link}{anchor})"

    return _LINK.sub(replaced, text)


def _schema_page(title: str, intro: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a page with a table of fields for each schema, and then for each model that the schemas share."""
    shared: dict[str, Any] = {}
    parts = [f"# {title}", intro]
    for name, schema in known.items():
        shared |= schema.get("$defs", {})
        parts += _section(name, schema)
    parts.append("## Shared types")
    for name, schema in sorted(shared.items()):
        parts += _section(name, schema, level=3)
    return "\n\n".join(parts) + "\n"


def _section(name: str, schema: Mapping[str, Any], level: int = 2) -> Iterable[str]:
    yield f"{'#' * level} {name}"
    if description := schema.get("description"):
        yield _convert_docstring(description)
    if fields := schema.get("properties"):
        required = schema.get("required", ())
        rows = ["| field | type | required | default | meaning |", "| --- | --- | --- | --- | --- |"]
        for field, rule in fields.items():
            default = f"`{json.dumps(rule['default'])}`" if "default" in rule else ""
            meaning = _convert_docstring(rule.get("description", "")).replace("\n", " ").replace("|", "\\|")
            needed = "yes" if field in required else ""
            rows.append(f"| `{field}` | {_type(rule)} | {needed} | {default} | {meaning} |")
        yield "\n".join(rows)
    elif "enum" in schema:
        yield "One of " + ", ".join(f"`{value}`" for value in schema["enum"]) + "."
    else:
        yield "Type: " + _type(schema) + "."


def _type(rule: Mapping[str, Any]) -> str:
    """A rule's type in words, with links to shared types."""
    if ref := rule.get("$ref"):
        name = ref.rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in rule:
        return f"`{json.dumps(rule['const'])}`"
    if "enum" in rule:
        return ", ".join(f"`{value}`" for value in rule["enum"])
    if several := rule.get("anyOf") or rule.get("oneOf"):
        return " or ".join(dict.fromkeys(_type(part) for part in several))
    match rule.get("type"):
        case "array" if "items" in rule:
            return f"list of {_type(rule['items'])}"
        case "object" if isinstance(rule.get("additionalProperties"), dict):
            return f"object of {_type(rule['additionalProperties'])}"
        case None:
            return "any"
        case str(kind):
            return f"{kind} ({rule['format']})" if "format" in rule else kind
        case kinds:
            return " or ".join(kinds)


def _convert_docstring(docstring: str) -> str:
    """A docstring as Markdown: ``x`` becomes `x`."""
    return docstring.replace("``", "`").replace("<", "&lt;")
