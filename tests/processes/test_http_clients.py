"""Our HTTP clients: one factory makes them, and what is for this machine goes to no proxy."""

import ast
import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from purple_sdk.processes.environment import keep_loopback_direct
from purple_sdk.processes.http_clients import find_proxy, make_http_client, make_sync_http_client, tls
from tests.cli.commands import DEAD_PROXIES, Sandbox
from tests.hostile import hostile
from tests.programs import ROOT, files_of_packages
from tests.sentences import says

CLIENTS = {
    *(f"httpx.{name}" for name in ("AsyncClient", "Client", "get", "post", "put", "patch", "delete", "head", "stream")),
    *("httpx.request", "httpx.options", "aiohttp.ClientSession", "aiohttp.request"),
    *("urllib.request.urlopen", "urllib.request.build_opener", "http.client.HTTPConnection"),
}
ELSEWHERE = {
    "purple_sdk/processes/http_clients.py": "it is the factory",
    "activities/simulation/server_process.py": "LeasedClient sends by another client",
    "packaging/healthy.py": "it runs in images without our packages; it goes to no proxy",
    "proctor/observing/metrics.py": "the simulator shall not load httpx for it; it goes to no proxy",
    "purple_sdk/examples/plain-a2a/agent.py": "an agent that has nothing of ours",
}
"""Modules that make clients by themselves, and why."""


@pytest.fixture
def _dead_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, proxy in DEAD_PROXIES.items():
        monkeypatch.setenv(name, proxy)


@pytest.mark.usefixtures("_dead_proxies")
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"])
async def test_what_is_for_this_machine_goes_to_no_proxy(host: str) -> None:
    with hostile({"/": lambda _: {"well": True}}, host="0.0.0.0") as server:
        url = f"http://{host}:{server.url.rpartition(':')[2]}/"
        async with make_http_client() as http:
            assert (await http.get(url)).json() == {"well": True}
        with make_sync_http_client() as sync_http:
            assert sync_http.get(url).json() == {"well": True}
    assert find_proxy("http://[::1]:8000/") is None
    assert find_proxy("http://elsewhere.example/") == DEAD_PROXIES["HTTP_PROXY"]


@pytest.mark.usefixtures("_dead_proxies")
async def test_other_hosts_are_reached_by_their_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with hostile({"http://elsewhere.example/": lambda _: {"by": "proxy"}}) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        async with make_http_client() as http, make_http_client(direct=True) as direct:
            assert (await http.get("http://elsewhere.example/")).json() == {"by": "proxy"}
            with pytest.raises(httpx.ConnectError):
                await direct.get("http://no-such-host.invalid/")
            monkeypatch.setenv("no_proxy", ".example")
            assert find_proxy("http://elsewhere.example/") is None
            for unusable in ("socks9://u:p@127.0.0.1", "http://u:p@127.0.0.1:9"):
                monkeypatch.setenv("HTTP_PROXY", unusable)
                with pytest.raises(httpx.ProxyError, check=says(part=unusable.partition("@")[2])):
                    await http.get("http://other.invalid/")


@pytest.mark.usefixtures("_dead_proxies")
def test_libraries_and_children_go_to_no_proxy_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "elsewhere.example")
    monkeypatch.setenv("no_proxy", "")
    keep_loopback_direct()
    with hostile({"/": lambda _: {"well": True}}) as server:
        assert httpx.get(server.url).json() == {"well": True}
    assert os.environ["no_proxy"] == "elsewhere.example,localhost,127.0.0.0/8,127.0.0.1,::1" == os.environ["NO_PROXY"]


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cant_be_read_are_named(content: str | None, tmp_path: Path) -> None:
    named = tmp_path / "authorities.pem"
    if content:
        named.write_text(content)
    try:
        tls.cache_clear()
        done = Sandbox(tmp_path).call("assess", "a_day", "--agent", "http://127.0.0.1:1", SSL_CERT_FILE=str(named))
        looked = Sandbox(tmp_path).call("doctor", "--no-models", "--json", SSL_CERT_FILE=str(named))
    finally:
        tls.cache_clear()
    assert done.returncode == 2
    assert says("SSL_CERT_FILE", named=named).within(done.stderr)
    problems = {finding["part"] for finding in json.loads(looked.stdout) if " certificates " in finding["said"]}
    assert problems == {"certificates", "simulator", "gateway", "participant"}


def test_only_the_factory_makes_clients() -> None:
    files = [*files_of_packages(), *(ROOT / "packaging").rglob("*.py")]
    found = {path.relative_to(ROOT).as_posix() for path in files if any(_clients_in(path.read_text()))}
    assert {path for path in found if not path.startswith("scenarios/terminal_bench/")} == set(ELSEWHERE)


def _clients_in(source: str) -> Iterator[str]:
    """The names of clients that a module makes, or makes a class of."""
    if not any(name in source for name in ("httpx", "aiohttp", "urllib.request", "http.client")):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            yield from CLIENTS & {f"{node.module}.{alias.name}" for alias in node.names}
        used = [node.func] if isinstance(node, ast.Call) else node.bases if isinstance(node, ast.ClassDef) else []
        yield from CLIENTS & {ast.unparse(expression) for expression in used}
