"""The commands over the archive, with nothing that runs: no Temporal, no worker, no gateway."""

import csv
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

import proctor
from proctor.common.errors import CommandError, UsageError
from proctor.common.phrases import comparison_in_words
from proctor.protocol.runs import RunResults
from proctor.storage.archive import Archive
from proctor.storage.blobs import BlobStore
from proctor.viewer.pages import Pages
from tests.cli.commands import run_proctor
from tests.sentences import says
from tests.viewer.campaign_entries import write_campaign, write_run
from tests.viewer.entries import write_day


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two days, and no Temporal anywhere."""
    monkeypatch.setenv("AGENTBEATS_GREEN_TEMPORAL_ADDRESS", "127.0.0.1:1")
    monkeypatch.setenv("AGENTBEATS_GREEN_CONNECT_TIMEOUT", "0.1")
    monkeypatch.setenv("AGENTBEATS_GREEN_STATE", str(tmp_path))
    kept = Archive(str(tmp_path / "archive"))
    write_day(kept, "day-one")
    write_day(kept, "day-two", did="fyi")
    return kept.folder.root


def test_list(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_proctor("list", "--archive", archive)
    said = capsys.readouterr().out
    assert said.count("secretary") == 2
    assert "3/6" in said
    flags = ("--agent", "SECRET", "--scenario", "lunch", "--status", "completed")
    run_proctor("list", "--archive", archive, *flags, "--limit", "1", "--json")
    (first,) = json.loads(capsys.readouterr().out)
    assert (first["id"], first["score"]) == ("day-two", 3)
    run_proctor("list", "--archive", archive, "--since", "2026-04-01")
    assert says().within(capsys.readouterr().out)
    with pytest.raises(UsageError, check=says("--since", "soon")):
        run_proctor("list", "--archive", archive, "--since", "soon")


def test_show_tells_what_was_lost_in_words(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_proctor("show", "day-o", "--archive", archive)
    said = capsys.readouterr().out
    assert "-3  Anna is asked (1/4)" in said
    assert says().within(said)
    assert "Mails are polite" not in said
    run_proctor("show", "day-one", "--archive", archive, "--all")
    said = " ".join(capsys.readouterr().out.split())
    assert "Mails are polite" in said
    assert "earned by:" in said
    with pytest.raises(UsageError, check=says("day")):
        run_proctor("show", "day", "--archive", archive)


def test_compare(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_proctor("compare", "day-one", "day-two", "--archive", archive)
    assert says().within(capsys.readouterr().out)
    run_proctor("compare", "day-one", "day-one", "--archive", archive)
    assert says().within(capsys.readouterr().out)


def test_two_agents_are_compared_by_what_both_have_played(
    archive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Archive(str(tmp_path / "agents"))
    for seed, (one, other) in enumerate([(5, 3), (4, 3), (6, 2), (5, 2)]):
        for agent, score in (("mine", one), ("theirs", other)):
            day = Archive(archive).find("day-one")
            changes = {"id": f"{agent}-{seed}", "role": agent, "seed": seed, "score": score, "campaign": "c"}
            kept.write(day.model_copy(update=changes), {}, {})
    run_proctor("compare", "mine", "theirs", "--archive", kept.folder.root, "--difference", "2")
    said = capsys.readouterr().out
    assert re.search(r"^lunch +83.3% +41.7% +\+41.7 +4$", said, re.MULTILINE), said
    assert says("+41.7 points").within(said)
    assert says("965").within(said)
    with pytest.raises(UsageError, check=says("mine")):
        run_proctor("compare", "mine", "theirs", "--archive", kept.folder.root, "--campaign", "d")
    with pytest.raises(UsageError, check=says("nobody")):
        run_proctor("compare", "mine", "nobody", "--archive", kept.folder.root)


def write_runs(archive: str, to: Path, runs: list[tuple[str, str, int, int]], **more: object) -> Archive:
    """Runs of agents: label, address, seed and score of 6; in a campaign of the name ``c``."""
    kept, source = Archive(str(to)), Archive(archive)
    day = source.find("day-one")
    for label, url, seed, score in runs:
        about: dict[str, Any] = {
            "id": f"{label}-{seed}-{url[-1]}",
            "role": label,
            "participant": f"card {url[-1]}",
            "campaign": "c",
        }
        about |= {"participant_url": url, "seed": seed, "score": score, **more}
        kept.write(day.model_copy(update=about), {"result.json": source.read(day, "result.json")}, {})
    return kept


def test_an_ambiguous_name_is_refused_with_the_candidates(
    archive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = "http://a:1", "http://b:2"
    runs = [("mine", one, 1, 6), ("mine", one, 2, 6), ("mine", two, 1, 0), ("theirs", one, 1, 3), ("other", two, 1, 2)]
    place = write_runs(archive, tmp_path / "agents", runs).folder.root
    with pytest.raises(UsageError) as refused:
        run_proctor("compare", "mine", "theirs", "--archive", place)
    assert str(refused.value) == says("mine", "http://a:1", "card 1", "http://b:2")
    for name in (one, "card 1"):
        with pytest.raises(UsageError, check=says(name=name, one=one)):
            run_proctor("compare", name, "other", "--archive", place)
    run_proctor("compare", f"mine={one}", "theirs", "--archive", place)
    assert "mine=http://a:1 less theirs: +0.0 points" in capsys.readouterr().out
    run_proctor("compare", f"mine={one}", "mine=card 2", "--archive", place)
    assert says("50.0%").within(capsys.readouterr().out)
    with pytest.raises(UsageError, check=says("theirs", "theirs=card 1")):
        run_proctor("compare", "theirs", "theirs=card 1", "--archive", place)


def test_agents_are_compared_by_groups_and_criteria(
    archive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Archive(str(tmp_path / "campaigns"))
    write_campaign(kept, "campaign-1")
    results = kept.campaign_results(kept.find("campaign-1"))
    assert isinstance(results, RunResults)
    (comparison,) = results.comparisons
    whole = {row.agent: row.percent for row in results.summaries if row.of == "overall" and row.scenario is None}
    assert comparison.difference is not None
    assert comparison.first_percent == pytest.approx(whole["careful"].mean)  # type: ignore[union-attr]
    for by, row in (
        ("scenario", r"^lunch +72.0% +45.0% +\+27.0 +10$"),
        ("difficulty", r"^fixed +72.5% +47.0% +\+25.5 +-4.5 to \+46.8 +20$"),
        ("criterion", r"^asks +86.2% +42.5% +\+43.8 +\+4.5 to \+69.4 +20$"),
        ("dimension", r"^no run .* dimension"),
    ):
        run_proctor("compare", "careful", "hasty", "--archive", kept.folder.root, "--campaign", "camp", "--by", by)
        said = capsys.readouterr().out
        assert re.search(row, said, re.MULTILINE), said
        assert f"\n{comparison_in_words(comparison)[0]}\n" in f"\n{said}", "as its page and its results have it"
    page = Pages(kept).campaign(kept.find("campaign-1"))
    assert "+25.5" in page
    assert "72.5 − 47.0" in page
    with pytest.raises(UsageError, check=says("x")):
        run_proctor("compare", "careful", "x", "--archive", kept.folder.root, "--campaign", "campaign-1")


def test_an_export_has_the_weights_that_make_the_means(archive: str, tmp_path: Path) -> None:
    """Two days of one scenario with half of the points, and one of another that the agent failed."""
    runs = [("mine", "http://a:1", 1, 3), ("mine", "http://a:1", 2, 3), ("theirs", "http://b:2", 1, 3)]
    place = write_runs(archive, tmp_path / "agents", runs).folder.root
    failed = {"scenario_id": "dinner", "status": "failed", "failed_by_participant": True}
    write_runs(archive, tmp_path / "agents", [("mine", "http://a:1", 9, 3)], **failed)
    run_proctor("export", "all", "--to", str(tmp_path / "all.csv"), "--archive", place)
    with (tmp_path / "all.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["agent"] == "mine"]
    (whole, *_) = proctor.runs(place, agent="mine").summaries()
    assert whole.percent is not None
    assert whole.percent.mean == pytest.approx(25)
    assert sum(float(row["percent"]) * float(row["weight"]) for row in rows) == pytest.approx(25)
    write_runs(archive, tmp_path / "agents", [("theirs", "http://c:3", 1, 3)])
    whole_rows = [row for row in proctor.runs(place).summaries() if row.scenario is None and row.of == "overall"]
    assert {row.agent for row in whole_rows} == {"mine", "theirs=http://b:2", "theirs=http://c:3"}
    found = proctor.runs(place).compare("mine", "theirs=http://b:2")
    assert (found.pairs, found.unpaired, found.first_percent, found.second_percent) == (1, 2, 50, 50)


def test_export_and_import(archive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_proctor("export", "all", "--to", str(tmp_path / "there"), "--archive", archive)
    assert "2 assessments written to " in capsys.readouterr().out
    run_proctor("import", str(tmp_path / "there"), "--archive", str(tmp_path / "elsewhere"))
    assert Archive(str(tmp_path / "elsewhere")).entries() == Archive(archive).entries()
    run_proctor("export", "all", "--to", str(tmp_path / "all.csv"), "--archive", archive)
    assert says().within(capsys.readouterr().out)
    with (tmp_path / "all.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["criterion.asks"]) for row in rows] == [("day-two", "1"), ("day-one", "1")]
    from pyarrow import parquet

    run_proctor("export", "all", "--to", str(tmp_path / "all.parquet"), "--archive", archive)
    assert parquet.read_table(tmp_path / "all.parquet").column("score").to_pylist() == [3, 3]
    run_proctor("export", "day-one", "--to", str(tmp_path / "one.html"), "--archive", archive)
    assert says(size=re.compile(r"\d+(?= kB)")).within(capsys.readouterr().out)
    assert "News of turn 2" in (tmp_path / "one.html").read_text()
    for to in ("x.pdf", "no/where.csv"):
        with pytest.raises(UsageError, check=says(to)):
            run_proctor("export", "all", "--to", to, "--archive", archive)
    with pytest.raises(UsageError, check=says()):
        run_proctor("import", str(tmp_path / "nothing"), "--archive", archive)


def test_an_assessment_is_exported_with_the_entry_of_each_participant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, draft = Archive(str(tmp_path / "archive")), Archive(str(tmp_path / "draft"))
    day, roles = write_day(draft, "pair"), ["ana", "ben"]
    files = {name: draft.read(day, name) for name in day.files}
    contents = {name: draft.read_content(day, name) for name in day.contents}
    for name in ("pair", "pair--ana", "pair--ben"):
        kept.write(day.model_copy(update={"id": name, "roles": roles if name == "pair" else []}), files, contents)
    for number, chosen in enumerate((["all"], ["pair"])):
        there, other = str(tmp_path / f"there-{number}"), str(tmp_path / f"other-{number}")
        run_proctor("export", *chosen, "--to", there, "--archive", kept.folder.root)
        run_proctor("import", there, "--archive", other)
        assert capsys.readouterr().out.count("1 assessment ") == 2
        assert {entry.id for entry in Archive(other).entries()} == {"pair", "pair--ana", "pair--ben"}
    run_proctor("export", "all", "--to", str(tmp_path / "all.csv"), "--archive", kept.folder.root)
    assert "1 row of" in capsys.readouterr().out
    run_proctor("export", "pair--ana", "--to", str(tmp_path / "part"), "--archive", kept.folder.root)
    assert "1 assessment written" in capsys.readouterr().out


def test_campaigns_and_trials(archive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list shows campaigns and not all that is of them; a short name is the campaign's, not its trials'."""
    write_campaign(Archive(archive), "campaign-1")
    write_run(Archive(archive), "run-1", tasks=1, attempts=3, doubtful=1)
    run_proctor("list", "--archive", archive)
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines()[1:5]] == ["run-1", "day-two", "day-one", "campaign"]
    assert "mean 62.0%" in said
    assert "40 of 42" in said
    assert says().within(said)
    run_proctor("list", "--archive", archive, "--campaign", "run-1")
    said = capsys.readouterr().out
    assert "run-1.sort-log.1" in said
    assert "not resolved" in said

    run_proctor("show", "run-", "--archive", archive)
    said = capsys.readouterr().out
    assert "Accuracy: 66.67% (2 resolved, 1 not)" in said
    assert says("50.0%", "33.3%", "66.7%").within(said)
    assert "sort-log attempt 1: resolved, doubtful" in said
    run_proctor("show", "campaign-1", "--archive", archive)
    said = capsys.readouterr().out
    assert re.search(r"^careful +\d", said, re.MULTILINE)
    assert "passed: " in said
    run_proctor("show", "run-1.sort-log.3", "--archive", archive)
    said = capsys.readouterr().out
    assert says().within(said)
    assert "failed: test_counts" in said
    assert says("98").within(said)
    run_proctor("show", "run-1.sort-log.1", "--archive", archive)
    said = " ".join(capsys.readouterr().out.split())
    assert says().within(said)
    assert says("conftest.py").within(said)
    run_proctor("show", "campaign-1", "--archive", archive, "--json")
    assert json.loads(capsys.readouterr().out)["campaign_id"] == "campaign-1"

    capsys.readouterr()
    run_proctor("export", "run-1", "--to", str(tmp_path / "run"), "--archive", archive)
    assert says().within(capsys.readouterr().out)
    assert {entry.id for entry in Archive(str(tmp_path / "run")).entries()} == {
        "run-1", *(f"run-1.sort-log.{n}" for n in (1, 2, 3)),
    }  # fmt: skip
    run_proctor("export", "run-1", "--to", str(tmp_path / "run.csv"), "--archive", archive)
    assert "3 rows of " in capsys.readouterr().out, "the campaign is no row"
    with (tmp_path / "run.csv").open() as file:
        assert sorted(row["earned"] for row in csv.DictReader(file)) == ["0.5", "1.0", "1.0"]
    run_proctor("export", "campaign-1", "--to", str(tmp_path / "campaign.html"), "--archive", archive)
    assert "Pairs of agents" in (tmp_path / "campaign.html").read_text()
    with pytest.raises(UsageError, check=says()):
        run_proctor("compare", "day-one", "run-1", "--archive", archive)


def test_a_name_that_a_spreadsheet_would_compute_is_text(tmp_path: Path) -> None:
    kept = Archive(str(tmp_path / "archive"))
    write_day(kept, "evil", text='=HYPERLINK("http://elsewhere.example")')
    run_proctor("export", "evil", "--to", str(tmp_path / "evil.csv"), "--archive", kept.folder.root)
    with (tmp_path / "evil.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["participant"].startswith("'=")


def test_prune_removes_checkpoints_apart_from_results(
    archive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = BlobStore(str(tmp_path / "storage"))
    old, new = store.put_blocking(b"old"), store.put_blocking(b"new")
    long_ago = time.time() - 40 * 86_400
    os.utime(tmp_path / "storage" / old.sha256[:2] / old.sha256[2:], (long_ago, long_ago))

    with pytest.raises(UsageError, check=says()):
        run_proctor("prune", "--older-than", "1d", "--yes", "--archive", archive)
    with pytest.raises(UsageError, check=says("--yes")):
        run_proctor("prune", "--older-than", "30d", "--results", "--archive", archive)
    said = capsys.readouterr().out
    assert says(day=re.compile(r"20\d\d-\d\d-\d\d")).within(said)
    assert "2 entries" in said
    assert store.get_blocking(old) == b"old"

    run_proctor("prune", "--older-than", "30d", "--yes", "--archive", archive)
    assert "removed" in capsys.readouterr().out
    assert store.get_blocking(new) == b"new"
    with pytest.raises(LookupError):
        store.get_blocking(old)
    assert len(Archive(archive).entries()) == 2
    run_proctor("prune", "--older-than", "30d", "--results", "--yes", "--archive", archive)
    assert Archive(archive).entries() == []


def test_schema(capsys: pytest.CaptureFixture[str]) -> None:
    run_proctor("schema", "turns.jsonl")
    assert json.loads(capsys.readouterr().out)["title"] == "TurnRecord"
    with pytest.raises(CommandError, check=says("nothing", "entry.json")):
        run_proctor("schema", "nothing")


def test_schemas_of_the_wire(capsys: pytest.CaptureFixture[str]) -> None:
    run_proctor("schema", "turn_complete", "--wire")
    assert json.loads(capsys.readouterr().out)["properties"]["actions"]["type"] == "array"
    run_proctor("schema", "--wire")
    known = json.loads(capsys.readouterr().out)
    assert list(known)[:3] == ["assessment_start", "turn_start", "assessment_complete"]
    assert {"early_completion", "assessment_request", "update_turn_completed", "assessment_results"} <= set(known)
    with pytest.raises(UsageError, check=says("--wire")):
        run_proctor("schema", "turn_complete")


def test_an_unknown_group_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--by nonsense"):
        run_proctor("compare", "a", "b", "--archive", str(tmp_path), "--by", "nonsense")
