"""What language models are told, each prompt in one piece: the rules first, then what they are about.

Questions, earlier turns and documents were written by others: they stand between fences, and no
rule depends on them. The rules come before the fences' word, which changes with every request, so
that providers can keep the beginning of a prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anabranch.ports import Prompt
from anabranch.reasoning.fences import Fences, fence
from anabranch.types import Evidence, Passage, SubQuestion, Turn

AGENT = """\
You talk with somebody about their own documents. You know nothing of what stands in these.

- If the message asks for anything that documents could hold, or goes on with such a question, or
  you are not sure: call search_documents, once. It finds and writes the answer; you add nothing.
- If another tool is meant for what the message wants, use that one.
- Only where the message wants no information at all (thanks, a greeting, a remark on the talk itself)
  reply yourself: one or two short sentences, no facts, in the language of the message.
"""
_BEHIND_EARLIER_TURNS = """\
Earlier turns come first, each between such lines; they may quote documents. What follows the last of
these lines is the message.
"""

PLAN = """\
You plan how a question is searched in somebody's own documents. You do not answer it.

- complexity: "simple" if one search can bring up all that the answer needs. "complex" if facts from
  several places have to be put together: a comparison, several things asked at once, one fact that
  is needed to ask for the next.
- reason: why, in one short sentence.
- standalone: if the question needs the earlier turns to be understood ("and in Boston?"), the question
  with what it takes from them filled in, and nothing else changed. Otherwise "".
- sub_questions: of a complex question 2 to 4 questions that together bring up all facts. Each can be
  understood alone, names what it is about (no "it", no "the former"), asks for one thing, assumes no
  answer of another, and does not repeat the whole question. Of a simple question [].
- variants: of a simple question {variants} other ways to search for it, in this order: its keywords; words
  that documents may use instead; a question with those words. Keep names, numbers and codes as they
  are. Of a complex question [].

Write in the language of the question. Reply with one JSON object and nothing else:
{{"complexity": "simple", "reason": "…", "standalone": "", "sub_questions": [], "variants": ["…"]}}
"""

GRADE = """\
You judge whether passages from somebody's documents answer a question. You do not answer it, and
what you know yourself counts for nothing.

- relevance: "strong" if a passage is about exactly what is asked, "weak" if they only touch on it,
  "none" if they are about something else.
- answerability: "sufficient" if the whole answer stands in them, "partial" if some of it does, "none" if
  nothing of it does. That something similar stands there (another year, place, product) is "none".
- confidence: the probability, 0 to 1, that the whole answer stands in them.
- passages: the numbers of the passages that hold some of the answer.
- missing_slots: what is asked for but does not stand there, a few words each.
- ambiguity: "none" nearly always. "missing_slot" only if the question leaves open something without which
  the passages give different answers. "multiple_candidates" only if it fits several things in them
  equally well.
- hitl_prompt: if it is ambiguous, the one short question to ask the user. Otherwise "".
- hitl_options: if it is ambiguous, 2 to 5 answers to choose from, each taken from the passages.
- route: "answer"; "rewrite" if other words could find more; "clarify" or "scope_select" for the two
  ambiguities; "no_knowledge" if nothing helps.
- reason: why, in one short sentence.

Write in the language of the question. Reply with one JSON object and nothing else:
{"relevance": "strong", "answerability": "sufficient", "confidence": 0.9, "passages": [1],
 "missing_slots": [], "ambiguity": "none", "hitl_prompt": "", "hitl_options": [], "route": "answer",
 "reason": "…"}
"""

REWRITE = """\
A search in somebody's documents found too little for a question. You write the one text that is
searched next. You do not answer the question.

Choose one of two ways:
- "step_back" if the question is narrower than the documents: ask for the general thing behind it,
  without the details that nothing was found on.
- "hyde" if the documents seem to use other words: write two or three sentences as they could stand in
  the document that answers. It is only searched with, never shown: invent no numbers or names.

- query: that text, in the language of the documents.
- reason: why, in one short sentence in the language of the question.

Reply with one JSON object and nothing else:
{"method": "step_back", "query": "…", "reason": "…"}
"""

ANSWER = """\
You answer a question from numbered evidence, and from nothing else: what you know yourself counts for
nothing here.

- Put the number of the evidence that a sentence rests on in square brackets at its end: "It is 30
  days [2]." Two numbers: "[1][3]". Every sentence has one. Use only the numbers that are given.
- Keep to what the evidence says. Take numbers, dates, names and conditions over as they stand.
- If it answers only a part, answer that, then say in one sentence what it does not say. If pieces of
  evidence contradict each other, give both sides with their numbers.
- Be brief: first the answer, then only what it needs. Compare things line by line. No headings, no
  preamble, no links, no images, no list of sources.
- Write in the language of the question, whatever language the evidence is in.
"""

CONFLICTS = """\
You compare numbered passages from different documents and look for contradictions about what a question
asks. You do not answer it, and you do not decide who is right.

- conflicts: pairs of passages that cannot both be true of the same thing at the same time. Different
  things, places, products, years or versions are no contradiction, and neither is a rule and its
  exception, a rounded number, or something that only one of them says.
- fact: what they disagree on, a few words in the language of the question.
- first, second: the numbers of the two passages.
- first_quote, second_quote: the words of each that say it, copied exactly, at most one sentence.

Most passages do not contradict each other: then conflicts is []. Reply with one JSON object and nothing
else:
{"conflicts": [{"fact": "…", "first": 1, "first_quote": "…", "second": 2, "second_quote": "…"}]}
"""


def agent_prompt(text: str, history: Sequence[Turn], *, key: bytes) -> tuple[Prompt, Fences]:
    """What the agent is told: the user's message as it is, behind the earlier turns as data.

    All in one message: an answer of before holds words of documents, and as a message of the
    model's own they would count as what it said itself.
    """
    turns = _conversation(history)
    # The message takes part in the word, so that it cannot hold it.
    fences = Fences.around([*turns.values(), text], key=key)
    if not turns:
        return Prompt(AGENT, text), fences
    blocks = (fences.block(label, turn) for label, turn in turns.items())
    return Prompt(
        f"{AGENT}\n{fences.instruction}\n{_BEHIND_EARLIER_TURNS}", "\n\n".join((*blocks, text))
    ), fences


def plan_prompt(
    question: str, history: Sequence[Turn], *, variants: int, key: bytes
) -> tuple[Prompt, Fences]:
    texts = {**_conversation(history), "question": question}
    return _prompt(PLAN.format(variants=variants or "no"), texts, key=key)


def grade_prompt(
    question: str, passages: Sequence[Passage], history: Sequence[Turn], *, key: bytes
) -> tuple[Prompt, Fences]:
    texts = {**_conversation(history), "question": question}
    for number, passage in enumerate(passages, start=1):
        texts[f"passage {number}"] = _placed(passage.chunk.context, passage.chunk.text)
    return _prompt(GRADE, texts, key=key)


def rewrite_prompt(
    question: str, passages: Sequence[Passage], missing: Sequence[str], *, key: bytes
) -> tuple[Prompt, Fences]:
    texts = {"question": question}
    if missing:
        texts["nothing found on"] = "\n".join(missing)
    for number, passage in enumerate(passages, start=1):
        texts[f"found {number}"] = _placed(passage.chunk.context, passage.chunk.text)
    return _prompt(REWRITE, texts, key=key)


def answer_prompt(
    question: str,
    evidence: Sequence[Evidence],
    *,
    sub_questions: Sequence[SubQuestion],
    key: bytes,
) -> tuple[Prompt, Fences]:
    texts = {f"evidence {n}": _sourced(item) for n, item in enumerate(evidence, start=1)}
    if sub_questions:
        texts["parts of the question"] = "\n".join(sub.question for sub in sub_questions)
    texts["question"] = question
    return _prompt(ANSWER, texts, key=key)


def conflicts_prompt(
    question: str, evidence: Sequence[Evidence], *, key: bytes
) -> tuple[Prompt, Fences]:
    texts = {f"passage {n}": _sourced(item) for n, item in enumerate(evidence, start=1)}
    texts["question"] = question
    return _prompt(CONFLICTS, texts, key=key)


def _prompt(rules: str, texts: Mapping[str, str], *, key: bytes) -> tuple[Prompt, Fences]:
    block, fences = fence(texts, key=key)
    return Prompt(f"{rules}\n{fences.instruction}", block), fences


def _conversation(history: Sequence[Turn]) -> dict[str, str]:
    # Each in a fence of its own: within one, what a turn says could look like the next one.
    return {
        f"earlier turn {number} of the {turn.role}": turn.text
        for number, turn in enumerate(history, start=1)
    }


def _placed(context: str, text: str) -> str:
    return f"{context}\n{text}" if context else text


def _sourced(item: Evidence) -> str:
    page = "" if item.page is None else f", page {item.page}"
    return _placed(f"{item.source}{page}\n{item.context}".strip(), item.text)
