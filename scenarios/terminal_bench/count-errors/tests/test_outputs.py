import json
from pathlib import Path


def test_counts():
    assert json.loads(Path("/app/report.json").read_text()) == {"store": 3, "mail": 1}
