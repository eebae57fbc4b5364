"""The wording of duties is in a TOML file beside each module, and the module uses all of it."""

import re
from pathlib import Path

import pytest

from proctor.scenarios.kit import making
from proctor.scenarios.kit.making.forms import forms, phrases

FOLDER = Path(making.__file__).parent
FAMILIES = [
    path.with_suffix(".toml")
    for path in sorted(FOLDER.parents[1].glob("families/*/family.py"))
    if "(__file__" in path.read_text(encoding="utf-8")
]
FILES = [*(path for path in sorted(FOLDER.rglob("*.toml")) if path.parent.name != "voices"), *FAMILIES]
_LIST = re.compile(r"""\b_?SAY\[\s*f?(?:"(.+?)"|'(.+?)')\s*\]""")
_PHRASES = re.compile(r'phrases\(__file__, "(\w+)"\)')


def test_lists_of_tables_have_the_name_of_their_table(tmp_path: Path) -> None:
    (tmp_path / "asking.toml").write_text(
        'title = "Asking"\ntitles = ["A", "B"]\nthings = [{ en = "the key", de = "der Schlüssel" }]\n'
        '[en]\nagain = ["Once more: {it}"]\n'
    )
    module = str(tmp_path / "asking.py")
    assert forms(module) == {"titles": ("A", "B"), "en.again": ("Once more: {it}",)}
    assert phrases(module, "things")[0].de == "der Schlüssel"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_module_uses_all_lists_of_its_file_and_no_others(path: Path) -> None:
    code = path.with_suffix(".py").read_text(encoding="utf-8")
    lists = {re.sub(r"\{.+?\}", "*", double or single) for double, single in _LIST.findall(code)}
    named = lists | set(_PHRASES.findall(code))
    module = str(path.with_suffix(".py"))
    names = set(forms(module)) - {"grows", "named_by"} | {
        name for name in _PHRASES.findall(code) if phrases(module, name)
    }
    patterns = [re.compile(re.escape(name).replace(r"\*", r"[\w ]+")) for name in named]
    assert [name for name in names if not any(pattern.fullmatch(name) for pattern in patterns)] == []
    assert [pattern.pattern for pattern in patterns if not any(pattern.fullmatch(name) for name in names)] == []
