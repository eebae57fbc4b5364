"""Who may come in: names and sites, a browser's login, and an identity provider. The gateway is in this process."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from temporalio.client import Client

from proctor.a2a_gateway import limits, logs
from proctor.a2a_gateway.auth import login
from proctor.a2a_gateway.auth.login import COOKIE
from proctor.a2a_gateway.auth.middleware import guarded
from proctor.a2a_gateway.auth.tokens import Tokens, TokensError, make_token
from proctor.a2a_gateway.server import create_app
from proctor.a2a_gateway.temporal import TemporalConnection
from proctor.a2a_gateway.watching import Watching
from proctor.service.doctor.services import look_at_provider
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import TemporalUnreachableError, connect
from proctor.viewer.app import create_app as create_pages
from proctor.viewer.app import routes
from tests.sentences import says

HERE = "http://127.0.0.1:8000"
AUDIENCE, ISSUER_PATH = "proctor", "/realm"


async def nobody() -> Client:
    raise TemporalUnreachableError("is away")


@asynccontextmanager
async def coming(config: GreenAgentConfig, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(config, nobody, routes(config.archive_url))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HERE, headers=headers) as http:
        yield http


@pytest.fixture
def config(tmp_path: Path) -> GreenAgentConfig:
    return GreenAgentConfig(host="127.0.0.1", state=str(tmp_path), card_url="http://evaluator.example:8000/")


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1:8000", "localhost", "[::1]:8000", "10.1.2.3", "gateway:8000", "a.localhost"),
        *("evaluator.example", "EVALUATOR.example:80", "evaluator.example."),
    ],
)
async def test_the_gateway_answers_to_addresses_and_to_its_own_names(config: GreenAgentConfig, host: str) -> None:
    async with coming(config, Host=host) as http:
        assert (await http.get("/")).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "evaluator.example.evil", "[::1", "x@y.z:1"),
        *("evil.example@127.0.0.1", "127.0.0.1/evil.example", "127.0.0.1?evil.example", "127.0.0.1#evil.example"),
    ],
)
async def test_a_name_that_anybody_may_have_point_here_is_refused(config: GreenAgentConfig, host: str) -> None:
    async with coming(config, Host=host) as http:
        for path in ("/", "/.well-known/agent-card.json", "/tasks"):
            refused = await http.get(path)
            assert refused.status_code == 421
            assert "AGENTBEATS_GREEN_HOSTS" in refused.json()["error"]["message"]
    for hosts in ("*", f"other.example, {host}"):
        if host[0] not in "[x" and not set(host) & set("@/?#"):
            async with coming(config.model_copy(update={"hosts": hosts}), Host=host) as http:
                assert (await http.get("/")).status_code == 200


@pytest.mark.parametrize(
    ("headers", "is_let_in"),
    [
        ({}, True),
        ({"Origin": HERE}, True),
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "http://127.0.0.1:9"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://[::1"}, False),
        ({"Origin": "", "Host": ""}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Origin": "https://dashboard.example"}, True),
    ],
)
async def test_pages_of_other_sites_change_nothing(
    config: GreenAgentConfig, headers: dict[str, str], is_let_in: bool
) -> None:
    config = config.model_copy(update={"cors_origins": "https://dashboard.example"})
    async with coming(config, **headers) as http:
        answer = await http.post("/message:send", json={}, headers={"A2A-Version": "1.0"})
        assert (answer.status_code == 400) == is_let_in
        assert (answer.status_code == 403) != is_let_in
        seen = answer.headers.get("access-control-allow-origin")
        assert (seen == "https://dashboard.example") == ("dashboard" in headers.get("Origin", ""))


def token_of(config: GreenAgentConfig, name: str, **kind: Any) -> str:
    token, text = make_token(name, **kind)
    Tokens(Path(config.state) / "tokens.json").add(token)
    return text


async def test_a_browser_logs_in_with_a_token_and_gets_a_cookie(config: GreenAgentConfig) -> None:
    text = token_of(config, "alice")
    async with coming(config, Accept="text/html", Origin=HERE) as http:
        asked = await http.get("/view/x?turn=2")
        assert (asked.status_code, asked.headers["location"]) == (303, "/login?next=/view/x%3Fturn%3D2")
        wrong = await http.post("/login", data={"token": "proctor_00000000_x"})
        assert (wrong.status_code, "unknown here" in wrong.text) == (401, True)
        entered = await http.post(asked.headers["location"], data={"token": text})
        assert (entered.status_code, entered.headers["location"]) == (303, "/view/x?turn=2")
        (cookie,) = entered.headers.get_list("set-cookie")
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
        assert text not in cookie
        assert (await http.get("/")).status_code == 200
        kept = {"Cookie": cookie.partition(";")[0]}
        assert (await http.get("/", headers=kept)).status_code == 200
        await http.post("/logout")
        assert (await http.get("/", headers=kept)).status_code == 303, "who has kept the cookie is out, too"
        await http.post("/login", data={"token": text})
        assert (await http.get("/")).status_code == 200
        # What such a browser sends from another site's page doesn't count, whatever cookie comes with it.
        assert (await http.post("/tasks/x:cancel", headers={"Origin": "http://evil.example"})).status_code == 403
        Tokens(Path(config.state) / "tokens.json").remove(lambda _: True)
        assert (await http.get("/")).status_code == 303
        assert (await http.post("/logout")).headers["set-cookie"].startswith('proctor_session=""')


async def test_a_logout_counts_at_every_gateway_and_after_a_restart(
    config: GreenAgentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "LOOK_AGAIN_SECONDS", 0)
    config = config.model_copy(update={"storage_url": str(tmp_path / "store")})
    text, other = token_of(config, "alice"), token_of(config, "bob")

    async def seen(http: httpx.AsyncClient, cookie: str) -> int:
        return (await http.get("/", headers={"Cookie": cookie, "Accept": "text/html"})).status_code

    async with coming(config, Origin=HERE) as here, coming(config, Origin=HERE) as there:
        mine, elsewhere, others = [
            (await here.post("/login", data={"token": token})).headers["set-cookie"].partition(";")[0]
            for token in (text, text, other)
        ]
        assert [await seen(there, cookie) for cookie in (mine, elsewhere, others)] == [200, 200, 200]
        await here.post("/logout", headers={"Cookie": mine})
        for http in (here, there):
            assert [await seen(http, cookie) for cookie in (mine, elsewhere, others)] == [303, 200, 200]
            assert await seen(http, mine.replace('="', '="!')) == 303, "the same session, written otherwise"
            assert await seen(http, elsewhere.replace('="', '="!')) == 200
    async with coming(config) as restarted:
        assert [await seen(restarted, cookie) for cookie in (mine, elsewhere, others)] == [303, 200, 200]
    logouts = tmp_path / "store" / "logouts"
    (noted,) = logouts.iterdir()
    noted.rename(logouts / f"1000.{noted.name.partition('.')[2]}")
    async with coming(config, Origin=HERE) as later:
        await later.post("/logout", headers={"Cookie": elsewhere})
        assert [path.name.startswith("1000.") for path in logouts.iterdir()] == [False]


async def test_hostile_cookies_are_not_taken_apart(config: GreenAgentConfig) -> None:
    """Python's own reader of cookies undoes escapes, in quadratic time: 25 s for 60 kB, in which no one is served."""
    async with coming(config, Origin=HERE, Accept="text/html") as http:
        text = token_of(config, "alice")
        cookie = (await http.post("/login", data={"token": text})).headers["set-cookie"].partition(";")[0]
        escaped, long = cookie.replace('="g', '="\\147'), COOKIE + '="' + '\\"' * 60_000 + '"'
        sent = (cookie, f"a=b; {cookie}", escaped, long, f"{COOKIE};;=;")
        seen = [(await http.get("/", headers={"Cookie": header})).status_code for header in sent]
        assert seen == [200, 200, 303, 303, 303]


async def test_without_the_store_no_cookie_counts_and_tokens_do(config: GreenAgentConfig, tmp_path: Path) -> None:
    config = config.model_copy(update={"storage_url": str(tmp_path / ("x" * 300))})  # no file system has such names
    text = token_of(config, "alice")
    async with coming(config, Origin=HERE, Accept="text/html") as http:
        cookie = (await http.post("/login", data={"token": text})).headers["set-cookie"].partition(";")[0]
        refused = await http.get("/", headers={"Cookie": cookie})
        assert (refused.status_code, "store doesn't answer" in refused.text) == (503, True)
        left = await http.post("/logout", headers={"Cookie": cookie})
        assert (left.status_code, "revoke the token" in left.text) == (503, True)
        assert left.headers["set-cookie"].startswith('proctor_session=""')
        assert (await http.get("/", headers={"Authorization": f"Bearer {text}"})).status_code == 200


async def test_browsers_say_where_the_login_comes_from(config: GreenAgentConfig) -> None:
    """With ``no-referrer`` they send ``Origin: null`` with the form, which is refused."""
    token_of(config, "alice")
    async with coming(config) as http:
        page = await http.get("/login")
        assert page.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("after", ["//evil.example", "https://evil.example", "/\\evil.example", "/\nx"])
async def test_a_login_leads_nowhere_else(config: GreenAgentConfig, after: str) -> None:
    text = token_of(config, "alice")
    async with coming(config) as http:
        entered = await http.post("/login", params={"next": after}, data={"token": text})
        assert (entered.status_code, entered.headers["location"]) == (303, "/")


async def test_what_a_stranger_sends_is_not_read_without_end(config: GreenAgentConfig) -> None:
    token_of(config, "alice")
    transport = httpx.ASGITransport(guarded(config, create_pages(config.archive_url)))
    async with httpx.AsyncClient(transport=transport, base_url=HERE) as http:
        refused = await http.post("/login", data={"token": "x" * 2_000_000})
    assert refused.status_code == 413


async def test_what_a_stranger_sends_is_not_waited_for_without_end(
    config: GreenAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_BODY_WITHIN", 0.05)

    async def never() -> AsyncIterator[bytes]:
        yield b"token="
        await asyncio.sleep(3600)

    async with coming(config) as http:
        refused = await http.post("/login", content=never())
    assert (refused.status_code, "hasn't come" in refused.text) == (408, True)


@pytest.mark.parametrize("path", ["/%0a2026-11-22 ERROR forged", "/%1b%5b31mred"])
async def test_a_refusal_is_one_line_in_the_log(
    config: GreenAgentConfig, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    token_of(config, "alice")
    async with coming(config) as http:
        assert (await http.get(path)).status_code == 401
    (line,) = [record.getMessage() for record in caplog.records if record.name == "proctor.a2a_gateway.logs"]
    assert line.isprintable()


async def test_strangers_dont_fill_the_log(
    config: GreenAgentConfig, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    token_of(config, "alice")
    monkeypatch.setattr(logs, "_MOST_IN_A_SECOND", 3)
    async with coming(config) as http:
        for second in (7.0, 8.0):
            monkeypatch.setattr(logs, "monotonic", lambda second=second: second)
            for _ in range(5):
                assert (await http.get("/tasks")).status_code == 401
    told = [record.getMessage() for record in caplog.records if record.name == "proctor.a2a_gateway.logs"]
    assert [line.split()[0] for line in told] == ["GET"] * 3 + ["2"] + ["GET"] * 3


async def test_a_cookie_of_ones_own_making_is_none(config: GreenAgentConfig) -> None:
    token_of(config, "alice")
    async with coming(config, Cookie="proctor_session=gAAAAABx") as http:
        assert (await http.get("/")).status_code == 401


@pytest.mark.parametrize("name", ["", "a b", "it's", "x" * 65, "oidc", "oidc:alice", "-x", "ünïcode"])
def test_a_name_that_could_be_more_than_one_is_refused(name: str) -> None:
    with pytest.raises(TokensError, check=says()):
        make_token(name)


@pytest.mark.parametrize("name", ["", "oidc", "it's", "x' OR ProctorOwner != '"])
async def test_a_file_with_such_a_name_lets_nobody_in(config: GreenAgentConfig, name: str) -> None:
    text, path = token_of(config, "alice"), Path(config.state) / "tokens.json"
    path.write_text(path.read_text().replace('"alice"', json.dumps(name)))
    async with coming(config, Authorization=f"Bearer {text}") as http:
        refused = await http.get("/tasks")
    assert refused.status_code == 503
    assert says("tokens[0].name").within(refused.text)


async def test_a_link_that_leads_nowhere_opens_no_door(config: GreenAgentConfig) -> None:
    (Path(config.state) / "tokens.json").symlink_to(Path(config.state) / "not-mounted-yet")
    async with coming(config) as http:
        assert (await http.get("/temporal")).status_code == 401
    async with coming(config, Authorization="Bearer proctor_00000000_x") as http:
        assert (await http.get("/temporal")).status_code == 503


def test_a_file_that_others_may_write_lets_nobody_in(config: GreenAgentConfig) -> None:
    text, path = token_of(config, "alice"), Path(config.state) / "tokens.json"
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    assert text not in path.read_text()
    tokens = Tokens(path)
    assert tokens.find(text) is not None
    path.chmod(0o666)
    for each in (tokens, Tokens(path)):  # at once, in a gateway that runs too
        with pytest.raises(TokensError, match="chmod 600"):
            each.find(text)


class Provider:
    """An identity provider: its discovery document, its keys, and tokens that it signs."""

    def __init__(self, url: str) -> None:
        self.issuer, self.asked, self.is_away = f"{url}{ISSUER_PATH}", 0, False
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.url = url

    def answer(self, path: str) -> dict[str, Any]:
        if path == f"{ISSUER_PATH}/.well-known/openid-configuration":
            return {"issuer": self.issuer, "jwks_uri": f"{self.url}/keys"}
        self.asked += 1
        if self.is_away:
            return {"error": "try again later"}
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "one", "use": "sig", "alg": "RS256"}]}

    def token(self, *, key: Any = None, algorithm: str = "RS256", kid: str = "one", **claims: Any) -> str:
        told = {"iss": self.issuer, "aud": AUDIENCE, "sub": "alice", "exp": time.time() + 600, **claims}
        told = {name: value for name, value in told.items() if value is not None}
        return jwt.encode(told, key or self.key, algorithm=algorithm, headers={"kid": kid})


@pytest.fixture
def provider() -> Iterator[Provider]:
    found: list[Provider] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(found[0].answer(self.path)).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.append(Provider(f"http://127.0.0.1:{server.server_port}"))
    Thread(target=server.serve_forever, daemon=True).start()
    yield found[0]
    server.shutdown()
    server.server_close()


async def test_an_identity_providers_tokens_count_where_they_are_for_us(
    config: GreenAgentConfig, provider: Provider
) -> None:
    config = config.model_copy(
        update={"oidc_issuer": provider.issuer, "oidc_audience": AUDIENCE, "oidc_admins": "root@example.com"}
    )
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    refused = {
        "expired": provider.token(exp=time.time() - 60),
        "another audience": provider.token(aud="others"),
        "another issuer": provider.token(iss="http://evil.example"),
        "no audience": provider.token(aud=None),
        "no end": provider.token(exp=None),
        "no subject": provider.token(sub=None),
        "another key": provider.token(key=stranger),
        "an unknown key": provider.token(key=stranger, kid="two"),
        "a shared secret": provider.token(key="s" * 64, algorithm="HS256"),
        "no signature": jwt.encode({"sub": "alice"}, "", algorithm="none", headers={"kid": "one"}),
        "garbage": "a.b.c",
        "a nest": f"{base64.urlsafe_b64encode(b'[' * 6_000).decode().rstrip('=')}.e30.x",
        "a subject that can't be written": provider.token(sub="\ud800"),
        "a subject that is too long once it is written": provider.token(sub="\U0001f600" * 128),
    }
    async with coming(config) as http:

        async def ask(token: str) -> int:
            return (await http.get("/temporal", headers={"Authorization": f"Bearer {token}"})).status_code

        assert {name: await ask(token) for name, token in refused.items()} == dict.fromkeys(refused, 401)
        for_others = {"Authorization": f"Bearer {refused['another audience']}"}
        assert f"which is '{AUDIENCE}'" in (await http.get("/temporal", headers=for_others)).text
        assert await ask(provider.token()) == 403  # known, and no admin
        assert await ask(provider.token(sub="root@example.com")) == 200
        assert provider.asked <= 2  # whatever strangers send, the provider is not asked each time
        card = (await http.get("/.well-known/agent-card.json")).json()
    scheme = card["securitySchemes"]["oidc"]["openIdConnectSecurityScheme"]
    assert scheme["openIdConnectUrl"] == f"{provider.issuer}/.well-known/openid-configuration"


async def test_a_provider_that_is_away_is_not_asked_for_each_token(
    config: GreenAgentConfig, provider: Provider
) -> None:
    """Nobody has to be known to send what looks like a token."""
    config = config.model_copy(update={"oidc_issuer": provider.issuer, "oidc_audience": AUDIENCE})
    async with coming(config) as http:

        async def ask(token: str) -> int:
            return (await http.get("/temporal", headers={"Authorization": f"Bearer {token}"})).status_code

        provider.is_away = True
        assert {await ask(provider.token(kid=f"{number}")) for number in range(20)} == {503}
        assert provider.asked == 1


async def test_a_provider_that_is_away_lets_nobody_in(config: GreenAgentConfig) -> None:
    config = config.model_copy(update={"oidc_issuer": "http://127.0.0.1:1", "oidc_audience": AUDIENCE})
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    token = jwt.encode({"sub": "alice"}, key, algorithm="RS256", headers={"kid": "one"})
    async with coming(config, Authorization=f"Bearer {token}") as http:
        refused = await http.get("/tasks")
    assert refused.status_code == 503
    assert says().within(refused.text)
    needs = Watching(config, TemporalConnection(partial(connect, config))).needs
    assert says("http://127.0.0.1:1").within(str(await needs["oidc"]()))
    assert (await look_at_provider(config)).state == "problem"


def test_a_token_for_a_while_ends(config: GreenAgentConfig) -> None:
    text = token_of(config, "alice", lasts=timedelta(seconds=60))
    token = Tokens(Path(config.state) / "tokens.json").find(text)
    assert token is not None
    assert token.expires_at is not None
    assert not token.is_expired(token.created_at)
    assert token.is_expired(token.expires_at)
