"""The page of a fork says what it has played, and what it has inherited."""

from pathlib import Path

from proctor.protocol.archive import TURNS
from proctor.storage.archive import Archive
from proctor.viewer.pages import Pages
from purple_sdk.protocol.forks import ForkedFrom
from tests.sentences import says
from tests.viewer.entries import write_day


def test_inherited_turns_lead_to_where_they_were_played(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    original = write_day(archive, "original")
    origin = ForkedFrom(task_id="original", turn=3)
    turns = [
        turn.model_copy(update={"inherited_from": origin.player_of(turn.turn)}) for turn in archive.turns(original)
    ]
    files = {name: archive.read(original, name) for name in original.files}
    files[TURNS] = b"\n".join(turn.model_dump_json().encode() for turn in turns)
    contents = {name: archive.read_content(original, name) for name in original.contents}
    fork = archive.write(original.model_copy(update={"id": "fork", "forked_from": origin}), files, contents)

    page = Pages(archive).assessment(fork, 2)
    assert page.count('<span class="mark">inherited</span>') == 2
    assert says("inherited:").within(page)
    assert says("turns 1 to 2").within(page)
    assert page.count('<a href="/view/original?turn=2">original</a>') == 1
    assert page.count('<a href="/view/original?turn=3">original</a>') == 1
    assert '<a href="/view/fork">from turn 3 by secretary: 3/6</a>' in Pages(archive).assessment(original)
    assert "nherited:" not in Pages(archive).assessment(fork, 3)
    assert '<a href="/view/original' not in Pages(archive).assessment(fork, 2, as_file=True)
    assert "nherited" not in Pages(archive).assessment(original, 2)
