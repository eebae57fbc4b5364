"""Stores of objects on this machine: S3's protocol (moto), Google's (gcp-storage-emulator), Azure's (azurite).

Each gives the environment with which a process of its own, or this one, finds the store and may use it.
"""

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from werkzeug.serving import make_server

from purple_sdk.processes.ports import free_ports
from tests.programs import module, running
from tests.waiting import wait_until

BUCKET = "proctor"
_AZURITE = shutil.which("azurite-blob") or os.environ.get("PROCTOR_TEST_AZURITE")
"""npm's ``azurite``, where it is installed."""
_AZURITES_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The one that every azurite has (its documentation)."""

HAS_AZURITE = _AZURITE is not None


class S3:
    """A server with S3's protocol; counts requests, and fails where it is told to."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: Counter[str] = Counter()
        self.fail: Callable[[str], tuple[str, str] | None] = lambda request: None

    @property
    def environment(self) -> dict[str, str]:
        """What a process has to have in its environment."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "of no worth",
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def client(self) -> Any:
        """Amazon's own client."""
        with patch.dict(os.environ, self.environment):
            import boto3  # takes as long as all else of this module

            return boto3.client("s3")

    def failing(self, app: Any) -> Any:
        """The application, which is asked only where nothing is to fail."""

        def answer(environ: dict[str, Any], respond: Any) -> Iterable[bytes]:
            request = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}?{environ['QUERY_STRING']}"
            self.requests[environ["REQUEST_METHOD"]] += 1
            self.requests["parts"] += "partNumber" in request
            if (failure := self.fail(request)) is None:
                found: Iterable[bytes] = app(environ, respond)
                return found
            status, code = failure
            length = int(environ.get("CONTENT_LENGTH") or 0)
            environ["wsgi.input"].read(length)
            respond(status, [("Content-Type", "application/xml")])
            return (
                []
                if request.startswith("HEAD")
                else [f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()]
            )

        return answer


@contextmanager
def s3() -> Iterator[S3]:
    """A server with S3's protocol in this process, and a bucket in it."""
    from moto.moto_server.werkzeug_app import (  # takes a while, and few need it
        DomainDispatcherApplication,
        create_backend_app,
    )

    server = make_server("127.0.0.1", 0, lambda *_: [], threaded=True)
    store = S3(f"http://127.0.0.1:{server.port}")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server.app = store.failing(DomainDispatcherApplication(create_backend_app))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        store.client().create_bucket(Bucket=BUCKET)
        yield store
    finally:
        server.shutdown()
        thread.join()


@contextmanager
def gcs() -> Iterator[dict[str, str]]:
    """A server with Google's protocol, and a bucket in it; gives the environment."""
    (port,) = free_ports(1)
    options = ["--host=127.0.0.1", f"--port={port}", "--in-memory", f"--default-bucket={BUCKET}"]
    with _running(module("gcp_storage_emulator", "start", *options), f"http://127.0.0.1:{port}/storage/v1/b"):
        yield {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"}


@contextmanager
def azure() -> Iterator[dict[str, str]]:
    """A server with Azure's protocol, and a container in it; gives the environment."""
    from azure.storage.blob import BlobServiceClient

    (port,) = free_ports(1)
    at = f"http://127.0.0.1:{port}/devstoreaccount1"
    connection = (
        f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={_AZURITES_KEY};BlobEndpoint={at};"
    )
    options = ["--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--blobPort", str(port)]
    with _running([str(_AZURITE), *options], at):
        BlobServiceClient.from_connection_string(connection).create_container(BUCKET)
        yield {"AZURE_STORAGE_CONNECTION_STRING": connection}


@contextmanager
def _running(command: list[str], url: str) -> Iterator[None]:
    """A server process, from when it answers."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running(command, by=signal.SIGKILL, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL),
    ):
        assert wait_until(lambda: _answers(url)), f"{command[0]} does not answer"
        yield


def _answers(url: str) -> bool:
    try:
        with contextlib.closing(urllib.request.urlopen(url, timeout=5)):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
