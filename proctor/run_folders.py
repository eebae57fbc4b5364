"""A folder of its own for the results of each run."""

from pathlib import Path

from proctor.errors import UsageError


def new_folder(output: Path, name: str, option: str) -> Path:
    """Make a folder of that name below another one, with a number behind it where it is there already.

    Args:
        output: the folder in which it is made; it may be missing. name: the new one's. option: by which ``output`` was
            chosen, for the sentence where it can't be.

    Raises:
        UsageError: it can't be made.
    """
    number = 1
    while True:
        folder = output / (name if number == 1 else f"{name}_{number}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            number += 1
            if not output.is_dir():
                raise UsageError(f"{output} isn't a folder: name another one with {option}") from None
        except OSError as problem:
            raise UsageError(
                f"{output} can't be written ({problem.strerror}): name another one with {option}"
            ) from None
