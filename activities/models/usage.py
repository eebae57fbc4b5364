"""What is asked of models, in calls and tokens, and what that costs by the operator's table of prices."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from purple_sdk.protocol.provenance import ModelUse, added_up
from purple_sdk.settings.prices import Prices

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.language_models.chat_models import BaseChatModel

    from proctor.activities.models.counting import Counter


@dataclass
class Meter:
    """Counts what is asked of the models that are put on it.

    ``prices`` is the operator's table, ``earlier`` what was asked before; ``on_answer`` hears of each answer, when it
    is counted.
    """

    prices: Prices
    earlier: list[ModelUse] = field(default_factory=list)
    on_answer: "Callable[[], None]" = lambda: None
    _counters: list["Counter"] = field(default_factory=list)

    def on(self, llm: "BaseChatModel", name: str, prompt_version: str | None) -> "BaseChatModel":
        """Count what is asked of a model from now on; the model is changed in place, and returned.

        ``name`` is the model's in results; ``prompt_version`` is None for others' prompts.
        """
        from proctor.activities.models.counting import Counter

        use = ModelUse(
            model=name,
            endpoint=endpoint_of(llm),
            temperature=getattr(llm, "temperature", None),
            prompt_version=prompt_version,
        )
        counter = Counter(use, self.prices, self.on_answer)
        self._counters.append(counter)
        llm.callbacks = [counter]
        return llm

    def read(self) -> list[ModelUse]:
        return added_up([*self.earlier, *(counter.use for counter in self._counters if counter.use.calls)])


_USUAL_HOSTS = {
    "ChatAnthropic": "api.anthropic.com",
    "ChatGoogleGenerativeAI": "generativelanguage.googleapis.com",
    "ChatOllama": "127.0.0.1:11434",
}


def endpoint_of(llm: "BaseChatModel") -> str | None:
    """The host (and port, where it is named) that a model is asked at; never a path, which may hold a key."""
    client = getattr(llm, "root_async_client", None)  # OpenAI's, which also knows what its environment variables say
    own = (getattr(llm, name, None) for name in ("openai_api_base", "anthropic_api_url", "base_url"))
    for address in (getattr(client, "base_url", None), *own):
        if address:
            return urlsplit(str(address)).netloc.rpartition("@")[2] or None
    return _USUAL_HOSTS.get(type(llm).__name__)
