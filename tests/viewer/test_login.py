"""A person logs in with a real browser, which says with the form where it comes from, and gets to see the pages."""

from pathlib import Path

from playwright.async_api import expect

from proctor.a2a_gateway.auth.middleware import guarded
from proctor.a2a_gateway.auth.tokens import Tokens, make_token
from proctor.settings.config import GreenAgentConfig
from proctor.viewer.app import create_app
from tests.viewer.conftest import Reading, in_the_browser, serving_pages


@in_the_browser
async def test_a_browser_comes_in_with_a_token(reading: Reading, tmp_path: Path) -> None:
    config = GreenAgentConfig(host="127.0.0.1", state=str(tmp_path))
    token, text = make_token("alice")
    Tokens(tmp_path / "tokens.json").add(token)
    with serving_pages(guarded(config, create_app(config.archive_url))) as site:
        async with reading() as reader:
            await reader.opens(f"{site}/")
            await reader.page.get_by_label("Token").fill(text)
            await reader.page.get_by_role("button", name="Log in").click()
            await expect(reader.page).to_have_url(f"{site}/")
            assert "Log in" not in await reader.page.inner_text("main")
