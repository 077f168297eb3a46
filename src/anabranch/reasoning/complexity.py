"""Whether a question is simple or complex, by the way it is built; pure.

A question is complex when finding its answer takes several facts: it compares, lists, asks twice,
reaches one thing through another, or supposes something. Rules come first: each settles it alone and
gives its reason in words. What a detour through another fact looks like is less clear-cut; its signs
(``detours.py``) are weighed together, with the weights of ``complexity_model.json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from anabranch.grammar import ASKING, AUXILIARY
from anabranch.language import ENGLISH_STOP_WORDS, asks_in_cjk
from anabranch.reasoning.chinese_complexity import chinese_reason
from anabranch.reasoning.detours import REASONS, signs
from anabranch.reasoning.question_shape import LOOKED_AT, plain

_NUMBER = r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twelve|several|all)"
_COMPARISON = re.compile(
    r"(?:\bdiffer(?:s|ed|ing|ence|ences)?\b.*\b(?:between|from|than|compared|in|and|with)\b"
    r"|\bdifferent\s+(?:[\w-]+\s+){0,4}?(?:from|than|between)\b|\bdo\b.*\bdiffer\b"
    r"|\bcompar(?:e|es|ing|ison)\b|\bcompared (?:to|with) (?!whom|what|which)|\bversus\b|\bvs\b|\bas opposed to\b"
    r"|\bcontrast(?:s|ed|ing)?\b.*\b(?:with|and|to)\s|\bwhereas\b|\b(?:in|have|has) common\b"
    r"|\bsimilarit(?:y|ies)\b|\bpros and cons\b|\btrade-?offs?\b|\bworse than\b"
    r"|\b(?:advantages|benefits)\b.*\b(?:over|and (?:disadvantages|drawbacks|risks))\b"
    r"|\b(?:same|identical)\s+(?:[\w-]+\s+){0,5}?as\s|\bas (?!far|long|soon|well|of|a|an|the)\w+\b.{0,40}\bas (?!well|what|whom|possible)"
    r"|\bshare\b.*\bwith\s)"
)
_THAN = re.compile(
    r"\b(?:more|less|fewer|(?!other|rather)[a-z]{2,}er)\b(?:\s+[\w'-]+){0,4}?\s+than\s+(?!\d|one\b|two\b|three"
    r"\b|half\b|a (?:hundred|thousand|million)|ten\b|any\b|usual\b|expected\b|ever\b|other\b)"
)
_BOTH = re.compile(r"\b(?:both\b(?! sides)|respectively\b|in turn\b|apiece\b|one another\b)")
_BETWEEN = re.compile(
    r"^(?:between|of|out of|from among)\s+[^,?]{2,60}\s+(?:and|or)\s+[^,?]{2,60},?\s+(?:who|which|what)\b"
)
_CHOICE = re.compile(
    rf"^(?:{ASKING}|between|in which|of)\b.*?(?:[,:?]|\b(?:first|earlier|later|last|older|younger|"
    r"larger|bigger|smaller|higher|longer|more|most|better|closer|further|farther|taller|cheaper|"
    r"recently|fewer|greater|newer)\b).*?\b(?:or)\b"
)
# "The warranty of the Plover and of the Dipper", "How heavy are the Plover and the Dipper".
_SAME_OF_BOTH = re.compile(
    r"\b(of|for|in|at|from)\s+(?:the\s+)?[\w'-]+(?:\s[\w'-]+)?\s+and\s+\1\s+(?!(?:which|whom|what|course)\b)"
    r"|^how\s+\w+\s+(?:are|were|do|did)\s+(?:the\s+)?[\w'-]+\s+and\s+(?:the\s+)?[\w'-]+(?:\s\w+)?\W*$"
    r"|^what\s+(?:is|are|was|were)\s+the\s+[\w-]+(?:\s[\w-]+)?\s+of\s+the\s+[\w-]+\s+and\s+the\s+[\w-]+\W*$"
)
# "Is A or B heavier?", "Does it cost more to rent or to lease?"
_EITHER = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|will|would|can)\b.*\bor\b.*\b(?:more|less|fewer|better|worse|earlier|later|longer|first|"
    r"(?!(?:number|order|other|either|whether|rather|water|paper|letter|member|server|user|customer|employer|never|ever|over|under|after)\b)"
    r"[a-z]{3,}er)(?:\s[a-z]+)?\W*$"
    r"|^(?:is|are|does|do)\b.*\b(?:more|less|cheaper|better|easier|faster|safer)\b.*\bto\s\w+.*\bor\b"
)
_PLAIN_CHOICE = re.compile(r"^(?:which|who)\b[^?]*?,\s[^?,]+?,?\sor\s")
_SECOND_QUESTION = re.compile(
    rf"(?:[?.]\s+(?:and\s+|also,?\s+)?(?:{ASKING}|{AUXILIARY})\s"
    rf"|^(?:(?:in|at|on|to|of|for|by|from|under)\s+)?(?:{ASKING}|{AUXILIARY})\b.*?"
    rf"(?:;|,?\s+and|,?\s+but|,\s+or)\s+(?:also\s+|then\s+)?(?:(?:in|at|on|to|of|for|by|from)\s+)?{ASKING}\b"
    rf"|,? and (?:is|are|do|does|did|can|will|was|were) (?:it|they|he|she|there|this|the|any)\b)"
)
_WHY_AND_HOW = re.compile(
    r"\b(?:why\b.*\band (?:how|what)\b|causes?\b.*\band\b.*\b(?:steps?|effects?|solutions?|remed\w+|"
    r"treatments?|consequences|symptoms|fix\w*|prevent\w*)\b)"
)
_BEFORE_AND_AFTER = re.compile(r"\bbefore and after\b")
# "What are the price and weight of …", "… in Berlin and Boston …": one question, asked twice.
_TWO_ATTRIBUTES = re.compile(
    r"^(?:(?:what|how|who)\s+(?:is|are|was|were)|(?:please\s+)?(?:give|tell|show|send)\s+(?:me|us))\s+the\s+(?:[\w-]+,?\s+){1,9}?and\s+(?:the\s+)?(?:[\w-]+\s+){1,3}?"
    r"(?:of|for|at)\s"
)
_TWO_NAMES = re.compile(
    r"\b(?:in|for|at|do|does|have|offer|offers)\s+(?:the\s+)?[A-Z][\w'-]+(?:\s[A-Z][\w'-]*)?\s+and\s+(?:the\s+)?"
    r"[A-Z][\w'-]+(?:\s[A-Z][\w'-]*)?\b(?!\s+(?:War|Act|Sea|Company|Party))"
)
_EACH = re.compile(
    r"(?<!beginning )(?<!end )(?<!start )(?<!middle )\b(?:of|for|by|in|does|do|did|was|were|to|on|from|at)"
    r" each (?!other\b)|\beach (?:of|one) |\beach (?:year|season|decade|month) (?:from|between|since)\b|\beach\s*[?.]?$|\bevery one of\b|\brespective\b"
    r"|(?<!^)\b(?:along|together) with (?:their|its|his|her|the)\b|\bfor (?:all|every) (?:of )?(?:the|our)\b"
)
_SUPERLATIVE = r"(?:most|least|largest|biggest|tallest|smallest|highest|longest|oldest|lowest|best)"
_TOP = re.compile(
    rf"^(?:in\s+)?which\s+(?:one\s+)?of\s+(?:the|our|these|those|your|their)\s+{_NUMBER}\b"
    rf"|\b(?:(?:top|first|last|bottom|past|next)\s+{_NUMBER}\s+[a-z]|the\s+{_NUMBER}\s+(?:[\w-]+\s+)?"
    rf"(?:{_SUPERLATIVE}|main|newest|latest|[a-z]{{3,}}est)\b|(?:in|of|for)\s+the\s+{_NUMBER}\s+[a-z]+s\b"
    rf"|(?:s|people) with the {_SUPERLATIVE}\b|(?:the|which|what) (?:member )?states (?:that|with|in the)\b"
    rf"|(?:the|which|what) (?:[\w-]+ )?(?:members|players|"
    rf"countries|actors|cities|companies|people|teams|films|movies|books) (?:who|that|with|playing|in the)\b)"
)
_COMMAND = re.compile(
    r"^(?:please\s+)?(?:list|identify|find|name|enumerate|summari[sz]e|rank|provide|give)\b"
    r"(?!\s+(?:me|us)\b)"
)
_SERIES = re.compile(
    r"(?:\b(?:of|for|in|at|do|does|did|between|among|to|compare|are|were|is|was|on|from|with)\s|:\s)"
    r"(?:(?!which|who|where)[^\s,?]+(?:\s[^\s,?]+){0,3},\s+)+(?:and\s|or\s|&\s)?"
    r"(?!which|who|where|a\b|an\b)[^\s,?]+(?:\s[^\s,?]+){0,2}?,?\s+(?:and|or|&)\s"
)
_SUPPOSING = re.compile(
    r"^(?:would|could|might|should)\s+(?!you\b|i\b|we\b|my\b|our\b|it be possible)|\bhypothetically\b|\bin theory\b"
    r"|^(?:is|was) it (?:\w+ly )?(?:un|im|ab|il)?(?:possible|plausible|likely|common|safe|true|normal|usual|typical|legal|"
    r"acceptable|okay|ok|wrong|right) (?:for|to|that)\b|^(?:would|should) you (?!like\b|please\b|mind\b)|^are there enough\b"
)
_REPORTS = re.compile(
    r"\b(?:article|report|coverage|reporting|piece|story)s?\b.*\b(?:article|report(?:ed|s)?|coverage|while|"
    r"and|another|both)\b|\baccording to\b.*\b(?:while|and|but|whereas)\b|\b(?:reported|covered|mentioned|"
    r"featured|discussed|described|noted|highlighted)\b.*\b(?:reported|covered|by both|articles?|also|as per)\b"
)
_SEQUENCE = re.compile(
    r"^(?:after|before|following|considering|given|since|while)\b.*,\s+(?:did|does|do|is|was|were|has)\b"
)
# A claim about the world, not about the asker, a thing pointed at, or whether something exists.
_CLAIM = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|should)\s+(?!(?:i|we|you|my|our|your|there|this|"
    r"these|those|it|they|he|she|anyone|somebody|someone)\b)"
)
# Whether a rule holds is one fact: "Is smoking allowed at the desk?"
_RULE = re.compile(
    r"\b(?:allowed|permitted|required|mandatory|obligatory|optional|covered|included|available|refundable|"
    r"supported|open|closed|free|paid|forbidden|prohibited|deductible|reimbursed|need to|have to|cover|include|"
    r"mention|contain|support|handbook|policy|employees?|staff|customers?)\b"
)
RULE_WORDS = 5  # A rule that is asked for names at most as many things.
FAMILIAR_WORDS = 3  # "Is the gate closed at night?": a thing at hand, and something it has.

LONG_QUESTION_WORDS = 26


def complexity_reason(question: str) -> str | None:
    """Why the question takes several facts, in words; None if it reads as simple."""
    text = " ".join(question.split())[:LOOKED_AT]
    if asks_in_cjk(text):
        return chinese_reason(text)
    return decisive_reason(text) or _weighed(text)


def decisive_reason(question: str) -> str | None:
    """The reason of the first cue that settles it alone; None if there is none."""
    asked = plain(question)
    for cue in _DECISIVE:
        if reason := cue(asked):
            return reason
    return "asks the same of several things" if _TWO_NAMES.search(question) else None


def _weighed(question: str) -> str | None:
    """The reason of the heaviest sign of a detour, if all signs together weigh enough."""
    model = load_model()
    found = signs(question)
    if model.bias + sum(model.weights.get(name, 0.0) for name in found) <= model.threshold:
        return None
    heaviest = max(
        (name for name in found if name in REASONS),
        key=lambda name: model.weights.get(name, 0.0),
        default=None,
    )
    return REASONS[heaviest] if heaviest else "states many conditions at once"


@dataclass(frozen=True, slots=True)
class ComplexityModel:
    """A logistic regression over the signs of a detour; no weight is negative."""

    bias: float
    weights: Mapping[str, float]
    threshold: float


@lru_cache(maxsize=1)
def load_model() -> ComplexityModel:
    """The fitted weights that ship with the package."""
    file = resources.files("anabranch.reasoning").joinpath("complexity_model.json")
    stored = json.loads(file.read_text(encoding="utf-8"))
    return ComplexityModel(stored["bias"], stored["weights"], stored["threshold"])


def _matches(pattern: re.Pattern[str], reason: str) -> Callable[[str], str | None]:
    return lambda asked: reason if pattern.search(asked) else None


def _choice(asked: str) -> str | None:
    """Alternatives to choose from; "type 1 or type 2 of" inside a plain question is not one."""
    found = any(pattern.search(asked) for pattern in (_BETWEEN, _PLAIN_CHOICE, _CHOICE, _EITHER))
    return "chooses between alternatives" if found else None


def _claim(asked: str) -> str | None:
    """A claim about one thing that is judged by what another is, as in "Do jellyfish sleep?"

    Whether a rule holds, or something at hand has a quality, is looked up.
    """
    if not _CLAIM.search(asked):
        return None
    content = [word for word in re.findall(r"[\w'-]+", asked) if word not in ENGLISH_STOP_WORDS]
    looked_up = _RULE.search(asked) and len(content) <= RULE_WORDS
    familiar = re.match(r"\w+ the ", asked) and len(content) <= FAMILIAR_WORDS
    if len(content) < 2 or looked_up or familiar:
        return None
    return "weighs a claim that no single fact settles"


def _long(asked: str) -> str | None:
    return "states many conditions at once" if len(asked.split()) > LONG_QUESTION_WORDS else None


_DECISIVE: tuple[Callable[[str], str | None], ...] = (
    _matches(_SECOND_QUESTION, "asks several questions in one"),
    _matches(_COMPARISON, "compares"),
    _matches(_THAN, "compares"),
    _matches(_BOTH, "asks about several things at once"),
    _choice,
    _matches(_WHY_AND_HOW, "asks for causes and what follows from them"),
    _matches(_BEFORE_AND_AFTER, "asks about the time before and after something"),
    _matches(_TWO_ATTRIBUTES, "asks for several things about one"),
    _matches(_SAME_OF_BOTH, "asks the same of several things"),
    _matches(_EACH, "asks the same of several things"),
    _matches(_TOP, "asks about each of a ranked list"),
    _matches(_COMMAND, "asks for a list"),
    _matches(_SERIES, "enumerates several things"),
    _matches(_REPORTS, "brings together what several reports say"),
    _matches(_SEQUENCE, "depends on another event"),
    _matches(_SUPPOSING, "supposes something and asks what follows"),
    _claim,
    _long,
)
