"""The table of packages in docs/ARCHITECTURE.md, made from pyproject.toml and the code.

``python -m tests.docs.layers`` writes it.
"""

import ast
import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/ARCHITECTURE.md"
BEGIN, END = "<!-- layers -->\n", "<!-- end of layers -->\n"


def table() -> str:
    """Packages from the highest layer to the lowest: what is in them, and which packages each one imports."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = [contract["layers"] for contract in settings["contracts"] if contract["type"] == "layers"]
    names = [name for layer in layers for name in layer.split(" | ")]
    names.insert(names.index("purple_sdk.settings"), "purple_sdk")
    graph = grimp.build_graph(*settings["root_packages"])
    rows = ["| layer | contents | imports |", "| --- | --- | --- |"]
    for name in names:
        imported = {
            _room(found, names)
            for module in (name, *graph.find_descendants(name))
            if _room(module, names) == name
            for found in graph.find_modules_directly_imported_by(module)
        }
        short = ", ".join(f"`{_short(module)}`" for module in names if module in imported - {name}) or "none"
        short = "all of them" if len(imported - {name}) == len(names) - 1 else short
        rows.append(f"| `{name.removeprefix('proctor.')}` | {_summary(name)} | {short} |")
    return "\n".join(rows) + "\n"


def _room(module: str, names: list[str]) -> str:
    """The innermost of these packages that a module is in; empty for none."""
    return max((name for name in names if f"{module}.".startswith(f"{name}.")), key=len, default="")


def _short(name: str) -> str:
    return name.removeprefix("proctor.").removeprefix("activities.")


def _summary(name: str) -> str:
    path = ROOT / name.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return (ast.get_docstring(ast.parse(source.read_text())) or "").partition("\n")[0].rstrip(".").replace("``", "`")


def written() -> str:
    """The table as the page has it."""
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0]


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.partition(END)[2])
