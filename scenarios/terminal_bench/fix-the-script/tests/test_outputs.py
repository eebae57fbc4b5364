import subprocess

import pytest


@pytest.mark.parametrize(
    ("content", "total"),
    [("1\n2\n3\n", "6"), ("", "0"), ("-5\n5\n40\n", "40"), ("7\n8", "15")],
    ids=["three", "empty", "negative", "no-newline"],
)
def test_total(tmp_path, content, total):
    file = tmp_path / "numbers.txt"
    file.write_text(content)
    done = subprocess.run(["/app/total.sh", str(file)], capture_output=True, text=True, timeout=10, check=False)
    assert done.stdout.strip() == total
