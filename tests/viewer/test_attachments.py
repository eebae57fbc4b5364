"""Attached files on an assessment's page: named with their mail, and to be had as they are."""

import base64
import hashlib
from pathlib import Path

from starlette.testclient import TestClient

from proctor.storage.archive import Archive
from proctor.viewer.app import create_app
from proctor.viewer.pages import Pages
from tests.viewer.entries import HOSTILE, write_day

CONTENT = b"%PDF-1.4 the menu"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def test_an_attached_file_is_listed_with_its_mail_and_can_be_had(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    write_day(archive, "day", attached=CONTENT)
    client = TestClient(create_app(str(tmp_path)))
    address = f"/view/day/files/{SHA256}"
    page = client.get("/view/day").text
    assert "menu.pdf" in page
    assert address in page
    answer = client.get(address)
    assert (answer.content, answer.headers["content-disposition"]) == (CONTENT, "attachment")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert client.get(f"/view/day/files/{'0' * 64}").status_code == 404
    assert client.get(f"/view/night/files/{SHA256}").status_code == 404


def test_a_page_in_one_file_holds_the_content(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    page = Pages(archive).assessment(write_day(archive, "day", attached=CONTENT), as_file=True)
    assert base64.b64encode(CONTENT).decode() in page
    hostile = Pages(archive).assessment(write_day(archive, "bad", attached=CONTENT, text=HOSTILE), as_file=True)
    assert HOSTILE not in hostile
