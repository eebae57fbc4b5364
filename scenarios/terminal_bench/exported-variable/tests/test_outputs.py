import os


def test_variable():
    assert os.environ["RELEASE"] == "4.2.1"


def test_folder():
    assert os.getcwd() == "/app/build"
