"""``proctor new-family NAME``: a family of days whose audit passes as it is."""

from pathlib import Path

from proctor.errors import ExitCode
from proctor.new_project import write_project


def new_family(name: str, folder: Path) -> ExitCode:
    """Write the family into ``folder / "families" / name`` and say how to continue.

    Raises:
        UsageError: the name doesn't suit a family, or the folder exists already.
    """
    (folder / "families").mkdir(parents=True, exist_ok=True)
    target = write_project("family", name, folder / "families", "barn_sale", {})
    print(f"{target}: three questions about prices; change family.py, and after each change\n")
    print(f"  proctor scenarios audit {name} --scenarios-dir {folder}")
    print(f"  proctor scenarios show {name} --seed 3 --truth --scenarios-dir {folder}\n")
    print("to have an agent play it\n")
    print(f"  proctor up --scenarios-dir {folder}")
    print(f"  proctor assess {name} --difficulty 2 --seed 3 --agent http://localhost:8001 --offline")
    return ExitCode.DONE
