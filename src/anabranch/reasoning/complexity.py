"""Whether a question is simple or complex, by the way it is built; pure.

A question is complex when finding its answer takes several facts: it compares, lists, asks twice,
reaches one thing through another, or supposes something. Each cue is a rule with its reason in
words. Capitals help where the writer used them and are never needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from anabranch.language import ENGLISH_STOP_WORDS, cjk_share

_ASKING = r"(?:who|whom|whose|what|when|where|which|why|how)"
_BE = r"(?:is|are|was|were|be|been|being)"
_AUXILIARY = (
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|might|may|must)"
)
_NUMBER = r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twelve|several|all)"
_ROLE = (
    r"(?:director|performer|singer|author|writer|creator|founder|composer|producer|developer|"
    r"publisher|manufacturer|owner|spouse|wife|husband|father|mother|son|daughter|brother|sister|"
    r"child|employer|artist|actor|actress|screenwriter|designer|architect|inventor|discoverer|"
    r"distributor|broadcaster|operator|maker|birthplace|birth ?place|place of birth|parent company|"
    r"headquarters|hometown|alma mater|co-?founder|successor|predecessor|sibling|star|"
    r"narrator|editor|record label)"
)

_COMPARISON = re.compile(
    r"(?:\bdiffer(?:s|ed|ing|ence|ences)?\b.*\b(?:between|from|than|compared|in|and|with)\b"
    r"|\bdifferent\s+(?:[\w-]+\s+){0,4}?(?:from|than|between)\b|\bdo\b.*\bdiffer\b"
    r"|\bcompar(?:e|es|ing|ison)\b|\bcompared (?:to|with)\b|\bversus\b|\bvs\b"
    r"|\bcontrast(?:s|ed|ing)?\b.*\b(?:with|and|to)\s|\bwhereas\b|\b(?:in|have|has) common\b"
    r"|\bsimilarit(?:y|ies)\b|\bsimilar to\b|\bpros and cons\b|\btrade-?offs?\b|\bworse than\b"
    r"|\b(?:advantages|benefits)\b.*\b(?:over|and (?:disadvantages|drawbacks|risks))\b"
    r"|\b(?:same|identical)\s+(?:[\w-]+\s+){0,5}?as\s|\bas (?:much|many|\w+)\b.{0,40}\bas (?!well)"
    r"|\bshare\b.*\bwith\b.*\?$)"
)
_THAN = re.compile(
    r"\b(?:more|less|fewer|rather|[a-z]{2,}er)\b(?:\s+[\w'-]+){0,4}?\s+than\s+(?!\d|one\b|two\b|three"
    r"\b|half\b|a (?:hundred|thousand|million)|ten\b|any\b|usual\b|expected\b|ever\b|other\b)"
)
_BOTH = re.compile(r"\b(?:both\b(?! sides)|respectively\b|in turn\b|apiece\b|one another\b)")
_BETWEEN = re.compile(
    r"^(?:between|of|out of|from among)\s+[^,?]{2,60}\s+(?:and|or)\s+[^,?]{2,60},?\s+(?:who|which|what)\b"
)
_CHOICE = re.compile(
    rf"^(?:{_ASKING}|between|in which|of)\b.*?(?:[,:?]|\b(?:first|earlier|later|last|older|younger|"
    r"larger|bigger|smaller|higher|longer|more|most|better|closer|further|farther|taller|cheaper|"
    r"recently|fewer|greater|newer)\b).*?\b(?:or)\b"
)
_PLAIN_CHOICE = re.compile(r"^(?:which|who)\b[^?]*?,\s[^?,]+?,?\sor\s")
_SECOND_QUESTION = re.compile(
    rf"(?:[?.]\s+(?:and\s+|also,?\s+)?(?:{_ASKING}|{_AUXILIARY})\s"
    rf"|^(?:(?:in|at|on|to|of|for|by|from|under)\s+)?(?:{_ASKING}|{_AUXILIARY})\b.*?"
    rf"(?:;|,?\s+and|,?\s+but|,\s+or)\s+(?:also\s+|then\s+)?(?:(?:in|at|on|to|of|for|by|from)\s+)?{_ASKING}\b"
    rf"|,? and (?:is|are|do|does|did|can|will|was|were) (?:it|they|he|she|there|this|the|any)\b)"
)
_WHY_AND_HOW = re.compile(
    r"\b(?:why\b.*\band (?:how|what)\b|causes?\b.*\band\b.*\b(?:steps?|effects?|solutions?|remed\w+|"
    r"treatments?|consequences|symptoms|fix\w*|prevent\w*)\b)"
)
_BEFORE_AND_AFTER = re.compile(r"\bbefore and after\b")
# "What are the price and weight of …", "… in Berlin and Boston …": one question, asked twice.
_TWO_ATTRIBUTES = re.compile(
    r"^(?:what|how|who)\s+(?:is|are|was|were)\s+the\s+(?:[\w-]+\s+){1,3}?and\s+(?:the\s+)?(?:[\w-]+\s+){1,3}?"
    r"(?:of|for|at)\s"
)
_TWO_NAMES = re.compile(
    r"\b(?:in|for|at|do|does|have|offer|offers)\s+(?:the\s+)?[A-Z][\w'-]*(?:\s[A-Z][\w'-]*)?\s+and\s+(?:the\s+)?"
    r"[A-Z][\w'-]*(?:\s[A-Z][\w'-]*)?\b(?!\s+(?:War|Act|Sea|Company|Party))"
)
_EACH = re.compile(
    r"(?<!beginning )(?<!end )(?<!start )(?<!middle )\b(?:of|for|by|in|does|do|did|was|were|to|on|from|at)"
    r" each (?!other\b)|\beach (?:of|one) |\beach\s*[?.]?$|\bevery one of\b|\brespective\b"
    r"|(?<!^)\b(?:along|together) with (?:their|its|his|her|the)\b|\bfor (?:all|every) (?:of )?(?:the|our)\b"
)
_SUPERLATIVE = r"(?:most|least|largest|biggest|tallest|smallest|highest|longest|oldest|lowest|best)"
_TOP = re.compile(
    rf"\b(?:(?:top|first|last|bottom|past|next)\s+{_NUMBER}\s+[a-z]|the\s+{_NUMBER}\s+(?:[\w-]+\s+)?"
    rf"(?:{_SUPERLATIVE}|main|newest|latest|[a-z]{{3,}}est)\b|(?:in|of|for)\s+the\s+{_NUMBER}\s+[a-z]+s\b"
    rf"|(?:s|people) with the {_SUPERLATIVE}\b|(?:the|which|what) (?:[\w-]+ )?(?:members|players|states|"
    rf"countries|actors|cities|companies|people|teams|films|movies|books) (?:who|that|with|playing|in the)\b)"
)
_COMMAND = re.compile(
    r"^(?:please\s+)?(?:list|identify|find|name|enumerate|summari[sz]e|rank|provide|give)\b"
    r"(?!\s+(?:me|us)\b)"
)
_SERIES = re.compile(
    r"(?:[^\s,?]+(?:\s[^\s,?]+){0,3},\s+){2,}(?:and|or|&)\s"
    r"|\b(?:of|for|in|are|were|between|on|the|at|do|did)\s+[^\s,?]+(?:\s[^\s,?]+){0,2},"
    r"(?:\s+[^\s,?]+(?:\s[^\s,?]+){0,2},)*"
    r"\s+(?!which|who|where|a\b|an\b)[^\s,?]+(?:\s[^\s,?]+){0,2}\s+(?:and|or)\s+[^,?]+\??$"
)
_NAMED_THING = r"\b(?:the|a|an|this|that|same|his|her|its)\s+(?:[\w'.-]+\s+){0,3}?[\w'-]+,?\s+"
# "where" and "whose" nearly always hang one fact on another; "that" and "which" also define.
_RELATIVE = re.compile(
    rf"{_NAMED_THING}(?:(?:who|whose|where|wherein)\s+(?!is in charge)[\w'\"“-]"
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
)
_ROLE_CHAIN = re.compile(rf"\b{_ROLE}s?\s+(?:of|for|behind)\s+\S|['’]s\s+(?:[\w-]+\s+)?{_ROLE}\b")
_ASKS_ROLE_ITSELF = re.compile(
    rf"^(?:(?:who|what|which)\s+{_BE}\s+(?:[\w'’.-]+\s+){{0,5}}?{_ROLE}s?\b|{_ROLE}s? of\b|(?:what|which)"
    rf" {_ROLE}\b|(?:what|who) (?:is|was) the name of the (?:[\w-]+ )?{_ROLE})"
)
_OF_CHAIN = re.compile(
    r"\bof\s+(?:the\s+|an?\s+)?(?:[\w'’-]+\s+){1,4}?(?:of|where|in which|that|who|which|whose)\s+(?:the\b|[\w'’])"
)
_LATE_ASKING = re.compile(
    rf"^(?!(?:{_ASKING}|{_AUXILIARY}|if|in|on|at|to|for|from|by|of|with|during|under|after|before|until|"
    rf"about|into|through|along|as|since|tell|give|please|it)\b).{{25,}}\b(?:what|which|who|whom|whose|"
    rf"how many|where|when)\b"
)
_PARTICIPLE = re.compile(
    r"\b(?:based|headquartered|founded|created|developed|born|directed|starring|starred|featured|featuring|"
    r"produced|published|located|named|won|known|played|released|composed|completed|written)\b"
)
_SUPPOSING = re.compile(
    r"^(?:would|could|might|should)\s+(?!you\b|i\b|we\b|my\b|our\b|it be possible)|\bhypothetically\b|\bin theory\b"
    r"|^is it (?:possible|plausible|likely|common|safe|true)\b"
)
_REPORTS = re.compile(
    r"\b(?:article|report|coverage|reporting|piece|story)s?\b.*\b(?:article|report(?:ed|s)?|coverage|while|"
    r"and|another|both)\b|\baccording to\b.*\b(?:while|and|but|whereas)\b|\b(?:reported|covered|mentioned|"
    r"featured|discussed|described|noted|highlighted)\b.*\b(?:reported|covered|by both|articles?|also|as per)\b"
)
_SEQUENCE = re.compile(
    r"^(?:after|before|following|considering|given|since|while)\b.*,\s+(?:did|does|do|is|was|were|has|which|what|who|how)\b"
)
_YES_OR_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|will)\s+(?!(?:i|we|you|my|our|your|there|this|"
    r"these|those|it|they|he|she)\b)"
)
# Whether a rule holds is one fact: "Is smoking allowed at the desk?"
_RULE = re.compile(
    r"\b(?:allowed|permitted|required|mandatory|obligatory|optional|covered|included|available|refundable|"
    r"supported|necessary|open|closed|free|paid|forbidden|prohibited|deductible|reimbursed|need to|have to|"
    r"cover|include|mention|contain|support|apply|correct|handbook|policy|employees?|staff|customers?)\b"
    r"|^(?:is|are|was|were|do|does|did|has|have|had|can|will)\s+the\s+[a-z]"
)

LONG_QUESTION_WORDS = 26
LOOKED_AT = 600  # Characters: what a longer text asks shows in its beginning, if at all.


def complexity_reason(question: str) -> str | None:
    """Why the question takes several facts, in words; None if it reads as simple."""
    text = " ".join(question.split())[:LOOKED_AT]
    if cjk_share(text) >= 0.3:
        return _chinese_reason(text)
    lowered = text.casefold().replace("’", "'")
    for cue in _ENGLISH_CUES:
        if reason := cue(lowered, text):
            return reason
    return None


def _matches(pattern: re.Pattern[str], reason: str) -> Callable[[str, str], str | None]:
    return lambda lowered, _: reason if pattern.search(lowered) else None


def _choice(lowered: str, text: str) -> str | None:
    """Alternatives to choose from; "type 1 or type 2 of" inside a plain question is not one."""
    found = _BETWEEN.search(lowered) or _PLAIN_CHOICE.search(lowered) or _CHOICE.search(lowered)
    return "chooses between alternatives" if found else None


def _two_names(lowered: str, text: str) -> str | None:
    """Two names that the same is asked of; only capitals tell them from a pair of words."""
    return "asks the same of several things" if _TWO_NAMES.search(text) else None


def _nested(lowered: str, text: str) -> str | None:
    """A thing reached through another: a relative clause, or a role inside another relation."""
    if _ROLE_CHAIN.search(lowered) and not _ASKS_ROLE_ITSELF.search(lowered):
        return "asks about something that is known only through another"
    chained = _ROLE_CHAIN.search(lowered) is not None and _OF_CHAIN.search(lowered) is not None
    if chained:
        return "chains several relations"
    length = len(lowered.split())
    loose = _LOOSE_RELATIVE.search(lowered) and not _DEFINES.search(lowered) and length >= 13
    if (_RELATIVE.search(lowered) and length >= 9) or loose or _BARE_RELATIVE.search(lowered):
        return "describes what it asks about by another fact"
    return None


def _late_asking(lowered: str, text: str) -> str | None:
    """A statement that ends in its question: "… appears in a game developed by what company?"

    Short ones are a plain question turned round.
    """
    if not _LATE_ASKING.search(lowered):
        return None
    length = len(lowered.split())
    hung = _RELATIVE.search(lowered) or _LOOSE_RELATIVE.search(lowered)
    if length >= 18 or (length >= 9 and (hung or _PARTICIPLE.search(lowered))):
        return "describes what it asks about by another fact"
    return None


def _yes_or_no(lowered: str, text: str) -> str | None:
    """A claim about one thing that is judged by what another is, as in "Do jellyfish sleep?"

    Questions about oneself, and ones that name no general subject, are look-ups.
    """
    if not _YES_OR_NO.search(lowered) or _RULE.search(lowered):
        return None
    content = [word for word in re.findall(r"[\w'-]+", lowered) if word not in ENGLISH_STOP_WORDS]
    if len(content) >= 3:
        return "weighs a claim that no single fact settles"
    return None


def _long(lowered: str, text: str) -> str | None:
    if len(lowered.split()) > LONG_QUESTION_WORDS:
        return "states many conditions at once"
    return None


_ENGLISH_CUES: tuple[Callable[[str, str], str | None], ...] = (
    _matches(_SECOND_QUESTION, "asks several questions in one"),
    _matches(_COMPARISON, "compares"),
    _matches(_THAN, "compares"),
    _matches(_BOTH, "asks about several things at once"),
    _choice,
    _matches(_WHY_AND_HOW, "asks for causes and what follows from them"),
    _matches(_BEFORE_AND_AFTER, "asks about the time before and after something"),
    _matches(_TWO_ATTRIBUTES, "asks for several things about one"),
    _two_names,
    _matches(_EACH, "asks the same of several things"),
    _matches(_TOP, "asks about each of a ranked list"),
    _matches(_COMMAND, "asks for a list"),
    _matches(_SERIES, "enumerates several things"),
    _matches(_REPORTS, "brings together what several reports say"),
    _matches(_SEQUENCE, "depends on another event"),
    _matches(_SUPPOSING, "supposes something and asks what follows"),
    _nested,
    _late_asking,
    _yes_or_no,
    _long,
)


_CHINESE_ASKING = "(?:什么|什麼|为什么|為什麼|为何|為何|怎么|怎麼|怎样|怎樣|如何|哪|谁|誰|多少|几|幾|何时|何時|何地|多久|多大|多长|多高|是否|吗|嗎)"
_CHINESE_ROLE = (
    "(?:导演|導演|作者|创始人|創始人|主演|演员|演員|歌手|原唱|作曲者|制片人|父亲|父親|母亲|母親|妻子|丈夫|儿子|兒子|女儿|女兒|"
    "老师|老師|总部|總部|首都|母公司|出版社|开发商|開發商|制造商|製造商|发明者|發明者|所在地|出生地|母校|继任者|繼任者|前任)"
)
_CHINESE_CUES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            "区别|區別|差异|差異|差别|差別|异同|異同|相比|对比|對比|优缺点|優缺點|利弊|优劣|優劣|孰|"
            "(?:哪[一]?[个個家种種款座位]?|谁|誰)(?:的[^，。？?]{1,8})?(?:更|比较|比較|较|較)|"
            "(?:有|有什么|有什麼|有何|有哪些|怎么|怎麼|如何)(?:什么|什麼|何|哪些)?(?:的)?不同|不同(?:之处|之處|点|點)|"
            "比较(?:一下)?.{1,20}[和与與跟]|比較(?:一下)?.{1,20}[和与與跟]|共同点|共同點|相同(?:之处|之處|点|點)|"
            "[^，。]{1,16}[和与與跟][^，。]{1,16}(?:一样|一樣|相同)|还是.*[更先早晚]|[更先早晚].*还是|[更先早晚].*還是"
        ),
        "compares",
    ),
    (
        re.compile(
            "分别(?!为政)|(?<!区)分別|各自|各(?:是|有|为|為|需|占|佔)(?:多|什|哪|几|幾|何|谁|要|怎)|依次"
        ),
        "asks the same of several things",
    ),
    (
        re.compile(
            f"[？?][^？?]*{_CHINESE_ASKING}|{_CHINESE_ASKING}[^，,；;？?]*(?:[，,；;]|以及|并且|並且|同时|同時)"
            f"(?:[^，,；;？?]*){_CHINESE_ASKING}"
        ),
        "asks several questions in one",
    ),
    (
        re.compile(
            "(?:原因|起因|成因|病因|症状|症狀|步骤|步驟|影响|影響|后果|後果|结果|結果)[、和与與及]+(?:以及)?[^，。？?]{0,6}"
            "(?:影响|影響|后果|後果|结果|結果|步骤|步驟|治疗|治療|解决|解決|措施|方法|过程|過程|意义|意義|原因|预防|預防)"
        ),
        "asks for causes and what follows from them",
    ),
    (
        re.compile(
            "[^，。、？?《》的]{1,12}、[^，。、？?《》的]{1,12}(?:、|和|与|與|以及|及)[^，。、？?《》]{1,14}(?:的|是|在|有|各|都)?[^，。]*"
            f"{_CHINESE_ASKING}|^[^，。、？?《》的是在]{{1,8}}(?:和|与|與|以及)[^，。、？?《》的是在]{{1,8}}的"
            f"(?!关系|關係|区|战|戰)[^，。？?的]{{1,10}}(?:是|有|为|為|都)?{_CHINESE_ASKING}|"
            f"的[^，。、？?《》的]{{1,8}}(?:、|和|与|與|以及|及)[^，。、？?《》的]{{1,8}}(?:是|有|各|都)(?:{_CHINESE_ASKING})"
        ),
        "enumerates several things",
    ),
    (
        re.compile(
            f"{_CHINESE_ROLE}的(?!是)[^，。？?]{{1,20}}{_CHINESE_ASKING}"
            f"|的{_CHINESE_ROLE}(?:毕业于|畢業於|出生于|出生在|还|還|曾)"
        ),
        "asks about something that is known only through another",
    ),
    (
        re.compile("(?:如果|假如|假设|假設|倘若)[^？?]{4,}(?:会|會|能|可以)"),
        "supposes something and asks what follows",
    ),
    (
        re.compile("(?:之前|以前)[和与與].*(?:之后|以后|之後|以後)|前后.{0,8}(?:变化|變化)"),
        "depends on another event",
    ),
    (
        re.compile(
            f"(?:每个|每個|每一|前[三四五六七八九十\\d]+(?:大|名|个|個|位)).*的.*{_CHINESE_ASKING}"
        ),
        "asks the same of several things",
    ),
)


def _chinese_reason(text: str) -> str | None:
    for pattern, reason in _CHINESE_CUES:
        if pattern.search(text):
            return reason
    return None
