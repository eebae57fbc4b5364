"""Archives are unpacked by every Python that we support: Debian 12's has no filters in ``tarfile``."""

import io
import tarfile
from pathlib import Path

import pytest

from proctor.activities.scenario_code.tar_files import extract
from proctor.terminal.task_files import packed


@pytest.fixture(params=["filters", "none"])
def python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "none":
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
        plain = tarfile.TarFile.extractall
        monkeypatch.setattr(tarfile.TarFile, "extractall", plain)


def archive_of(*members: tarfile.TarInfo) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return content.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


@pytest.mark.usefixtures("python")
def test_files_come_back_with_their_modes_and_links(tmp_path: Path) -> None:
    task, back = tmp_path / "task", tmp_path / "back"
    (task / "deep").mkdir(parents=True)
    back.mkdir()
    (task / "deep" / "run.sh").write_text("#!/bin/sh\n")
    (task / "deep" / "run.sh").chmod(0o755)
    (task / "run").symlink_to("deep/run.sh")
    extract(packed(task), back, "tar")
    assert (back / "run").read_text() == "#!/bin/sh\n"
    assert (back / "run").is_symlink()
    assert (back / "deep" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert packed(back) == packed(task)


@pytest.mark.usefixtures("python")
@pytest.mark.parametrize(
    "member",
    [entry("../stray"), entry("a", tarfile.SYMTYPE, "../../etc"), entry("pipe", tarfile.FIFOTYPE)],
    ids=["above", "link", "pipe"],
)
def test_nothing_is_written_outside_and_nothing_but_files(member: tarfile.TarInfo, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises((tarfile.TarError, ValueError)):
        extract(archive_of(entry("good"), member), folder, "data")
    assert not (tmp_path / "stray").exists()
