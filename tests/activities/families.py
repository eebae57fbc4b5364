"""Families of tests, good and bad."""

from pathlib import Path

ONE_QUESTION = Path(__file__).parents[1] / "assessments" / "scenarios" / "families" / "one_question"
SOUND = (ONE_QUESTION / "family.py").read_text()


def write_family(scenarios: Path, code: str = SOUND, name: str = "one_question") -> Path:
    """A family with this code in a folder of scenarios, which is returned."""
    folder = scenarios / "families" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "family.py").write_text(code)
    (folder / "family.toml").write_text('title = "One question"\nability = "answering"\n')
    return scenarios


def faulty(body: str) -> str:
    """The code of a family whose ``make`` does this."""
    imports = "import os\n\nfrom proctor.scenarios.kit.making.days import InconsistentDayError"
    return f"{imports}\n\n\ndef make(day):\n    {body}\n"
