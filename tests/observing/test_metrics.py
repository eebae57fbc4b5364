"""What services count: scraped by the real Prometheus, shown by the dashboard, watched by the alerts."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from purple_sdk.processes.ports import free_ports
from tests.observing.conftest import JUDGE, PEOPLE, Observed
from tests.programs import ROOT
from tests.system_programs import require
from tests.waiting import PATIENCE, wait_until

OBSERVING = ROOT / "packaging" / "observing"
DASHBOARD = OBSERVING / "grafana-dashboard.json"
RULES = OBSERVING / "proctor.rules.yml"
SERVICES = ("gateway", "ues", "worker")


@pytest.fixture
def prometheus() -> None:
    """Skips a test where Prometheus is missing."""
    require("prometheus", "promtool")


needs_prometheus = pytest.mark.usefixtures("prometheus")
_NAME = re.compile(r"\b(?:proctor|temporal|process|up)(?:_[a-z_]+)?\b(?=\{|\[|\)| |$)")


def queries() -> list[str]:
    """All that the dashboard asks for."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


@contextmanager
def scraping(observed: Observed, folder: Path) -> Iterator[httpx.Client]:
    """Prometheus, as it scrapes the three services; gives a client of its API."""
    (port,) = free_ports(1)
    targets = [
        {"targets": [observed.address_of(service).removeprefix("http://")], "labels": {"service": service}}
        for service in SERVICES
    ]
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "proctor", "static_configs": targets}],
    }
    file = folder / "prometheus.json"  # which is YAML, too
    file.write_text(json.dumps(config))
    command = ["prometheus", f"--config.file={file}", f"--storage.tsdb.path={folder}/data"]
    with (
        (folder / "log.txt").open("w") as log,
        subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log) as process,
    ):
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", timeout=PATIENCE, trust_env=False) as api:
                yield api
        finally:
            process.terminate()


def asked(api: httpx.Client, query: str) -> list[dict[str, Any]]:
    answer = api.get("/query", params={"query": query}).json()
    assert answer["status"] == "success", answer
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found


def reads(api: httpx.Client, query: str, expected: float | None = None) -> None:
    """Wait until a query has one value, which is the expected one, or else more than 0: on a busy machine, Prometheus
    may give up a scrape.
    """

    def is_read() -> bool:
        values = [float(found["value"][1]) for found in asked(api, query)]
        return values == [expected] if expected is not None else len(values) == 1 and values[0] > 0

    assert wait_until(is_read), (query, expected, asked(api, query))


def pages(observed: Observed) -> str:
    return "\n".join(
        httpx.get(f"{observed.address_of(service)}/metrics", timeout=PATIENCE, trust_env=False).text
        for service in SERVICES
    )


@needs_prometheus
def test_prometheus_scrapes_what_an_assessment_was(observed: Observed, tmp_path: Path) -> None:
    with scraping(observed, tmp_path) as api:

        def is_scraped() -> bool:
            try:
                return len(asked(api, "up == 1")) == len(SERVICES)
            except (httpx.HTTPError, ValueError):  # it isn't there yet, or is starting
                return False

        assert wait_until(is_scraped)
        ended = 'proctor_assessments_ended_total{kind="assessment", status="completed"}'
        reads(api, ended, 1)
        reads(api, 'proctor_assessments{state="completed"}', 1)
        reads(api, 'proctor_assessments{state="running"}', 0)
        reads(api, "proctor_temporal_up", 1)
        reads(api, "proctor_workers_polling", 1)
        reads(api, "proctor_simulations", 0)
        reads(api, "proctor_turn_seconds_count", observed.results.turns_taken)
        reads(api, "proctor_judge_seconds_count", len(observed.results.criteria_results))
        reads(api, f'proctor_model_calls_total{{model="{JUDGE}", outcome="answered"}}', 1)
        reads(api, f'proctor_model_tokens_total{{model="{PEOPLE}", type="output"}}', 2)
        reads(api, f'proctor_model_cost_total{{model="{JUDGE}", currency="EUR"}}', 2.5)
        reads(api, 'sum(proctor_store_seconds_count{operation="write"})')
        reads(api, 'temporal_workflow_completed_total{workflow_type="Assessment"}', 1)
        reads(api, "sum(proctor_simulator_request_seconds_count)")
        for query in queries():
            asked(api, query.replace("$__rate_interval", "1m"))
        assert not asked(api, 'ALERTS{alertstate="firing"}')


def test_the_dashboard_and_the_alerts_ask_for_what_there_is(observed: Observed) -> None:
    there = set(re.findall(r"^# TYPE (\S+) ", pages(observed), re.MULTILINE)) | {"up"}
    there |= {f"{name}{end}" for name in there for end in ("_bucket", "_count", "_sum", "_total")}
    rules = re.findall(r"expr: (?:\|\n)?(.*?)\n +(?:for|labels):", RULES.read_text(), re.DOTALL)
    assert len(queries()) > 20
    assert len(rules) == 9
    named = {name for query in [*queries(), *rules] for name in _NAME.findall(query)}
    only_when_it_happens = {"temporal_request_failure_total"}
    assert named - there - only_when_it_happens == set()


def test_names_follow_prometheus_rules(observed: Observed) -> None:
    kinds = dict(re.findall(r"^# TYPE (proctor_\S+) (\S+)$", pages(observed), re.MULTILINE))
    assert kinds
    for name, kind in kinds.items():
        if name.endswith("_created"):
            continue
        assert (kind == "counter") == name.endswith("_total"), name
        assert (kind == "histogram") == name.endswith("_seconds"), name


def test_every_metric_of_ours_is_in_the_table(observed: Observed) -> None:
    told = set(re.findall(r"^\| `(proctor_[a-z_]+)", (ROOT / "docs" / "OBSERVING.md").read_text(), re.MULTILINE))
    counted = set(re.findall(r"^# TYPE (proctor_\S+) ", pages(observed), re.MULTILINE))
    assert told == {name for name in counted if not name.endswith("_created")}


@needs_prometheus
def test_promtool_finds_the_rules_right_and_has_each_alert_fire() -> None:
    for command in (
        ["check", "rules", str(RULES)],
        ["check", "config", str(OBSERVING / "prometheus.yml")],
        ["test", "rules", str(Path(__file__).with_name("alerts.test.yml"))],
    ):
        done = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 0, done.stdout + done.stderr


async def test_metrics_of_the_gateway_are_there_for_who_may_ask_it(observed: Observed) -> None:
    async with httpx.AsyncClient(base_url=observed.evaluator.gateway_url, timeout=PATIENCE, trust_env=False) as http:
        answer = await http.get("/metrics")  # it asks nobody, and listens on this machine alone
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "proctor_gateway_requests_total" in answer.text
