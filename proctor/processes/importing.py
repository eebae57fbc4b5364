"""Set up each of our processes before its first heavy import, to make it start fast."""

import gc
import os
import sys
from typing import Any, cast


def import_less() -> None:
    """Make libraries skip work at import that no process of ours needs. Call this before importing any of them.

    * The garbage collector would run after every 700 imported objects. That takes an eighth of a service's start, and
      frees nothing.
    * a2a-sdk would make a useless span of each of its functions. Its requests carry our own spans (proctor.observing).
    * httpx would import its command line, and with it rich, click and pygments. It now behaves as if these packages
      weren't installed.
    """
    gc.set_threshold(20_000, 10, 10)
    os.environ.setdefault("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")
    cast("dict[str, Any]", sys.modules).setdefault("httpx._main", None)
