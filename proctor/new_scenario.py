"""``proctor new-scenario NAME``: a scenario that can be validated and played as it is."""

import subprocess
import sys
from pathlib import Path
from uuid import uuid4

from proctor.errors import CommandError, ExitCode
from proctor.new_project import write_project


def new_scenario(name: str, folder: Path) -> ExitCode:
    """Write the scenario into ``folder / name`` and say how to continue.

    Raises:
        UsageError: the name doesn't suit a scenario, or the folder exists already.
        CommandError: its initial state couldn't be made.
    """
    target = write_project("scenario", name, folder, "team-lunch", {"canary": str(uuid4())})
    built = subprocess.run([sys.executable, "build.py"], cwd=target, capture_output=True, text=True, check=False)
    if built.returncode:
        raise CommandError(f"{target} is written, but its build.py fails: {built.stderr.strip()}")
    where = target if target.is_absolute() else f"./{target}"
    print(f"{target}: one character, three mails, two criteria; change them, and after each change\n")
    print(f"  python {where}/build.py")
    print(f"  proctor scenarios validate {where}")
    print(f"  pytest {where}")
    print(f"  proctor play {where}\n")
    print("to have an agent play it\n")
    print(f"  proctor up --scenarios-dir {folder}")
    print(f"  proctor assess {name} --agent http://localhost:8001 --offline        (in another terminal)")
    return ExitCode.DONE
