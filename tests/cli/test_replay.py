"""``proctor replay``: finds Temporal by the gateway, asks before it replaces a result, and ends as programs should."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

import httpx

from proctor.storage.archive import Archive
from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol.results import AssessmentResults
from tests.assessments.scripts import idle
from tests.cli.commands import Sandbox
from tests.sentences import says
from tests.stack import Stack, assess
from tests.waiting import PATIENCE, eventually
from tests.work import NIGHTLY, only_nightly

SCENARIO = "tiny"


def test_a_completed_assessment_is_reset_only_when_that_is_agreed(stack: Stack, sandbox: Sandbox) -> None:
    gateway = ("--gateway", stack.gateway_url)
    file = sandbox.folder / "r.json"
    with stack.serving(idle) as url:
        asked = ("assess", SCENARIO, "--agent", url, *gateway, "--offline", "--max-turns", "1", "--json", str(file))
        done = sandbox.call(*asked)
        assert done.returncode == 0, done.stderr
        task_id = AssessmentResults.model_validate_json(file.read_bytes()).assessment_id

        refused = sandbox.call("replay", task_id, *gateway)
        assert refused.returncode == 2
        assert says("--yes", task_id=task_id).within(refused.stderr)

        judged = sandbox.call("replay", task_id, "--yes", *gateway)
        assert judged.returncode == 0, judged.stderr
        assert f"{task_id} continues from the judging" in judged.stdout
        played = sandbox.call("replay", task_id, "--yes", "--from-turn", "1", *gateway)
        assert f"{task_id} continues from turn 1" in played.stdout
        assert played.returncode == 0, played.stderr
        asyncio.run(replay_from_a_page(stack, task_id))


def test_a_participant_that_was_absent_when_it_was_greeted_is_greeted_again(stack: Stack, sandbox: Sandbox) -> None:
    (port,) = free_ports(1)
    gateway = ("--gateway", stack.gateway_url)
    failed = stack.run(assess(stack, f"http://127.0.0.1:{port}", SCENARIO, turn_timeout=1, max_turns=1))
    assert failed.state == "failed"
    assert failed.results is not None
    task_id = failed.results.assessment_id
    refused = sandbox.call("replay", task_id, "--from-turn", "1", *gateway)
    assert refused.returncode == 2
    assert says("--from-turn").within(refused.stderr)
    page = httpx.get(f"{stack.gateway_url}/view/{task_id}/do/continue", trust_env=False, timeout=PATIENCE).text
    assert says().within(page)
    with stack.serving(idle, port):
        replayed = sandbox.call("replay", task_id, *gateway)
    assert replayed.returncode == 0, replayed.stderr
    assert f"{task_id} continues from the greeting" in replayed.stdout


async def replay_from_a_page(stack: Stack, task_id: str) -> None:
    """The buttons of the page do the same as the command."""
    archive = Archive(stack.config.archive_url)
    async with httpx.AsyncClient(base_url=stack.gateway_url, trust_env=False, timeout=PATIENCE) as browser:
        for link, fact in (
            (f"/view/{task_id}/do/replay?turn=1", "turn 1"),
            (f"/view/{task_id}/do/judge-again", "criteria"),
        ):

            async def is_offered(link: str = link) -> bool:  # a little later than it is archived: it still winds up
                return f'href="{link}"' in (await browser.get(f"/view/{task_id}")).text

            await eventually(is_offered)
            question = (await browser.get(link)).text
            assert fact in question
            assert says().within(question)
            form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', question))
            before = archive.find(task_id).fence
            elsewhere = await browser.post(link, data=form, headers={"Origin": "http://elsewhere.example"})
            assert elsewhere.status_code == 403
            done = await browser.post(link, data=form, headers={"Origin": stack.gateway_url})
            assert (done.status_code, done.headers["location"]) == (303, f"/view/{task_id}")

            async def is_written(before: int = before) -> bool:
                return (await asyncio.to_thread(archive.find, task_id)).fence > before

            await eventually(is_written)
            assert archive.find(task_id).status == "completed"
        refused = await browser.get(f"/view/{task_id}/do/replay?turn=99")
        form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', refused.text))
        refused = await browser.post(f"/view/{task_id}/do/replay", data=form, headers={"Origin": stack.gateway_url})
        assert refused.status_code == 409
        assert says().within(refused.text)


@only_nightly
def test_it_never_aborts_at_its_exit(stack: Stack, sandbox: Sandbox) -> None:
    """The SDK's threads outlive the last call; in an interpreter that is taken apart, one call in four aborted."""

    def replay(_: int) -> tuple[int, str]:
        done = sandbox.run("replay", "nobody", "--gateway", stack.gateway_url)
        return done.returncode, done.stderr

    with ThreadPoolExecutor(2) as callers:
        ended = list(callers.map(replay, range(16 if NIGHTLY else 4)))
    ((code, said),) = set(ended)
    assert code == 1
    assert said == says("nobody")


def test_a_gateway_that_does_not_answer_is_named(sandbox: Sandbox) -> None:
    nobody = f"http://127.0.0.1:{free_ports(1)[0]}"
    done = sandbox.call("replay", "task", "--gateway", nobody)
    assert done.returncode == 3
    assert says(nobody=nobody).within(done.stderr)
    assert "--temporal-address" in done.stderr
