"""The CLI agent of ``fake_cli`` as a participant: ``python -m tests.purple_sdk.harness.serve_fake --port 8001``."""

import argparse
import sys

from purple_sdk.harness.agent import HarnessAgent
from purple_sdk.server import serve
from purple_sdk.settings.config import HarnessConfig, PurpleAgentConfig
from tests.purple_sdk.harness.playing import FAKE

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    config = HarnessConfig(host="127.0.0.1", port=parser.parse_args().port, program=sys.executable)

    def make(_: PurpleAgentConfig) -> HarnessAgent:
        return HarnessAgent(config, FAKE)

    serve(make, config, name="fake")
