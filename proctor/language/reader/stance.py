"""Decide how each statement of a text is meant: asserted, proposed, denied, doubted, retracted, asked.

A sentence is cut into clauses. A denial or a doubt reaches from its word to the end of its clause. "Is wrong" and
"won't work" reach back to the beginning of their clause; after "that", "this" or "which", also to the clause before.
"Forget what I said" retracts all before it. The lists of words follow usage; honest mails showed the idioms to skip.
"""

import re
from bisect import bisect_left, bisect_right
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Literal

from proctor.language.patterns import compiled, has_match

Stance = Literal["asserted", "proposed", "denied", "doubted", "retracted", "asked"]

# Clauses and sentences have many ends, and a match costs less in Python's patterns than in RE2's. All repetitions in
# these patterns are bounded, so their search is linear, too. Each begins with its signs, which are found fast.
_CLAUSE_END = re.compile(
    r"[.!?;:,\s()|](?:"
    r"(?<=[\n()|])"
    r"|(?<=[,:])\s"
    r"|(?<=\s)(?=[-=abdhjstuvw])(?:-{1,2}\s|[=-]>\s"
    r"|(?P<word>but|however|although|though|whereas|sondern|aber|jedoch|stattdessen|vielmehr|because|since|weil|denn)\b"
    r"|(?P<join>and|und)\s(?:the|it|it's|he|she|they|we|i|you|that|this|your|my|please|es|er|sie|wir|ich|der|die|das|bitte"
    r"|will|is|are|has|have|am|moved|changed|started|starts|now)\b)"
    r"|(?<=[.!?;])(?:[\s\"')*\]]|\Z))",
    re.ASCII,
)
_SENTENCE_END = re.compile(r"[.!?\n](?:(?<=\n)|[\s\"')*\]]|\Z)", re.ASCII)
_PARENTHETIC = (
    *(
        "under ",
        "in any ",
        "whatever",
        "please,",
        "ever,",
        "at all",
        "of course",
        "by the way",
        "i repeat",
        "for heaven",
        "unter ",
    ),
    *("auf keinen", "in keinem", "bitte,", "in no way"),
)
"""The beginnings of asides between commas; their commas don't end a clause: "do not, under any circumstances, pay
…"."""
_IDIOM = (
    r"\b(?:(?:instead of|in place of|rather than|statt|anstelle) (?:him|her|me|them|it|you|us|that|this|ihm|ihr|ihrer|seiner|meiner)"
    r"|not (?:quite|even|far|long|much|only|just|later than|before|until|least|to mention|included|yet started|surprising(?:ly)?|far from)"
    r"|no (?:later than|earlier than|sooner than|less than|more than|problem\w*|worries|doubt|question|need|matter|change\w*"
    r"|objections?|hurry|rush|action|reply|further|other|one else|reason)"
    r"|(?:(?:do|does|did|has|have|will|is|are)(?: not|n't|nt)|won't|wont)"
    r"\s(?:forget|hesitate|worry|miss|mind|be late|be afraid|change\w*|moved?|need|affect\w*|have to|think|want|fear|lose"
    r"|expect|wait|touch\w*|alter\w*|differ\w*|found any|find any|seen any|see any|include\w*|share\w*|shared|tell|told)"
    r"|(?:can't|cannot|can not|couldn't) (?:wait|share|tell|give|disclose|say more|say anything|be moved|change|find any\w*)"
    r"|nothing (?:else|more|has changed|changed|changes)|(?:whether|why|if|or) not\b|not a problem|not at all|not in doubt"
    r"|nicht (?:nur|vor|später|spaeter|vergessen|mehr als|weniger|länger als|geändert|zuletzt)|kein(?:e|en)? (?:problem|sorge|änderung\w*|zweifel|frage)"
    r"|nichts (?:weiter|anderes|geändert|weiteres)|noch nicht|not (?:affected|changed|moved)|unchanged)\b"
)
_DENIAL = (
    r"\b(?:not|never|cannot|cant|dont|isnt|wasnt|neither|nobody|no one|anybody but|anyone but|everybody but|everyone but|all but"
    r"|nothing to do with|far from|on no account|pay no heed to|excepted|out of the question|wrongly|mistakenly|keinesfalls|keineswegs|unter keinen umständen|auf keinen fall|least of all|nor|no longer|no more|anything but|instead of|rather than|in place of"
    r"|other than|as opposed to|stop using|refuse to|avoid|incorrect|wrong|false|fake|fraudulent|outdated|obsolete|former|formerly"
    r"|originally|initially|previously|used to be|disregard|ignore|forget|nicht|nie|niemals|kein(?:e|en|er|es|em)?|statt (?:de[rsmn]|eine[rsm]|am|um|mit|in|ihre[rsm]|[a-z]{0,3}[0-9]+\w*)|anstatt"
    r"|anstelle|weder|falsch\w*|gefälscht\w*|veraltet\w*|ehemals|ursprünglich\w*|bisher\w*|früher|vorher|moved? from|changed? from|up from"
    r"|down from|corrected from|replaces|replacing|replaced|supersed\w+|ersetzt|von bisher)\b|n't\b"
)
_BACK = (
    r"\b(?:is|are|was|were|'s|be|seems?|looks?|has been|have been)\s(?:(?:definitely|certainly|simply|just|in fact|now|also|all"
    r"|of course|probably|clearly)\s)?(?:(?:not|n't|never|no longer|hardly)\s(?:the\s|a\s|really\s|at all\s|actually\s)?"
    r"(?:right|correct|true|valid|accurate|it|what|possible|available|happening|in use|current|the case|our|your|mine|real|genuine"
    r"|good|ok|okay|suitable|free|any more|anymore|on)|wrong|false|incorrect|invalid|outdated|out of date|obsolete|void|fake|a fake"
    r"|a scam|a fraud|fraudulent|a mistake|an error|nonsense|untrue|a lie|no good|off the table|a rumou?r|only a rumou?r|just a rumou?r"
    r"|a joke|made up[.!,;]|rubbish|a typo|a slip|cancelled|canceled|called off|just an example|only an example|(?:only|just) an idea)\b"
    r"|\b(?:is|are|was|were|'s|be)\s(?:definitely |certainly |simply |just |in fact |now |of course |probably |clearly )?not(?:[.!,;]|\z)"
    r"|\bnever promised\b|\b(?:does|do|did)(?: not|n't) \w+ (?:it |them |that )?any ?more\b"
    r"|\bwas (?:once |formerly )?(?:the|our|their|its|der|die|das) (?:old |former )?(?:file|code|number|price|cost|account|reference|zollcode|nummer|preis)"
    r"|\b(?:is|was) (?:pure|an|just an) invention\b|\b(?:is|ist|war) (?:frei|nur) erfunden\b|\bis (?:just|only) a cover\b|\bused to be\b"
    r"|\b(?:does not|doesn't) exist\b|\bgibt es nicht\b|\b(?:is|are)\s(?:excepted|out of the question)\b|\bfell through\b|\bexcepted\b|\bauf (?:gar )?keinen fall\b|\bkeinesfalls\b|\btippfehler\b|\b(?:certainly|definitely) (?:won't|not)\b"
    r"|\b(?:isn't|aren't|wasn't|weren't)\s(?:the\s|a\s|really\s)?(?:right|correct|true|valid|accurate|it|what|possible|available"
    r"|happening|in use|current|the case|our|your|mine|real|genuine|good|ok|okay|suitable|free)\b"
    r"|\b(?:can't|cant|cannot)\s(?:be right|be true|be correct|hold)\b|\b(?:is|are|was)\s(?:already\s|now\s)?(?:taken|impossible|busy|full|blocked|away|already booked)\b"
    r"|\b(?:won't|wont|doesn't|doesnt|does not|will not|didn't|did not|don't|do not)\s(?:work|hold|apply|suit|fit"
    r"|be right|be true|be correct|exist|count|happen)\b"
    r"|\bno longer\s(?:holds|applies|stands|valid|correct|true|works|current|counts)\b"
    r"|\b(?:gilt|stimmt|passt|geht|zählt|klappt)\s(?:so\s|leider\s|doch\s)?nicht\b|\bist\s(?:falsch|überholt|veraltet|ungültig|hinfällig|eine fälschung)"
    r"|\bentfällt\b|\b(?:clash|clashes|conflicts?|collides?)\s(?:with|mit)\b|\bkollidiert\b"
)
_DOUBT = (
    r"\b(?:should (?:anybody|anyone|somebody|someone) have|maybe|perhaps|possibly|might|could be|may be|may or may not|not sure|unsure|uncertain|no idea (?:what|which|when|where|who|if|whether|yet)|don't know|do not know"
    r"|doesn't know|cannot confirm|can't confirm|couldn't confirm|could not confirm|unconfirmed|unverified|allegedly|supposedly|rumou?rs?"
    r"|rumou?red|guess|guessing|guesses|presumably|something like|if i remember|i doubt|doubtful|hypothetical\w*|suppose|supposing"
    r"|let's pretend|let's say for the sake|imagine(?:d)? (?:if|that|for)|as if|if it were|if it was|i would have|ich hätte|yeah,? right|would have been|should have been|was meant to be"
    r"|wouldn't bet|would not bet|hearsay|gossip|pretend|take (?:it|this) with a|vielleicht|möglicherweise|eventuell|unsicher"
    r"|nicht sicher|keine ahnung|weiß nicht|weiss nicht|angeblich|gerücht\w*|vermutlich|angenommen|könnte sein|mal angenommen|falls)\b"
)
_DOUBT_AFTER = (
    r"\b(?:(?:i'm|i am|am) (?:not sure|guessing|only guessing)|don't (?:quote me|hold me|rely on (?:it|this|that|me|my|these|the)|take my word)|do not (?:rely on (?:it|this|that|me|my|these|the)|quote me)"
    r"|(?:i )?(?:could|may|might) (?:well )?be (?:wrong|mistaken)|no guarantee|or (?:maybe|perhaps) not|or something|or so i (?:heard|think)"
    r"|i (?:just )?made (?:that|it|this) up|just a guess|only a guess|ohne gewähr|bin (?:mir )?(?:nicht|un)\s?sicher)\b"
)
_RETRACTION = (
    r"\b(?:scratch|strike|cross) (?:that|this|it)(?: out)?\b|\b(?:tear up|throw away|bin|shred|strike|cross out) my\b|\bon second thoughts?\b|\bi was (?:only |just )?joking\b"
    r"|\bit was a (?:slip|joke|mistake|test)\b|\b(?:i had|i've|i have) (?:mixed (?:it|them|that) up|got (?:it|that) wrong|made a mistake)\b"
    r"|\bmeiner letzten (?:mail|nachricht)\b.{0,40}\bstreichen\b|\bstreichen sie\b|\bthere is no such\b|\b(?:no,? wait|wait,? no|actually,? no|oh no,? wait|hang on,? no|hold on,? no)\b"
    r"|\b(?:forget|ignore|disregard|delete|scrap)\s(?:about\s)?(?:that|this|it|all that|everything above|all of the above|the above"
    r"|what i (?:just )?(?:said|wrote|told you)|(?:the figure|the number|the code|everything|anything|all) (?:above|i (?:just )?(?:gave|sent|said|wrote))"
    r"|this (?:message|mail|e-?mail)|the above (?:message|mail|line|sentence|figure|paragraph))\b"
    r"|\bnever ?mind (?:that|the above|what i|my)\b|\bi (?:take|took) (?:that|it|this|everything|all of it) back\b"
    r"|\b(?:that|this|the above|it|all of that|what i (?:just )?(?:said|wrote))(?:'s| is| was)?,? (?:all |just |only |completely |totally )?"
    r"(?:is |was )?(?:wrong|not (?:right|true|correct)|false|incorrect|nonsense|a (?:joke|lie|mistake|test)|untrue|rubbish|invented)\b|\b(?:that|this|it)(?:'s| is| was) (?:all |just )?made up(?:[.!,;]|\z)"
    r"|\bnone of (?:that|this|it|the above|these) (?:is|are|was) (?:true|correct|right|real|valid)\b|\b(?:just|only) (?:kidding|joking)\b|\bapril fools?\b"
    r"|\bdo(?:n't| not) (?:believe|trust|rely on|act on) (?:that|this|it|any of|a word|the above|my)\b"
    r"|\b(?:i )?made (?:that|it|this|all of that) up\b|\b(?:vergiss|vergessen sie|ignorier\w*(?: sie)?) (?:das|es|meine|alles|die|bitte)\b"
    r"|\bstimmt (?:so |doch |gar )?(?:leider )?nicht,? bitte vergessen\b|\bdas (?:stimmt (?:so |doch |gar )?nicht|(?:ist|war) (?:doch |alles |so )?(?:falsch|ein scherz|gelogen|quatsch|unsinn|erfunden))\b"
    r"|\b(?:nein,? (?:halt|warte|moment|doch)|moment,? nein|halt,? nein|doch nicht)\b|\bstreich(?:e|en sie)? das\b"
)
_CONFIRM = (
    r"\b(?:confirm|by any chance|is (?:it|that|this) (?:right|correct|true)|right|correct|stimmt|am i right|or not)\b"
)
# Words that make a message's meaning doubtful; rules can't tell how much of it is meant.
_UNSURE = (
    r"\b(?:(?:please )?wait for (?:another|my next)|is still to be (?:settled|found|decided)|isn't decided|not decided yet|nothing is arranged"
    r"|among others|the remaining ones|first instal?ment|less a reduction|upwards|somewhere (?:from|between)|well below|too few|(?:it is|it's|this is|ist) one of the (?:three|four|five)"
    r"|in an ideal world|toss a coin|you fill in the (?:rest|gap|gaps|blank|blanks|stars)|rhymes with|reads? backwards|rückwärts|made (?:it|that) up|may cancel|until this morning|years? ago|sounds about right"
    r"|by itself|out of thin air|swore|the queen of|no real|the true (?:figure|number|one)|some ?thing that i don't have|more than i know|nur geraten|(?:don't|do not|doesn't|didn't) (?:have|know) (?:it|that|the|a|one|its|their|how|what|which|where|when|who|yet)\b|no (?:figure|number)|no idea (?:what|which|when|where|who|yet|at all|how (?:much|many) (?:it|that|the|they))|(?:could|can)(?:n't| not) (?:say (?:what|which|when|how|who|it|that|the|yet)|make out)|cannot say (?:what|which|when|how|who|it|that|the|yet)|(?:i|we) (?:couldn't|can't|could not|cannot) find (?:out|the|a|any|its|one|it\.|it,)|not known|unknown"
    r"|haven't (?:worked|checked|looked)|have not (?:worked|checked|looked)|am not told|give or take|off the top of my head"
    r"|better ask|ask some(?:one|body) (?:who|else)|wait for word|nothing is settled|for the time being|as if|ha ha"
    r"|what such|just to show|an example|if it were up to|whatever you do|called off|not at night|don't listen|do not listen|(?:please|just|best|better) ask (?:her|him)"
    r"|work it out yourself|unused|tear up|in truth|officially|need not (?:look|decide)|(?:should|if) we ever|i shall decide"
    r"|weiß ich nicht|weiss ich nicht|kenne ich nicht|nicht bekannt|habe ich nicht|keine ahnung|fragen sie (?:besser|lieber)"
    r"|from the canteen|are saying|man sagt)\b"
)
_NOT_UNSURE = r"\b(?:anything|any|something) (?:newer|later|else|other|more recent|further|that changes)|if you (?:don't|do not|can't|cannot|have)|(?:if|in case) (?:anything|something|it|that)\b"
_LEFT_OUT = (
    r"\b(?:left (?:it|them|him|her) alone|stays?|stay where|leave|no|none|nothing|without|kept|keep|held back|hold back|withh?eld|withhold\w*|refus\w+|declin\w+|turned down|unable|impossible"
    r"|chang\w+|correct\w*|amend\w*|adjust\w*|updat\w+|should be|must be|rather|korrigier\w*|änder\w*|richtig\w*|storn\w*"
    r"|withdrawn|cancel\w*|missing|lacks?|only|out of stock|unavailable|off limits|confidential|ohne|nichts|verweiger\w*|abgelehnt"
    r"|vertraulich|unmöglich|zurückgezogen|zurückgehalten)\b"
)
_HEADED = r"(?:\A|[.!?\n])\s*(?:not (?:counted|included|among|part of)|(?:please )?(?:do not|don't) (?:count|list|add)|left out|excluded|nicht (?:dabei|enthalten|mitgezählt|gezählt))\b"
_RARE = f"{_DOUBT_AFTER}|{_RETRACTION}|{_HEADED}"
_STRUCK = r"~~[^~\n]{1,200}~~"
_RETRACTION_OF_EARLIER = (
    r"\b(?:do not|don't) use (?:what|anything|the \w+ that) i\b|\bi take back\b|\bmy thumb slipped\b|"
    r"\b(?:what i (?:just |have )?(?:wrote|written|said|sent|told|gave|promised|reported)|my (?:last|previous|earlier|first|other|mail|message|note|text|e-?mail)"
    r"|meine (?:letzte|erste|vorige|nachricht|mail)|was ich [^.!?\n]{0,60}(?:geschrieben|gesagt|genannt|geschickt|versprochen))\b"
    r"[^.!?\n]{0,80}\b(?:was|is|were|war|ist|waren) (?:(?:all|just|simply|plainly|also|leider|doch|einfach) )?"
    r"(?:a mistake|an error|my mistake|wrong|incorrect|false|not (?:right|correct|true)|void|falsch|ein (?:fehler|irrtum|versehen)|hinfällig|überholt|ungültig)\b|"
    r"\b(?:tak(?:e|ing)|withdraw(?:ing)?|retract(?:ing)?) (?:back )?"
    r"(?:(?:what|everything|anything|all(?: that)?) i (?:just |have )?(?:wrote|written|said|sent|told|gave|promised)|my (?:last|previous|earlier|message|mail|note))\b|"
    r"\b(?:nehme|muss|möchte|ziehe)\b[^.!?\n]{0,30}\b(?:was ich|meine (?:\w+ )?(?:nachricht|mail|angabe|aussage|zusage))\b[^.!?\n]{0,80}"
    r"\b(?:zurück|zurücknehmen|widerrufen|zurückziehen)\b|"
    r"\b(?:has|have) (?:just )?been called off\b|\btreat it as unwritten\b|\b(?:i|i've|i have) (?:confused|mixed up)\b|\bwrong glasses\b|"
    r"\b(?:forget|ignore|disregard|delete|scrap|cancel|vergiss|vergessen sie|tear up|throw away|strike|cross out)\s(?:about\s)?"
    r"(?:my (?:last|previous|earlier|other|first)|the (?:last|previous|first)|meine letzte|das letzte) ?"
    r"(?:message|mail|e-?mail|note|text|answer|reply|line|nachricht|order)?\b"
)
"""Words that take back earlier messages, but not this one."""
_PROPOSAL = (
    r"\b(?:would|could|can|shall|should|how about|what about|are you|please|suits?|works?|fine|available|free|possible|propose|suggest"
    r"|passt|passen|ginge|geht|wäre|waere|können|koennen|könnten|recht|ok|okay|agree|einverstanden|vorschlag\w*)\b"
)
_PROPOSAL_FIRST = rf"\A(?:{_PROPOSAL})"
_OPEN = (
    r"\b(?:is|isn't|are|aren't|was|were|did|does|do|has|have|when|what|which|how|why|who|ist|sind|war|hat|haben|wann|was|wie|warum|wer"
    r"|welche\w*)\b"
)
"""Words of a question that asks for information; without them, "Tue 21 Nov 12:00?" is a proposal."""
_CONDITION = re.compile(
    r"[\s\"'*_-]*+(?:and |und |but |aber |even |only )?(?:if|falls|wenn|suppose|assuming|angenommen|unless|provided)\b",
    re.ASCII,
)
_SUPPOSED = (
    r"(?:\A|[.;,(:]\s*)should\s|(?:\A|[\s,;(])(?:if|falls|in case|wenn|sollte[nt]?"
    r"|whoever|anybody who|anyone who)\b"
)
_ANAPHOR = re.compile(
    r"[\s,\"'*_-]*+(?:but |und |and |aber |though |obwohl )?(?:that|this|which|those|these|it|both|das|dies|diese|was|welche)\b",
    re.ASCII,
)
_SOURCES = frozenset(
    ("moved from", "move from", "changed from", "change from", "up from", "down from", "corrected from", "von bisher")
)
_TARGET = r"\s(?:to|auf|zu)\s"
_LETTER = r"[^\W\d_]"
_UNLISTED = re.compile(rf"(?<!{_LETTER})(?!(?:or|and|oder|und|nor|noch|eur|euros?|am|pm|uhr)(?!{_LETTER})){_LETTER}")
"""A word that doesn't occur between the values of a list."""
_REFERS_ON = 160
_FIRST_WORDS = 40
"""The first characters of a sentence; a doubt among them is about the sentence before."""
_PREPOSITIONS = frozenset(("in", "on", "of", "for", "with", "about", "from"))
_LONGEST_CUE = 40
_NEAR = 240


def _is_inside(place: int, stretches: list[tuple[int, int]]) -> bool:
    """Whether a place is in a stretch; the stretches are ordered by their beginnings and by their ends."""
    number = bisect_right(stretches, place, key=itemgetter(0)) - 1
    return number >= 0 and place < stretches[number][1]


class Stances:
    """The stances of a readable text: how its statements are meant, by place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._low = text.lower()
        self._heads: dict[int, int] = {}
        self._asked: dict[tuple[int, int], Stance] = {}
        self._meant: dict[tuple[int, int], Stance] = {}
        self._begins_with: dict[tuple[int, str], bool] = {}
        self._cued: dict[int, bool] = {}

    def of(self, start: int, end: int) -> Stance:
        """Return how the words at a place are meant; cached, as they may name values of several kinds."""
        found = self._meant.get((start, end))
        if found is None:
            found = self._meant[start, end] = self._stance(start, end)
        return found

    def _stance(self, start: int, end: int) -> Stance:
        number = self._find_deciding_clause(start)
        if self._has_far_cues or self._has_cues(number):
            if self._retracted and start < self._retracted[-1]:
                return "retracted"
            if self._is_denied(number, start, end) or _is_inside(start, self._struck):
                return "denied"
            if self._is_doubted(number, start, end):
                return "doubted"
        question = self._question(end)
        if question is not None:
            return self._meant_by_question(self._sentence_start(start), question)
        return "asserted"

    @cached_property
    def _has_far_cues(self) -> bool:
        """Whether any cue reaches beyond its clause and the clause before."""
        return bool(self._retracted or self._struck or self._late_doubts)

    def _has_cues(self, number: int) -> bool:
        """Whether a clause or the one after it contains a cue; cached."""
        found = self._cued.get(number)
        if found is None:
            found = self._cued[number] = (
                number in self._denials
                or number in self._backward
                or number + 1 in self._backward
                or number in self._doubts
                or _CONDITION.match(self._low, *self._cuts[number : number + 2]) is not None
            )
        return found

    def is_unsure(self, start: int, end: int, near: int = _NEAR) -> bool:
        """Whether words within this number of characters make the meaning at a place doubtful."""
        number = bisect_left(self._unsure, start - near)
        return number < len(self._unsure) and self._unsure[number] <= end + near

    @cached_property
    def _unsure(self) -> list[int]:
        """The places of words that call something unknown, or only an example."""
        passed = compiled(_NOT_UNSURE).spans(self._low)
        near = [(first - 30, last + 1) for first, last in passed]
        return [start for start, _ in compiled(_UNSURE).spans(self._low) if not _is_inside(start, near)]

    @cached_property
    def _struck(self) -> list[tuple[int, int]]:
        """The bounds of crossed-out text, and of sentences that list omissions ("Not included: …")."""
        struck = compiled(_STRUCK).spans(self._low) if "~~" in self._low else []
        left = compiled(_HEADED).spans(self._low) if self._has_rare_cues else []
        return struck + [(start, self._sentence_end(end)) for start, end in left]

    @cached_property
    def _has_rare_cues(self) -> bool:
        """Whether any of three rare patterns matches the text, by one search for all."""
        return has_match(_RARE, self._low)

    def _find_deciding_clause(self, place: int) -> int:
        """Return the clause that decides how a place is meant: the place's clause, or the one before a list of bare
        values ("79, 80 or 81")."""
        last = number = self.clause_at(place)
        while number not in self._heads and self._is_listed(number):
            number -= 1
        head = self._heads.setdefault(number, number)
        if number != last:
            self._heads.update(dict.fromkeys(range(number, last + 1), head))
        return head

    def _is_listed(self, number: int) -> bool:
        begin = self._cuts[number]
        is_next = begin > 1 and self._low[begin - 2] == ","
        return is_next and not _UNLISTED.search(self._low, begin, self._cuts[number + 1])

    def clause_at(self, place: int) -> int:
        """Return the number of the clause at a place."""
        return max(0, bisect_right(self._cuts, place, 0, len(self._cuts) - 1) - 1)

    def clause(self, number: int) -> str:
        """Return a clause's text."""
        return self.text[self._cuts[number] : self._cuts[number + 1]]

    @cached_property
    def _cuts(self) -> list[int]:
        """The beginnings of the clauses, and the end of the last one."""
        low, cuts, is_aside = self._low, [0], False
        for match in _CLAUSE_END.finditer(low):
            start, end = match.span()
            if low[start] == "," and (is_aside or low.startswith(_PARENTHETIC, end)):
                is_aside = not is_aside
                continue
            is_aside = False
            cuts.append(start + 1 if match.lastindex else end)
        return [*cuts, len(low)] if cuts[-1] < len(low) or len(cuts) == 1 else cuts

    @cached_property
    def _idioms(self) -> list[tuple[int, int]]:
        return compiled(_IDIOM).spans(self._low)

    def _cues(self, pattern: str, *, with_idioms: bool = False) -> list[tuple[int, int]]:
        found = compiled(pattern).spans(self._low)
        if with_idioms:
            return found
        return [
            span
            for span in found
            if not _is_inside(span[0], self._idioms) and not _is_inside(span[1] - 1, self._idioms)
        ]

    @cached_property
    def _denials(self) -> dict[int, list[tuple[int, int]]]:
        """The denied stretches of each clause; "moved from X to Y" denies X alone.

        A denial never ends before an earlier one in its clause.
        """
        found: dict[int, list[tuple[int, int]]] = {}
        for start, end in self._cues(_DENIAL):
            target = (
                compiled(_TARGET).search(self._low[end : end + _REFERS_ON])
                if self._low[start:end] in _SOURCES
                else None
            )
            reach = end + target.start() if target else len(self._low)
            denials = found.setdefault(self.clause_at(start), [])
            denials.append((end, max(reach, denials[-1][1]) if denials else reach))
        return found

    @cached_property
    def _backward(self) -> dict[int, list[int]]:
        return self._by_clause([cue for cue in self._cues(_BACK) if not self._is_supposed(cue[0])])

    @cached_property
    def _doubts(self) -> dict[int, list[int]]:
        return self._by_clause(self._cues(_DOUBT, with_idioms=True))

    @cached_property
    def _late_doubts(self) -> list[int]:
        cues = self._cues(_DOUBT_AFTER, with_idioms=True) if self._has_rare_cues else []
        return [start for start, _ in cues if not self._low[max(0, start - 9) : start].endswith(("of which ", "that "))]

    @cached_property
    def _retracted(self) -> list[int]:
        """The places of retractions; each takes back all text before it."""
        if not self._has_rare_cues:
            return []
        found = [start for start, _ in self._cues(_RETRACTION, with_idioms=True)]
        return [start for start in found if not self._is_supposed(start) and not self._is_object(start)]

    def _is_object(self, place: int) -> bool:
        """Whether a pronoun belongs to a preposition before it: "the number in it is not correct"."""
        before = self._low[max(0, place - 6) : place].split()
        return self._low.startswith("it ", place) and bool(before) and before[-1] in _PREPOSITIONS

    def _is_supposed(self, place: int) -> bool:
        """Whether a place depends on a condition of its sentence: "if you have noted another one, strike it out"."""
        return compiled(_SUPPOSED).search(self._low[self._sentence_start(place) : place]) is not None

    @property
    def retracts(self) -> bool:
        """Whether the text takes back something in it or in earlier messages."""
        earlier = compiled(_RETRACTION_OF_EARLIER).finditer(self._low)
        return bool(self._retracted) or any(not self._is_supposed(match.start()) for match in earlier)

    @property
    def denies(self) -> bool:
        """Whether the text denies, refuses or leaves out anything."""
        return any(compiled(pattern).search(self._low) for pattern in (_DENIAL, _BACK, _LEFT_OUT))

    def _by_clause(self, cues: list[tuple[int, int]]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for start, _ in cues:
            found.setdefault(self.clause_at(start), []).append(start)
        return found

    def _is_denied(self, number: int, start: int, end: int) -> bool:
        if number in self._denials and _is_inside(start, self._denials[number]):
            return True
        if number in self._backward and self._backward[number][-1] >= end:
            return True
        following = number + 1
        if following in self._backward:
            return self._cuts[following] - end < _REFERS_ON and self._begins(following, _ANAPHOR)
        return False

    def _is_doubted(self, number: int, start: int, end: int) -> bool:
        if self._doubts.get(number):
            return True
        if self._begins(number, _CONDITION) and not self._proposes_after(number, end):
            return True
        late = bisect_left(self._late_doubts, end) if self._late_doubts else 0
        if late == len(self._late_doubts) or self._late_doubts[late] - end >= _REFERS_ON:
            return False
        sentence = self._sentence_start(self._late_doubts[late])
        return sentence <= start or self._late_doubts[late] - sentence < _FIRST_WORDS

    def _begins(self, number: int, pattern: re.Pattern[str]) -> bool:
        """Whether a clause begins with a pattern; cached."""
        key = number, pattern.pattern
        if key not in self._begins_with:
            self._begins_with[key] = pattern.match(self._low, *self._cuts[number : number + 2]) is not None
        return self._begins_with[key]

    def _proposes_after(self, number: int, end: int) -> bool:
        """Whether the rest of a clause has a proposal; a word attached to a value ("5please") counts, too."""
        last = self._cuts[number + 1]
        place = bisect_left(self._proposals, end)
        if place < len(self._proposals) and self._proposals[place] < last:
            return True
        return compiled(_PROPOSAL_FIRST).search(self._low[end : min(last, end + _LONGEST_CUE)]) is not None

    @cached_property
    def _proposals(self) -> list[int]:
        return [start for start, _ in compiled(_PROPOSAL).spans(self._low)]

    def _meant_by_question(self, start: int, question: int) -> Stance:
        """Return how a question is meant; cached."""
        if (start, question) not in self._asked:
            words = self._low[start:question]
            is_proposal = compiled(_PROPOSAL).search(words) or not compiled(_OPEN).search(words)
            is_proposal = is_proposal and not compiled(_CONFIRM).search(words)
            self._asked[start, question] = "proposed" if is_proposal else "asked"
        return self._asked[start, question]

    @cached_property
    def _sentence_ends(self) -> list[int]:
        return [match.start() for match in _SENTENCE_END.finditer(self._low)]

    def _sentence_end(self, place: int) -> int:
        number = bisect_right(self._sentence_ends, place)
        return self._sentence_ends[number] if number < len(self._sentence_ends) else len(self._low)

    def _sentence_start(self, place: int) -> int:
        number = bisect_right(self._sentence_ends, place) - 1
        return self._sentence_ends[number] + 1 if number >= 0 else 0

    def _question(self, end: int) -> int | None:
        """Return the place of the question mark that ends the clause at a place; None if it isn't a question."""
        if "?" not in self._low:
            return None
        place = bisect_right(self._sentence_ends, end - 1)
        if place >= len(self._sentence_ends):
            return None
        stop = self._sentence_ends[place]
        if self._low[stop : stop + 1] != "?":
            return None
        # "It is K4711, does that help?": the question is another clause.
        return stop if self.clause_at(stop - 1) == self.clause_at(end - 1) else None


def sentences_of(text: str) -> list[tuple[int, int]]:
    """Return the bounds of the sentences and lines of a readable text, their final signs included."""
    ends = [(match.start() + 1, match.end()) for match in _SENTENCE_END.finditer(text)]
    starts = [0, *(after for _, after in ends)]
    last = [*(end for end, _ in ends), len(text)]
    return [(start, end) for start, end in zip(starts, last, strict=True) if text[start:end].strip()]


@lru_cache(maxsize=512)
def stances_of(text: str) -> Stances:
    """Return the stances of a readable text; the same object for the same text."""
    return Stances(text)
