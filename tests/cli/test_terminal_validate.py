"""``proctor terminal-bench validate``: what it says of many tasks, each with another one of the optional fields."""

from pathlib import Path

from tests.cli.commands import Sandbox
from tests.sentences import says
from tests.terminal.test_formats import (
    BROKEN_ONE,
    BROKEN_TWO,
    NEEDS_COMPOSE,
    ONE,
    PLAYED_COMPOSE,
    PLAYED_ONE,
    PLAYED_TWO,
)
from tests.terminal.writing import format_one, format_two


def write_variants(folder: Path) -> int:
    """Tasks that can be played; how many."""
    one = [f"{ONE}{lines}\n" for lines in PLAYED_ONE]
    two = [lines for lines in PLAYED_TWO if "${GIVEN}" not in lines]
    compose = [text for text, *_ in PLAYED_COMPOSE.values()] + list(NEEDS_COMPOSE.values())
    for number, text in enumerate(one):
        format_one(folder / f"one-{number}", {"task.yaml": text})
    for number, toml in enumerate(two):
        format_two(folder / f"two-{number}", toml=toml)
    for number, text in enumerate(compose):
        format_one(folder / f"compose-{number}", {"docker-compose.yaml": text})
    return len(one) + len(two) + len(compose)


def test_variants_of_the_formats_optional_fields(tmp_path: Path) -> None:
    count = write_variants(tmp_path / "good")
    allowed = {"AGENTBEATS_GREEN_CONTAINERS_ALLOW": "privileged,capabilities"}
    done = Sandbox(tmp_path).call("terminal-bench", "validate", "good", **allowed)
    print(f"{count} variants of optional fields\n{done.stdout}")
    assert count >= 50
    assert says(count=count).within(done.stdout), done.stdout + done.stderr
    assert done.returncode == 0


def test_each_broken_task_is_told_with_what_is_wrong(tmp_path: Path) -> None:
    sentences = {}
    for number, (files, sentence) in enumerate(BROKEN_ONE.values()):
        sentences[format_one(tmp_path / "bad" / f"one-{number}", files).name] = sentence
    for number, (toml, more, sentence) in enumerate(BROKEN_TWO.values()):
        sentences[format_two(tmp_path / "bad" / f"two-{number}", more, toml).name] = sentence
    done = Sandbox(tmp_path).call("terminal-bench", "validate", "bad")
    assert says(part=len(sentences)).within(done.stdout)
    said = "\n" + done.stdout
    for name, sentence in sentences.items():
        assert sentence in said.partition(f"broken  {name}\n")[2].partition("\nbroken ")[0], name
    assert done.returncode != 0
