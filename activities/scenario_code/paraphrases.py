r"""Paraphrases: lists of sentences in which people state a fact. Patterns are checked against them.

A scenario's author keeps them in ``paraphrases/authors/*.txt`` (or ``paraphrases/*.txt``), and writes patterns that fit
them. ``paraphrases/audit/*.txt`` has lines by other people, which only measure the patterns' error.

    [incident_over]
    # A remark.
    + The incident ended at 13:32.
    - I'll send the all-clear as soon as I have it.
    +? The booking API is stable again.

A line with ``+`` states the fact; a line with ``-`` doesn't. ``?`` after the sign marks a line that patterns can't
decide, which has to be a doubt. ``!`` marks a line that patterns get wrong, which is a known fault. ``\n`` is a line
end in the text. Facts with the same phrasings share a list: ``[thanks_ann, thanks_ben]``.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import BaseModel

from proctor.language.facts import Answer, Patterns
from proctor.language.patterns import compiled
from proctor.protocol.scenario import RubricCheck, ScenarioConfig
from purple_sdk.protocol.json_safe import Sentence

FOLDER = "paraphrases"
AUTHORS, AUDIT = "authors", "audit"
"""The two folders: lines for which patterns are written, and lines that only measure the patterns' error."""
FEWEST_RIGHT, FEWEST_WRONG = 15, 10

_LINE = r"\A(?P<sign>[+-])(?P<mark>[?!]?) (?P<text>.+)\z"


class ParaphrasesError(ValueError):
    """A file of paraphrases that can't be read; the message names file, line and remedy."""


@dataclass(frozen=True)
class Paraphrase:
    """A sentence that states a fact, or one that doesn't. ``mark`` is ``?`` (patterns can't decide it), ``!`` (patterns
    get it wrong), or empty.
    """

    where: str
    fact: str
    is_right: bool
    mark: str
    text: str

    @property
    def expected(self) -> Answer:
        return None if self.mark == "?" else self.is_right != (self.mark == "!")


class Audited(BaseModel):
    """Results of one fact's patterns on held-out lines: counts, without the lines.

    Attributes:
        fact: its name.
        right, wrong: the numbers of lines that state the fact, and of lines that don't.
        missed: how many of the lines that state the fact the patterns reject.
        invented: how many of the other lines the patterns accept.
        doubtful: how many lines the patterns can't decide.
    """

    fact: str
    right: int = 0
    wrong: int = 0
    missed: int = 0
    invented: int = 0
    doubtful: int = 0

    @property
    def lines(self) -> int:
        return self.right + self.wrong

    @property
    def misread(self) -> int:
        return self.missed + self.invented


class Held(BaseModel):
    """Results of some facts' patterns: counts of lines, and sentences about faults.

    ``statements`` are the facts in words, as models get them, by the facts' names.
    """

    facts: int = 0
    lines: int = 0
    doubtful: int = 0
    misread: int = 0
    faults: list[Sentence] = []
    audited: list[Audited] = []
    statements: dict[str, str] = {}

    @property
    def uncertain_share(self) -> float:
        """The share of lines that patterns can't decide or get wrong."""
        return (self.doubtful + self.misread) / self.lines if self.lines else 0.0


def read_paraphrases(directory: Path, folder: str = AUTHORS) -> list[Paraphrase]:
    """Read the paraphrases of a scenario, in order of files and lines; empty if it ships none. ``folder`` is
    ``AUTHORS`` or ``AUDIT``. Raises ``ParaphrasesError`` if a line isn't a paraphrase.
    """
    paraphrases = []
    paths = sorted((directory / FOLDER / folder).glob("*.txt"))
    if folder == AUTHORS:
        paths += sorted((directory / FOLDER).glob("*.txt"))
    for path in paths:
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeError) as error:
            raise ParaphrasesError(f"{path.name} can't be read: {error}") from None
        facts: list[str] = []
        for number, line in enumerate(map(str.strip, lines), 1):
            if not line or line.startswith("#"):
                continue
            if line.startswith("[") and line.endswith("]"):
                facts = [name.strip() for name in line[1:-1].split(",") if name.strip()]
                continue
            where = f"{path.name}, line {number}"
            match = compiled(_LINE).search(line)
            if match is None:
                raise ParaphrasesError(f"{where}: {line[:60]!r}: begin a line with +, -, +?, -?, +! or -! and a space")
            if not facts:
                raise ParaphrasesError(f"{where}: no fact is named before it: write [NAME] on a line of its own")
            text = match.group("text").strip().replace("\\n", "\n")
            paraphrases += [
                Paraphrase(where, fact, match.group("sign") == "+", match.group("mark"), text) for fact in facts
            ]
    return paraphrases


def patterns_of_checks(scenario: ScenarioConfig) -> dict[str, Patterns]:
    """Return the patterns of rubrics' checks, by criterion and item (``courtesy.sorry``)."""
    return {
        f"{criterion.criterion_id}.{item.id}": partial(_told_by_check, item.check, scenario)
        for criterion in scenario.criteria
        for item in criterion.rubric or ()
        if item.check is not None and item.check.test is not None
    }


def _told_by_check(check: RubricCheck, scenario: ScenarioConfig, text: str) -> Answer:
    return check.answer(scenario.read(text))


def hold(paraphrases: Iterable[Paraphrase], patterns: Mapping[str, Patterns], by_model: Collection[str] = ()) -> Held:
    """Check patterns against paraphrases.

    Args:
        paraphrases: the scenario's paraphrases.
        patterns: the patterns of the facts, by the facts' names.
        by_model: facts without patterns; their paraphrases are cases for a model.

    Returns:
        Counts, and sentences: for each line that contradicts its mark, each fact with too few lines, and each unknown
            fact.
    """
    held, by_fact = Held(facts=len(patterns)), dict[str, list[Paraphrase]]()
    for paraphrase in paraphrases:
        by_fact.setdefault(paraphrase.fact, []).append(paraphrase)
    for fact, lines in by_fact.items():
        if fact in by_model:
            continue
        if fact not in patterns:
            held.faults.append(f"{lines[0].where}: the scenario has no fact {fact!r}: it has {', '.join(patterns)}")
            continue
        for line in lines:
            answer = patterns[fact](line.text)
            held.lines += 1
            held.doubtful += answer is None
            held.misread += answer is not None and answer != line.is_right
            if answer != line.expected:
                held.faults.append(f"{line.where}: {fact}: {_describe_error(line, answer)}: {line.text[:100]!r}")
    for fact in patterns:
        right = sum(line.is_right for line in by_fact.get(fact, ()))
        wrong = len(by_fact.get(fact, ())) - right
        if right < FEWEST_RIGHT or wrong < FEWEST_WRONG:
            held.faults.append(
                f"{fact} has {right} right and {wrong} wrong paraphrases: write at least {FEWEST_RIGHT} and "
                f"{FEWEST_WRONG}, as different people would say it"
            )
    return held


def audit(paraphrases: Iterable[Paraphrase], patterns: Mapping[str, Patterns]) -> list[Audited]:
    """Measure the error of each fact's patterns on held-out lines. Lines of facts that ``patterns`` doesn't name are
    left out.
    """
    by_fact: dict[str, Audited] = {}
    for line in paraphrases:
        if line.fact not in patterns:
            continue
        counts, answer = by_fact.setdefault(line.fact, Audited(fact=line.fact)), patterns[line.fact](line.text)
        counts.right += line.is_right
        counts.wrong += not line.is_right
        counts.doubtful += answer is None
        counts.missed += line.is_right and answer is False
        counts.invented += not line.is_right and answer is True
    return [by_fact[fact] for fact in patterns if fact in by_fact]


_ANSWERS = {True: "patterns find it", False: "patterns don't find it", None: "patterns are in doubt"}


def _describe_error(line: Paraphrase, answer: Answer) -> str:
    if line.mark and answer == line.is_right:
        return f"marked {line.mark}, and patterns tell it right: take the mark away"
    expectation = "says it" if line.is_right else "doesn't say it"
    return f"{expectation}, and {_ANSWERS[answer]}"
