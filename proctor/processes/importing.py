"""The set-up of each of our processes before its first heavy import, so that it starts fast."""

import gc
import os
import sys
from typing import Any, cast


def import_less() -> None:
    """Make libraries skip parts at import that no process of ours uses; call this before importing any of them.

    * The garbage collector would run after every 700 imported objects. That takes an eighth of a service's start, and
      frees nothing.
    * a2a-sdk would make a useless span of each of its functions. Its requests carry our own spans (proctor.observing).
    * httpx would import its command line, and with it rich, click and pygments. Now it behaves as if they weren't
      installed.
    """
    gc.set_threshold(20_000, 10, 10)
    os.environ.setdefault("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")
    cast("dict[str, Any]", sys.modules).setdefault("httpx._main", None)
