"""``proctor forks``: say what an assessment's forks show."""

from proctor.commands.options import ArchiveOption, IdArgument, StateOption


def forks(name: IdArgument, archive: ArchiveOption = None, state: StateOption = None) -> None:
    """Say what an assessment's forks show. How far its score was still open at each turn, and which turn decided."""
    from proctor.fork_report import compare_forks

    compare_forks(archive, state, name)
