"""A SIGHUP ends no service: it opens the log files again, which somebody may have moved away."""

import re
import signal
import sys
from pathlib import Path

import httpx

from proctor.service.supervisor import Service, Supervisor
from tests.cli.commands import Sandbox
from tests.service.test_supervisor import made
from tests.waiting import eventually

REOPENING = """
import pathlib, sys, time
from proctor.processes.log_files import reopen_on_hangup
reopen_on_hangup()
pathlib.Path(sys.argv[1]).touch()
while True:
    print("alive", flush=True)
    time.sleep(0.01)
"""


def test_a_service_goes_on_and_writes_to_a_new_file(sandbox: Sandbox) -> None:
    with sandbox.started("gateway", "--port", "0") as service, httpx.Client() as http:
        service.wait_for("listening on")
        address = re.findall(r"listening on (http://[\d.:]+)", service.output)[0]
        card = f"{address}/.well-known/agent-card.json"
        connection = http.get(card).extensions["network_stream"].get_extra_info("client_addr")
        service.file.rename(moved := service.file.with_suffix(".1"))
        service.process.send_signal(signal.SIGHUP)
        outputs = [Path(f"/proc/{service.process.pid}/fd/{output}") for output in (1, 2)]
        service.wait_for_that(lambda: {str(output.readlink()) for output in outputs} == {str(service.file)})
        assert service.file.stat().st_mode == moved.stat().st_mode
        assert http.get(card).extensions["network_stream"].get_extra_info("client_addr") == connection


async def test_services_that_can_open_their_logs_again_do_so_at_a_word(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", REOPENING, str(tmp_path / "ready")]
    deaf = [sys.executable, "-c", "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); time.sleep(600)"]
    services = [
        Service("ours", command, made(tmp_path / "ready")),
        Service("another", [*deaf, str(tmp_path / "other")], made(tmp_path / "other"), reopens=False),
    ]
    async with Supervisor(services, tmp_path / "logs", print) as supervisor:
        await supervisor.start()
        pids = [supervisor.find_pid("ours"), supervisor.find_pid("another")]
        log = tmp_path / "logs" / "ours.log"
        log.rename(tmp_path / "logs" / "ours.log.1")
        supervisor.reopen_logs()
        await eventually(lambda: log.exists() and "alive" in log.read_text())
        assert pids == [supervisor.find_pid("ours"), supervisor.find_pid("another")]
