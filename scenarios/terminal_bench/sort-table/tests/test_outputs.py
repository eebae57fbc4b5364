from pathlib import Path


def test_sorted():
    rows = Path("/app/sorted.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["name", "Eli", "Bob", "Ada", "Dee", "Cho"]
