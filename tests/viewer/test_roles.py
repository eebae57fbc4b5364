"""The page of an assessment with several participants names each criterion's role, and leads to each one's own day."""

import re
from pathlib import Path

from proctor.protocol.archive import RESULT
from proctor.storage.archive import Archive
from proctor.viewer.pages import Pages
from purple_sdk.protocol.results import RoleResults
from tests.viewer.entries import write_day


def test_a_joint_page_leads_to_the_day_of_each_participant(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    day = write_day(archive, "pair--ana")
    results = archive.results(day)
    role = RoleResults.of(results.model_copy(update={"participant": "ana"}), "http://a")
    whole = results.model_copy(update={"assessment_id": "pair", "roles": [role]}).model_dump_json().encode()
    files = {name: archive.read(day, name) for name in day.files} | {RESULT: whole, "turns.jsonl": b""}
    joint = archive.write(day.model_copy(update={"id": "pair", "roles": ["ana"]}), files, {})

    page, part = Pages(archive).assessment(joint), Pages(archive).assessment(day)
    assert re.search(r'class="where" href="/view/pair--ana\?turn=\d#', page), "quotes are in the participant's day"
    assert page.count('<span class="quiet">ana</span>') > part.count('<span class="quiet">ana</span>') == 0
    assert ('id="day"' in page, 'id="day"' in part) == (False, True)
