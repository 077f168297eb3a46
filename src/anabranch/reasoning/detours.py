"""Signs that an English question reaches one thing through another; pure.

None of them settles it alone: "the actor who played Gandalf" is a detour in "Where was the actor who played
Gandalf born?" and the plain answer in "Who is the actor who played Gandalf?". The weights that ``complexity.py``
gives them are fitted by ``tools/fit_complexity.py``.
"""

from __future__ import annotations

import re

from anabranch.grammar import ASKING, AUXILIARY
from anabranch.reasoning.question_shape import plain, shape

_BE = r"(?:is|are|was|were|be|been|being)"
_ROLE = (
    r"(?:director|performer|singer|author|writer|creator|founder|composer|producer|developer|"
    r"publisher|manufacturer|owner|spouse|wife|husband|father|mother|son|daughter|brother|sister|"
    r"child|employer|artist|actor|actress|screenwriter|designer|architect|inventor|discoverer|"
    r"distributor|broadcaster|operator|maker|birthplace|birth ?place|place of birth|parent company|"
    r"headquarters|hometown|alma mater|co-?founder|successor|predecessor|sibling|star|"
    r"narrator|editor|record label)"
)

_NAMED_THING = r"\b(?:the|a|an|this|that|same|his|her|its)\s+(?:[\w'.-]+\s+){0,3}?[\w'-]+,?\s+"
# "where" and "whose" nearly always hang one fact on another; "that" and "which" also define.
_RELATIVE = re.compile(
    rf"{_NAMED_THING}(?<!situation )(?<!scenario )(?<!experiment )(?<!case )(?<!space )(?<!way )(?<!point )"
    r"(?:(?:who|whose|where|wherein)\s+(?!is in charge)[\w'\"“-]"
    r"|(?:in|at|from|on|for)\s+(?:which|whom)\s+[\w'\"“-])"
)
_LOOSE_RELATIVE = re.compile(rf"{_NAMED_THING}(?:that|which)\s+(?!of\b)[\w'\"“-]")
_DEFINES = re.compile(
    r"^(?:what|who|which) (?:is|are|was|were|do|does) (?:an?|the|one|some)\b[^,]{0,40}?\b(?:that|which)\b"
)
# A relative clause without its pronoun: "the country Signmark is from".
_BARE_RELATIVE = re.compile(
    r"\b(?:the|of)\s+(?:[\w-]+\s+)?(?:city|country|state|county|company|band|group|team|place|university|"
    r"school|continent|region|province|river|film|movie|book|album|song|league|network|year)\s+"
    r"(?!of\b|in\b|that\b|with\b|and\b|for\b|to\b|is\b|was\b|are\b|were\b|on\b)(?:[\w'.\"-]+\s+){1,6}?"
    r"(?:(?:is|was|are|were|did)\s+(?:from|in|located|born|fought|part|set|based|found|filmed|held)"
    r"|played|died|attended|worked|graduated|comes from|belongs)\b"
    r"|\bthe\s+(?:country|city|state|company|band|film|movie|group|book|song|album|team|person|artist)\s+"
    r"(?:containing|ruling|considered|premiering|named|known|owning|featuring|starring|producing|directed|"
    r"written|founded|created|published|encompassing|bordering|hosting)\b"
    r"|\b(?:on|in|at)\s+the\s+(?:day|date|year|month|night|morning|moment)\s+(?:that\s+|when\s+)?(?:the|a|an|his|her|its|their)?\s*"
    r"(?!of\b|before\b|after\b)(?:[\w'-]+\s+){1,5}?(?:was|were|is|are|did|died|ended|began|started|opened|closed)\b"
)
_ROLE_CHAIN = re.compile(rf"\b{_ROLE}s?\s+(?:of|for|behind)\s+\S|['’]s\s+(?:[\w-]+\s+)?{_ROLE}\b")
_ASKS_ROLE_ITSELF = re.compile(
    rf"^(?:(?:who|what|which)\s+{_BE}\s+(?:[\w'’.-]+\s+){{0,5}}?{_ROLE}s?\b|{_ROLE}s? of\b|(?:what|which)"
    rf" {_ROLE}\b|(?:what|who) (?:is|was) the name of the (?:[\w-]+ )?{_ROLE})"
)
_OF_CHAIN = re.compile(
    r"\bof\s+(?:the\s+|an?\s+)?(?:[\w'’-]+\s+){1,4}?(?:of|where|in which|that|who|which|whose)\s+(?:the\b|[\w'’])"
)
# "… argued that", "the fact that": what follows says something, it describes nothing.
_SAYS_THAT = re.compile(
    r"\b(?:stat|argu|rul|held|hold|view|conclu|idea|fact|claim|belie|den(?:y|ie)|say|said|suggest|think|thought|"
    r"assum|infer|ensur|show|demonstrat|report|announc|promis|understood|mean|know|case|such|so)\w*\s+that\b"
)
_LATE_ASKING = re.compile(
    rf"^(?!(?:{ASKING}|{AUXILIARY}|if|in|on|at|to|for|from|by|of|with|during|under|after|before|until|"
    rf"about|into|through|along|as|since|tell|give|please|it)\b).{{25,}}\b(?:what|which|who|whom|whose|"
    rf"how many|where|when)\b"
)
# "… are known as what?", "… undergo what process?": what is asked for completes the statement.
_ASKS_A_KIND = re.compile(
    r"\b(?:what|which) (?:\w+ )?(?:kinds?|types?|sorts?|forms?|process|class|classes|species|way|purpose|term|things?)\b"
    r"|\b(?:what|whom|who)\W*$|\bhow many\b"
)
_PARTICIPLE = re.compile(
    r"\b(?:based|headquartered|founded|created|developed|born|directed|starring|starred|featured|featuring|"
    r"produced|published|located|named|won|known|played|released|composed|completed|written)\b"
)

_PARTICIPLE_SHAPE = "(?:Ved|Ving|born|made|located|based|called|named|known|used)"
_RELATIVE_SHAPE = "(?:that|who|which|whose|where|whom)"
_DESCRIBED = "describes what it asks about by another fact"
_CHAINED = "asks about something that is known only through another"
_CONDITIONS = "states several conditions at once"
_SEVERAL = "asks the same of several things"

# Over the shape of the question (see question_shape.py), with the reason that each gives.
_SHAPES: dict[str, tuple[str, str]] = {
    # "What attraction opened in 1971 and is located in Florida?"
    "two_predicates": (
        r"^(?:(?:in|at|of|on|for|from|by|to) )?(?:what|which|who)\b.* and "
        r"(?:(?:also|then|later|Wly|is|was|has|had|are|were) )*(?:Ved|is|was|are|were|has|had|born|made|located)\b",
        _CONDITIONS,
    ),
    # "Who did an actress from The Secret of NIMH play?", "… is by a novelist of what nationality"
    "described_one": (
        r"\b(?:by|for|with|to|did|was|were|is|of|has|in|on|at|through) an? (?:\S+ ){0,3}?(?:ROLE|KIND) "
        rf"(?:from|in|of|on|for|with|that|who|whose|where|which|{_PARTICIPLE_SHAPE})\b",
        _DESCRIBED,
    ),
    "kind_with": (
        r"\bKINDS? with\b|\bKINDS? .*\bwith the (?:\S+ ){0,2}?(?:SUP|most|least)\b",
        _DESCRIBED,
    ),
    # "…, born in Christchurch, …", "…, whose debut appeared in 1995, …"
    "aside": (
        rf", (?:{_PARTICIPLE_SHAPE}|which|whose|where|who) (?!.*\b(?:when|if)\b)",
        _DESCRIBED,
    ),
    # "the first president of the association which published the journal"
    "inner_relative": (
        # Not "the name of the river that …": the name is asked for, not a thing of the river's.
        rf"(?:^(?!what (?:is|was) the W of)|.\b(?=by|for|from|with|than)).*\b(?:of|by|for|from|with|than) (?:the|an?|one) "
        rf"(?:\S+ ){{0,3}}?(?:KINDS?|ROLES?) {_RELATIVE_SHAPE}\b",
        _DESCRIBED,
    ),
    "other_relative": (
        r"^(?!(?:what|who|which) (?:is|was|are|were)\b).*\b(?:the|an?) (?:\S+ )?(?:KINDS?|ROLES?) (?:that|who|whose)\b",
        _DESCRIBED,
    ),
    "any_relative": (
        rf"\b(?:KINDS?|ROLES?)(?: (?:W|of|in|on|the|from))* ,? ?{_RELATIVE_SHAPE}\b",
        _DESCRIBED,
    ),
    "late_relative": (rf"^(?:\S+ ){{4,}}.*\b{_RELATIVE_SHAPE}\b", _DESCRIBED),
    # "Which artist who influenced Warhol was also nominated …?", "What countries bordering Argentina …"
    "asked_relative": (
        r"^(?:(?:in|at|of|on|for|from|by|to) )?(?:what|which) (?!is|are|was|were|do|does|did|has|have)(?:\S+ ){1,3}?"
        r"(?:that|who|whose)\b.* (?:is|was|are|were|did|does|do|also)\b",
        _DESCRIBED,
    ),
    "asked_participle": (r"^(?:what|which) (?:\S+ )?KINDS? Ving\b", _DESCRIBED),
    "kind_participle": (
        rf"(?:the|a|an|of|in|by) (?:\S+ ){{0,3}}?(?:KINDS?|ROLES?) (?:W )?{_PARTICIPLE_SHAPE}\b",
        _DESCRIBED,
    ),
    "other_participle": (
        rf"(?:the|a|an|of|in|by) (?:\S+ ){{0,3}}?W {_PARTICIPLE_SHAPE}\b",
        _DESCRIBED,
    ),
    "two_participles": (
        r"\b(?:Ved|born|based|located|made)\b.* (?:Ved|born|based|located|made)\b",
        _DESCRIBED,
    ),
    "bare_kind": (
        r"\b(?:the|of) KIND (?:W|the W) (?:is|was|are|were|did|does|Ved|W)\b",
        _DESCRIBED,
    ),
    # "the first president of Damerjog's country", "Big Eye's main director's spouse"
    "owned_kind": (
        r"\b(?:of|in|for|by|from|at|with|than|did|does|was) (?:\S+ ){1,4}?'s (?:W |SUP )?KIND\b",
        _CHAINED,
    ),
    "owned_role": (r"\bROLE of (?:\S+ ){1,4}?'s (?:\S+ )?ROLE\b", _CHAINED),
    "role_of": (r"\bROLES? (?:of|for|behind)\b", _CHAINED),
    "two_kinds": (r"\b(?:KINDS?|ROLES?)\b.*\b(?:KINDS?|ROLES?)\b", _CHAINED),
    # "Which Ivy League universities have …?", "Which of the founders …?", "What are the sizes of the colleges?"
    "some_of": (
        r"^(?:in )?which of\b|^which (?:\S+ ){0,3}?KINDS (?:have|has|are|were|had|do|did)\b"
        r"|^how many (?:\S+ ){0,4}?KINDS (?:have|has|had)\b|^(?:of|out of|among) (?:\S+ ){1,12}?, (?:who|which|what|how)\b",
        _SEVERAL,
    ),
    "all_of": (
        r"^(?:what|who|where|when) (?:are|were) the .*\b(?:of|for|in|by) (?:the )?(?:\S+ ){0,4}?KINDS\b",
        _SEVERAL,
    ),
    "ranked": (
        r"\b(?:top|first|last|latest|recent|NUM) (?:NUM|most|SUP)\b",
        "asks about each of a ranked list",
    ),
    "out_of": (r"\bout of (?:\S+ ){1,5}?(?:and|or)\b", "chooses between alternatives"),
    "two_numbers": (r"\bNUM\b.*\bNUM\b", _CONDITIONS),
    "ends_open": (r"\b(?:of|in|for|from|by|with|on|to|at)$", _DESCRIBED),
    "asks_late": (
        r"^(?:\S+ ){5,}.*\b(?:what|which|who|whom|whose|where|when)(?: \S+){0,3}$",
        _DESCRIBED,
    ),
    "two_verbs": (
        r"\b(?:is|are|was|were|did|does|do|has|have|had)\b.* (?:is|are|was|were|did|does|do|has|have|had)\b",
        _DESCRIBED,
    ),
}
_PATTERNS = {name: re.compile(pattern) for name, (pattern, _) in _SHAPES.items()}
REASONS = {name: reason for name, (_, reason) in _SHAPES.items()} | {
    "role_chain": _CHAINED, "of_chain": "chains several relations", "relative": _DESCRIBED,
    "loose_relative": _DESCRIBED, "bare_relative": _DESCRIBED, "late_asking": _DESCRIBED,
}  # fmt: skip
TEN_WORDS = "ten_words"  # A short question has no room for a detour.
SIGNS = (*REASONS, TEN_WORDS)


def signs(question: str) -> list[str]:
    """The names of the signs that the question shows, all of them in ``SIGNS``."""
    asked = plain(question)
    said = _SAYS_THAT.sub(" ", asked)
    form = shape(said)
    length = len(asked.split())
    found = [name for name, pattern in _PATTERNS.items() if pattern.search(form)]
    return found + _in_words(asked, said, length) + [TEN_WORDS] * (length >= 10)


def _in_words(asked: str, said: str, length: int) -> list[str]:
    """The signs that are read off the words themselves."""
    role = _ROLE_CHAIN.search(asked) is not None
    asks_role = _ASKS_ROLE_ITSELF.search(asked) is not None
    relative = _RELATIVE.search(asked) is not None
    loose = _LOOSE_RELATIVE.search(said) is not None
    late = _LATE_ASKING.search(asked) is not None and not _ASKS_A_KIND.search(asked)
    hung = relative or loose or _PARTICIPLE.search(asked) is not None
    shown = {
        "role_chain": role and not asks_role,
        "of_chain": role and asks_role and _OF_CHAIN.search(asked) is not None,
        "relative": relative and length >= 9,
        "loose_relative": loose and length >= 13 and not _DEFINES.search(asked),
        "bare_relative": _BARE_RELATIVE.search(asked) is not None,
        # A short one is a plain question turned round.
        "late_asking": late and (length >= 18 or (length >= 9 and hung)),
    }
    return [name for name, there in shown.items() if there]
