"""The set-up of each of our processes before its first heavy import, so that it starts fast."""

import gc
import os
import sys
from typing import Any, cast


def import_less() -> None:
    """Have libraries leave out at their import what no process of ours uses; to be called before any of them.

    * Imported objects stay: looking for garbage among them every 700 objects takes an eighth of a service's start.
    * a2a-sdk would make a span of each of its functions, without use; its requests carry our own (proctor.observing).
    * httpx would bring its own command line, and with it rich, click and pygments; without them it does as where they
      aren't installed.
    """
    gc.set_threshold(20_000, 10, 10)
    os.environ.setdefault("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")
    cast("dict[str, Any]", sys.modules).setdefault("httpx._main", None)
