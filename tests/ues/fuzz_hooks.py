"""What schemathesis does between requests, in its own process: it is told of this module by ``test_fuzz.py``.

After a request that took that away, such as a reset, it is put back, or all later requests would fuzz an
empty one.
"""

import os
from pathlib import Path
from typing import Any

import httpx
import schemathesis

URL, KEY, CHECKPOINT = (os.environ[name] for name in ("FUZZ_URL", "FUZZ_KEY", "FUZZ_CHECKPOINT"))
EMPTYING = (
    "/simulation/clear",
    "/simulation/reset",
    "/simulation/restore",
    "/simulation/undo",
    "/simulator/time/advance",
    "/simulator/time/set",
    "/simulator/time/skip-to-next",
    "/scenario/import/environment",
    "/scenario/import/full",
)

client = httpx.Client(base_url=URL, headers={"X-API-Key": KEY}, timeout=120, verify=False)
checkpoint = Path(CHECKPOINT).read_bytes()


@schemathesis.hook
def after_call(_context: Any, case: Any, response: Any) -> None:
    if case.operation.path in EMPTYING and response.status_code == 200:
        client.post("/simulation/restore", content=checkpoint).raise_for_status()
