"""Forms for the messages of a duty's people: lists of sentences with slots, in a TOML file beside its module.

A family's lists are in its ``family.toml``.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from proctor.scenarios.kit.making.people import Phrase


def forms(module: str) -> Mapping[str, tuple[str, ...]]:
    """The lists of a module's file, by name; those of a table are named ``table.list``.

    Args:
        module: the module's ``__file__``; ``obeying.py`` has its lists in ``obeying.toml``.
    """
    return _read_lists(module)[0]


def phrases(module: str, name: str) -> tuple[Phrase, ...]:
    """A list of noun phrases in both languages (``[[name]]`` with ``en`` and ``de``) of a module's file."""
    return _read_lists(module)[1][name]


@cache
def _read_lists(module: str) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[Phrase, ...]]]:
    lists: dict[str, tuple[str, ...]] = {}
    pairs: dict[str, tuple[Phrase, ...]] = {}
    for name, value in tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8")).items():
        if isinstance(value, dict):
            lists |= {f"{name}.{key}": tuple(words) for key, words in value.items()}
        elif not isinstance(value, list):
            continue  # other keys of family.toml
        elif isinstance(value[0], dict):
            pairs[name] = tuple(Phrase(**phrase) for phrase in value)
        else:
            lists[name] = tuple(value)
    return lists, pairs
