"""The set-up of each of our processes before its first heavy import, so that it starts fast."""

import gc
import os
import sys
from typing import Any, cast


def import_less() -> None:
    """Make libraries skip parts at import that no process of ours uses; call this before importing any of them.

    * Imported objects stay: garbage collection after every 700 of them takes an eighth of a service's start.
    * a2a-sdk would make a span of each of its functions, without use; its requests carry our own (proctor.observing).
    * httpx would import its command line, and with it rich, click and pygments. Without them it behaves as if they
      weren't installed.
    """
    gc.set_threshold(20_000, 10, 10)
    os.environ.setdefault("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")
    cast("dict[str, Any]", sys.modules).setdefault("httpx._main", None)
