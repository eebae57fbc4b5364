import urllib.error
import urllib.request

import pytest


def test_ready():
    with urllib.request.urlopen("http://127.0.0.1:8080/ready", timeout=10) as answer:
        assert answer.status == 200
        assert answer.read().strip() == b"ready"


def test_everything_else():
    with pytest.raises(urllib.error.HTTPError) as problem:
        urllib.request.urlopen("http://127.0.0.1:8080/other", timeout=10)
    assert problem.value.code == 404
