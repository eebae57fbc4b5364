"""Worlds: the same from the same draws everywhere, in their sizes, with a background that keeps out of the way."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from itertools import combinations
from statistics import median
from typing import Any

import pytest

from proctor.scenarios.kit.making.draws import Draws
from proctor.scenarios.kit.making.voices import SERVICE
from proctor.scenarios.kit.making.worlds import FREE_FROM, FREE_UNTIL, Size, World, make_world
from tests.work import NIGHTLY, only_nightly

SEEDS = range(12)
FINGERPRINT = """
import hashlib
from proctor.scenarios.kit.making.draws import Draws
from proctor.scenarios.kit.making.worlds import make_world
print(hashlib.sha256(repr(make_world(Draws("hash", 3), "S")).encode()).hexdigest())
"""


def small(seed: int, **wishes: object) -> World:
    return make_world(Draws("worlds", seed), "S", **wishes)  # type: ignore[arg-type]


@cache
def sized(size: Size) -> World:
    return make_world(Draws("sized"), size)


def grams(world: World) -> set[tuple[str, ...]]:
    bodies = (record.body.split() for record in world.records)
    return {tuple(words[place : place + 8]) for words in bodies for place in range(len(words) - 7)}


def test_a_world_is_the_same_whatever_the_hash_seed() -> None:
    def printed(hash_seed: str) -> str:
        environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)}
        command = [sys.executable, "-c", FINGERPRINT]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert printed("1") == printed("2") != ""


def test_other_draws_make_another_world() -> None:
    assert small(1) == small(1)
    assert small(1) != small(2)


@pytest.mark.parametrize(
    ("size", "mails", "fewest", "most"),
    [("S", 60, 12, 20), ("M", 500, 60, 60), pytest.param("L", 3000, 300, 300, marks=only_nightly)],
)
def test_sizes(size: Size, mails: int, fewest: int, most: int) -> None:
    world = sized(size)
    kinds = Counter(record.kind for record in world.records)
    assert kinds["mail"] == pytest.approx(mails, rel=0.05)
    assert min(kinds["text"], kinds["entry"]) >= mails * 0.08
    assert fewest <= len(world.people) <= most
    span = world.start - min(record.at for record in world.records if record.kind == "mail")
    assert span <= timedelta(days={"S": 14, "M": 35, "L": 368}[size])


@pytest.mark.parametrize(("size", "most"), [("S", 6_000), ("M", 45_000)])
def test_a_world_costs_few_hashes(size: Size, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hash is 3 µs and most of the work: L costs what six M do."""
    hashes = Counter[str]()
    below, shuffled = Draws.below, Draws.shuffled

    def counted_below(self: Draws, bound: int, *name: str | int) -> int:
        hashes["below"] += 1
        return below(self, bound, *name)

    def counted_shuffled(self: Draws, options: Sequence[Any], *name: str | int) -> list[Any]:
        hashes["shuffled"] += len(options)
        return shuffled(self, options, *name)

    monkeypatch.setattr(Draws, "below", counted_below)
    monkeypatch.setattr(Draws, "shuffled", counted_shuffled)
    make_world(Draws("work"), size)
    assert 0 < hashes.total() < most


@pytest.mark.parametrize("size", ["S", "M", pytest.param("L", marks=only_nightly)])
def test_people_can_be_told_apart(size: Size) -> None:
    world = sized(size)
    people = world.everyone
    assert len({person.first for person in people}) == len(people)
    assert not any(one.first.startswith(two.first) for one, two in combinations(people, 2))
    addresses = [address for person in (*people, *world.services) for address in person.addresses]
    assert len(addresses) == len(set(addresses))
    assert all(person.email.isascii() and person.email.endswith(".example") for person in (*people, *world.services))


def test_telephone_numbers_are_those_kept_for_films() -> None:
    german = "(?:3023125|6990009|4066969|2214710|8999998)"
    kept = rf"\+447700900\d{{3}}|\+3532091\d{{5}}|\+1\d{{3}}55501\d\d|\+49{german}\d{{3}}|\+3363998\d{{4}}"
    people = sized("L" if NIGHTLY else "M").everyone
    numbers = [person.phone for person in people if person.phone]
    assert len(numbers) > (250 if NIGHTLY else 40)
    assert [number for number in numbers if not re.fullmatch(kept, number)] == []


def test_the_share_of_german_writers_can_be_chosen() -> None:
    assert {person.language for person in small(1, language_mix=0).people} == {"en"}
    languages = Counter(p.language for p in make_world(Draws("german"), "M", language_mix=0.5).people)
    assert 18 <= languages["de"] <= 42


@pytest.mark.parametrize("seed", SEEDS)
def test_a_day_starts_in_the_morning_of_a_working_day(seed: int) -> None:
    start = small(seed).start
    assert start.weekday() < 5
    assert "08:00" <= f"{start:%H:%M}" <= "09:00"
    assert 2026 <= start.year <= 2029
    assert start.utcoffset() is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_the_background_lies_before_the_day_and_leaves_it_free(seed: int) -> None:
    world = small(seed)
    assert all(record.at <= world.start for record in world.records)
    assert len({record.id for record in world.records}) == len(world.records)
    assert all(re.fullmatch("[0-9a-f]{12}", record.id) for record in world.records)
    midnight = world.start.replace(hour=0, minute=0)
    ahead = [record for record in world.records if record.end and record.end > midnight]
    for entry in ahead:
        assert entry.start
        assert entry.end
        assert entry.end.time() <= FREE_FROM or entry.start.time() >= FREE_UNTIL
        assert entry.readers == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_background_asks_for_nothing_and_costs_little(seed: int) -> None:
    world = small(seed)
    amounts = r"[€£$]\s?([\d.,]+)|([\d.,]+) ?(?:EUR|GBP|USD|€|eur|gbp|usd)"
    for record in world.records:
        assert not re.search(r"(?i)could you|can you|please (?:send|reply|confirm)|kannst du|können Sie", record.body)
        for found in re.finditer(amounts, record.body):
            amount = (found[1] or found[2]).replace(",", ".").strip(".")
            assert 2 < float(amount) < 10
            assert not float(amount).is_integer()


def test_folders_and_read_flags_fit_the_age_of_a_mail() -> None:
    world = sized("M")
    mails = [record for record in world.records if record.kind == "mail"]
    folders = Counter(mail.fields["folder"] for mail in mails)
    assert folders["archive"] > folders["inbox"] > 20
    assert all((mail.author == world.user) == (mail.fields["folder"] == "sent") for mail in mails)
    assert all(mail.fields["is_read"] for mail in mails if mail.fields["folder"] != "inbox")
    fresh = [mail for mail in mails if world.start - mail.at < timedelta(hours=20) and mail.author != world.user]
    assert any(not mail.fields["is_read"] for mail in fresh)


def test_replies_belong_to_their_threads() -> None:
    mails = {record.id: record for record in sized("M").records if record.kind == "mail"}
    replies = [mail for mail in mails.values() if mail.reply_to]
    assert len(replies) > 50
    for mail in replies:
        before = mails[mail.reply_to or ""]
        assert before.thread == mail.thread
        assert before.at < mail.at
        assert mail.author in before.readers
        assert mail.title.split(": ")[0] in ("Re", "AW")


def test_services_are_no_people() -> None:
    world = small(3)
    assert {service.role for service in world.services} == {SERVICE}
    assert not set(world.services) & set(world.people)


def test_two_worlds_share_few_sentences() -> None:
    for size, most in (("S", 0.05), ("M", 0.1)):
        sets = [grams(make_world(Draws("share", seed), size)) for seed in range(4)]  # type: ignore[arg-type]
        assert median(len(one & two) / min(len(one), len(two)) for one, two in combinations(sets, 2)) <= most


def test_each_part_is_played_by_somebody_else() -> None:
    world, draws = small(5), Draws("parts")
    parts = {key: world.cast(draws, key, relation="colleague") for key in ("host", "guest", "chair")}
    assert len({person.email for person in parts.values()}) == 3
    assert {person.relation for person in parts.values()} == {"colleague"}
    assert world.cast(draws, "host") is parts["host"]


def test_more_parts_than_people_bring_newcomers() -> None:
    world = small(5)
    managers = [world.cast(Draws("many"), f"manager-{number}", relation="manager") for number in range(4)]
    assert len({person.email for person in managers}) == len({person.first for person in managers}) == 4
    assert {person.relation for person in managers} == {"manager"}
    assert len(world.everyone) == len(world.people) + 1 + 3


def test_ids_are_drawn() -> None:
    assert Draws("a").hex(12, "id") == Draws("a").hex(12, "id") != Draws("b").hex(12, "id")
