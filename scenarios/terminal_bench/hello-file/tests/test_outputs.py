from pathlib import Path

HELLO = Path("/app/hello.txt")


def test_file_is_there():
    assert HELLO.is_file()


def test_line():
    assert HELLO.read_text().splitlines() == ["Hello, terminal!"]
