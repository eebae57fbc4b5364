"""``proctor new-agent NAME``: a project for a participant, which plays as it is."""

from importlib.metadata import version
from pathlib import Path

from proctor.errors import ExitCode
from proctor.new_project import words_of, write_project
from proctor.purple_wheel import write_wheel


def new_agent(name: str, folder: Path) -> ExitCode:
    """Write the project into ``folder / name`` and say how to continue.

    Raises:
        UsageError: the name doesn't suit a project, or the folder exists already.
    """
    class_name = "".join(word.capitalize() for word in words_of(name))
    values = {"class_name": class_name, "version": version("proctor")}
    target = write_project("agent", name, folder, "mail-clerk", values)
    write_wheel(target / "wheels")
    print(f"{target}: edit execute_turn in agent.py, then\n")
    print(f"  cd {target}\n  pytest\n  python agent.py --port 8001")
    print("  proctor check-agent http://localhost:8001        (in another terminal)")
    print("  proctor up                                       (in another terminal)")
    print("  proctor assess email_triage_basic --agent http://localhost:8001 --offline")
    return ExitCode.DONE
