"""Count the usage of models in calls and tokens, and compute its cost by the operator's table of prices."""

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
    """Counts the usage of the models that are put on it.

    ``prices`` is the operator's table; ``earlier`` is the usage before the meter was made. ``on_answer`` is called
    after each counted answer.
    """

    prices: Prices
    earlier: list[ModelUse] = field(default_factory=list)
    on_answer: "Callable[[], None]" = lambda: None
    _counters: list["Counter"] = field(default_factory=list)

    def on(self, llm: "BaseChatModel", name: str, prompt_version: str | None) -> "BaseChatModel":
        """Count the usage of a model from now on. The model is changed in place, and returned.

        ``name`` is the model's name in results. ``prompt_version`` is None for prompts that aren't ours.
        """
        from proctor.activities.models.counting import Counter

        use = ModelUse(
            model=name,
            endpoint=find_endpoint(llm),
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


def find_endpoint(llm: "BaseChatModel") -> str | None:
    """Return the host of a model's endpoint, with the port if the address names one. A path is never included: it may
    hold a key.
    """
    client = getattr(llm, "root_async_client", None)  # OpenAI's client, which also reads its environment variables
    own = (getattr(llm, name, None) for name in ("openai_api_base", "anthropic_api_url", "base_url"))
    for address in (getattr(client, "base_url", None), *own):
        if address:
            return urlsplit(str(address)).netloc.rpartition("@")[2] or None
    return _USUAL_HOSTS.get(type(llm).__name__)
