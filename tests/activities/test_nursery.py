"""What scenarios' code needs is there when a process is forked for it."""

import subprocess
import sys

_PROGRAM = """
import asyncio, importlib, sys
from activities.packages import nursery, tasks

nursery.import_late_ones()
before = set(sys.modules)

async def ask():
    async def answer(reader, writer):
        await reader.readuntil(b"\\r\\n\\r\\n")
        writer.write(b"HTTP/1.1 204 No Content\\r\\n\\r\\n")
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        address = "http://127.0.0.1:%d" % server.sockets[0].getsockname()[1]
        async with tasks.httpx.AsyncClient(verify=tasks.tls()) as http:
            print((await http.get(address)).status_code)

asyncio.run(ask())
print(*sorted(set(sys.modules) - before))
"""


def test_a_question_to_the_simulator_imports_nothing_more() -> None:
    """It would be imported in every process anew: a third of what judging a scenario costs."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["204"]
