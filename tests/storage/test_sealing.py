"""What is sealed opens for the same deployment and the same purpose alone."""

import pytest
from pydantic import SecretStr

from proctor.settings.config import GreenAgentConfig
from proctor.storage.sealing import NotOursError, seal, unseal
from tests.sentences import says

OURS = GreenAgentConfig(secret=SecretStr("ours"))


def test_it_opens_for_whoever_has_the_secret() -> None:
    sealed = seal(OURS, "webhook", "https://example.org/?key=ü")
    assert "example" not in sealed
    assert unseal(GreenAgentConfig(secret=SecretStr("ours")), "webhook", sealed) == "https://example.org/?key=ü"
    assert seal(OURS, "webhook", "https://example.org/?key=ü") != sealed


def test_it_opens_for_nobody_else() -> None:
    sealed = seal(OURS, "webhook", "text")
    with pytest.raises(NotOursError, check=says("AGENTBEATS_GREEN_SECRET")):
        unseal(GreenAgentConfig(secret=SecretStr("theirs")), "webhook", sealed)
    for purpose, changed in (("another", sealed), ("webhook", sealed[:-4] + "AAAA"), ("webhook", ""), ("webhook", "ü")):
        with pytest.raises(NotOursError):
            unseal(OURS, purpose, changed)
