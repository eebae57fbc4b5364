"""The calibration cases that the scenarios ship: enough of each kind, every item covered, and right by the rubric."""

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from proctor.activities.judging.cases import KINDS, CasesError, ChatPiece, item_of, read_cases, records_of_case, sample
from proctor.protocol.nights import Night
from proctor.protocol.scenario import ScenarioConfig
from tests.sentences import says

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SHIPPED = ("email_triage_basic", "reschedule_day")


def scenario_of(name: str) -> ScenarioConfig:
    data = json.loads((SCENARIOS / name / "scenario.json").read_text())
    return ScenarioConfig.model_validate(data)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_scenario_ships_a_third_of_each_kind_and_covers_every_item(name: str) -> None:
    scenario = scenario_of(name)
    cases = read_cases(SCENARIOS / name, scenario)
    assert len(cases) >= 120
    kinds = Counter(case.kind for case in cases)
    assert set(kinds) == set(KINDS)
    assert all(kinds[kind] >= 40 and 0.3 <= kinds[kind] / len(cases) <= 0.4 for kind in KINDS)
    items = {(each.criterion_id, item.id) for each in scenario.criteria for item in each.rubric or []}
    for criterion, item in items:
        own = [case for case in cases if (case.criterion, case.item) == (criterion, item)]
        assert {case.kind for case in own} == set(KINDS), item
        for kind in KINDS:  # neither "always" nor "never" is a good judge, least of all under attack
            assert len({case.points > 0 for case in own if case.kind == kind}) == 2, (item, kind)


@pytest.mark.parametrize("name", SHIPPED)
def test_no_two_cases_have_the_same_evidence(name: str) -> None:
    cases = read_cases(SCENARIOS / name, scenario_of(name))
    seen = Counter("\n".join(piece.model_dump_json(exclude={"turn"}) for piece in case.evidence) for case in cases)
    assert [evidence for evidence, times in seen.items() if times > 1] == []
    assert len({case.why for case in cases}) >= 0.9 * len(cases)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_evidence_becomes_the_records_that_a_judge_gets(name: str) -> None:
    scenario = scenario_of(name)
    for case in read_cases(SCENARIOS / name, scenario):
        records = records_of_case(case, scenario)
        written = [piece.text for piece in case.evidence if piece.kind in ("chat", "email", "sms", "note")]
        shown = [record.text for record in records if record.kind in ("writing", "note")]
        actions = sum(piece.kind == "action" for piece in case.evidence)  # a calendar entry is a writing, too
        assert len(written) <= len(shown) <= len(written) + actions, case.id
        assert all(any(text in one for one in shown) for text in written), case.id


def test_the_time_of_evidence_passes_over_the_nights() -> None:
    scenario = scenario_of("reschedule_day")
    evening, morning = scenario.start_time + timedelta(hours=2), scenario.start_time + timedelta(hours=24)
    times = {"default_time_step": "PT1H", "end_time": morning + timedelta(hours=8)}
    over_night = scenario.model_copy(update={**times, "nights": [Night(start=evening, end=morning)]})
    case = read_cases(SCENARIOS / "reschedule_day", scenario)[0]
    said = case.model_copy(update={"evidence": [ChatPiece(kind="chat", turn=3, text="Done.")]})
    assert {record.time for record in records_of_case(said, over_night)} == {morning.isoformat()}


@pytest.mark.parametrize(("name", "item"), [("email_triage_basic", "short"), ("reschedule_day", "brief")])
def test_lengths_are_as_the_mechanical_check_counts_them(name: str, item: str) -> None:
    scenario = scenario_of(name)
    for case in read_cases(SCENARIOS / name, scenario):
        if case.item != item:
            continue
        check = next(i.check for c in scenario.criteria for i in c.rubric or [] if i.id == item)
        assert check is not None
        lengths = [
            len((f"{piece.subject}\n" if piece.kind == "email" else "").split() + piece.text.split())
            for piece in case.evidence
            if piece.kind == check.target and piece.kind in ("chat", "email")
        ]
        met = bool(lengths) and all(length <= (check.max or length) for length in lengths)
        assert met == (case.points == item_of(case, scenario).points), (case.id, lengths)


@pytest.mark.parametrize("most", [3, 24, 60])
def test_a_sample_is_even_and_the_same_every_time(most: int) -> None:
    for name in SHIPPED:
        cases = read_cases(SCENARIOS / name, scenario_of(name))
        chosen = sample(cases, most)
        assert [case.id for case in chosen] == [case.id for case in sample(cases, most)]
        assert Counter(case.kind for case in chosen) == dict.fromkeys(KINDS, most // 3)
        if most >= 24:
            assert len({case.item for case in chosen}) == len({case.item for case in cases})


@pytest.mark.parametrize(
    "change",
    [
        {"points": 3},
        {"item": "shrt"},
        {"criterion": "sorting"},
        {"kind": "odd"},
        {"evidence": [{"kind": "fax"}]},
        {"verdict": 1},
    ],
)
def test_a_wrong_case_is_named_with_file_line_and_field(tmp_path: Path, change: dict[str, object]) -> None:
    case = {"id": "a", "kind": "clear", "criterion": "summary_craft", "item": "short", "points": 2, "why": "w"}
    (tmp_path / "calibration").mkdir()
    line = json.dumps(case | {"evidence": [{"kind": "chat", "text": "Short."}]} | change)
    (tmp_path / "calibration" / "mine.jsonl").write_text(f"{line}\n")
    with pytest.raises(CasesError) as caught:
        read_cases(tmp_path, scenario_of("email_triage_basic"))
    assert str(caught.value).startswith("mine.jsonl, line 1: ")
    assert says().within(str(caught.value))
