"""What a perfect planner is worth: people's own plans in place of the plan made here.

    python benchmarks/gold_plan.py DATASET [--split NAME] [--cache DIR] [--limit N] [--jobs N]

What people wrote is what a scripted language model replies over HTTP, so that the whole way of a
model's plan is measured. The grading stays local. DATASET is a BEIR folder whose queries carry

``sub_questions``: the parts of the question. Two readings of one that refers to an earlier one ("Who
founded #1?"): with the earlier question in its place (``questions``: what can be asked at once), and
with the earlier answer filled in where the set has answers (``answers``: as if each hop knew the last,
an upper bound).

``rewrite`` and ``history``: the question as it stands on its own. A set without documents is searched
in what its conversations answer (``conversations.py``), and beside what is found, the likeness of the
question completed here to people's rewrite is told.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT)]

from benchmarks.conversations import likeness, write_searchable  # noqa: E402

from anabranch.evaluation import labels  # noqa: E402
from anabranch.evaluation.datasets import EvalQuery, load_dataset  # noqa: E402
from anabranch.evaluation.evaluation import Request, evaluate  # noqa: E402
from anabranch.evaluation.runs import Way  # noqa: E402
from anabranch.reasoning.llm_planning import TURNS_READ  # noqa: E402
from anabranch.settings import load_settings  # noqa: E402
from scripted_model import SIMPLE, Line, ScriptedModel, question_of, role_of  # noqa: E402

# Of each turn a planner reads more than this.
_SURE_CHARACTERS = 500
_REFERENCE = re.compile(r"#(\d)")
Plan = Mapping[str, Any]
# The plan for what a request to the model asks.
Planner = Callable[[Mapping[str, Any]], Plan]


def sub_questions(steps: Sequence[Any], *, fill: str) -> list[str]:
    """The human steps as questions that stand alone; ``fill``: ``answers`` or ``questions``."""
    texts = [step["question"] if isinstance(step, Mapping) else str(step) for step in steps]
    answers = [str(step.get("answer", "")) if isinstance(step, Mapping) else "" for step in steps]
    made: list[str] = []
    for text in texts:

        def earlier(match: re.Match[str]) -> str:
            index = int(match[1]) - 1
            if fill == "answers" and index < len(answers) and answers[index]:
                return answers[index]
            return made[index].rstrip(" ?.") if index < len(made) else match[0]

        made.append(_REFERENCE.sub(earlier, text).replace(" >> ", " "))
    return made


def parts_planner(queries: Sequence[EvalQuery], *, fill: str) -> Planner:
    """Plans with people's sub-questions."""
    plans = {
        " ".join(query.text.split()): sub_questions(
            query.metadata.get("sub_questions", ()), fill=fill
        )
        for query in queries
    }

    def plan(request: Mapping[str, Any]) -> Plan:
        parts = plans.get(question_of(request), [])
        return {**SIMPLE, "complexity": "complex" if len(parts) > 1 else "simple",
                "reason": "as people took it apart", "sub_questions": parts}  # fmt: skip

    return plan


def rewrite_planner(queries: Sequence[EvalQuery]) -> Planner:
    """Plans with people's rewrites.

    Many conversations have the same question ("Why?"): which one it is, the turns before it tell.
    """
    same: dict[str, list[tuple[list[str], str]]] = defaultdict(list)
    for query in queries:
        question = " ".join(query.text.split())
        same[question].append((_said(query), str(query.metadata["rewrite"])))

    def plan(request: Mapping[str, Any]) -> Plan:
        asked = " ".join(str(request["messages"][-1]["content"]).split())
        meant = [
            (len(said), rewrite)
            for said, rewrite in same[question_of(request)]
            if all(text in asked for text in said)
        ]
        longest = max((count for count, _ in meant), default=0)
        if not longest:  # nothing was said before: there is nothing to rewrite by
            return SIMPLE
        # The beginning of another conversation may be in this one; the whole of it is not.
        rewrites = {rewrite for count, rewrite in meant if count == longest}
        if len(rewrites) != 1:
            raise LookupError(f"{len(rewrites)} rewrites for {question_of(request)!r}")
        return {**SIMPLE, "standalone": rewrites.pop()}

    return plan


def _said(query: EvalQuery) -> list[str]:
    """What a planner reads of the turns before ``query``, as far as it is sure to be whole."""
    turns = labels.history(query)[-TURNS_READ:]
    return [" ".join(turn.text.split())[:_SURE_CHARACTERS] for turn in turns]


def measured(asking: Request, planner: Planner) -> dict[str, Any]:
    """The comparison of the scripted plans with the run that ``asking`` compares with."""

    def reply(request: Mapping[str, Any]) -> Any:
        return (
            planner(request) if role_of(request) == "plan" else Line(status=401, say="plans only")
        )

    with ScriptedModel(reply) as server:
        settings = load_settings(fast_model="openai:scripted", model_base_url=server.url)
        report = evaluate(asking, settings=settings)
        asked = len(server.calls("plan"))
    return {
        "plans_asked_for": asked,
        "metrics": report["metrics"],
        "comparison": report["comparison"]["metrics"],
        **({"failures": report["failures"]} if "failures" in report else {}),
    }


def planners(queries: Sequence[EvalQuery]) -> dict[str, Planner]:
    """What the set's labels allow to be replied, by name."""
    if any(query.metadata.get("rewrite") for query in queries):
        # Beside people's rewrites, what the question finds without any completion.
        return {"as_asked": lambda request: SIMPLE, "rewrites": rewrite_planner(queries)}
    fills = ["questions"]
    steps = (step for query in queries for step in query.metadata.get("sub_questions", ()))
    if any(isinstance(step, Mapping) and step.get("answer") for step in steps):
        fills.append("answers")
    return {fill: parts_planner(queries, fill=fill) for fill in fills}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--split")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found: dict[str, Any] = {}
        dataset = load_dataset(arguments.dataset, split=arguments.split)
        searched = arguments.dataset
        if dataset.corpus is None:
            found["likeness"] = likeness(dataset.queries)
            searched = folder / dataset.name
            write_searchable(dataset.queries, searched)
            dataset = load_dataset(searched)
        local = Request(
            searched, split=arguments.split, limit=arguments.limit, cache=arguments.cache,
            save=folder / "local.json", way=Way(jobs=arguments.jobs),
        )  # fmt: skip
        report = evaluate(local, settings=load_settings())
        found |= {"queries": report["queries"], "local": report["metrics"]}
        for name, planner in planners(dataset.queries).items():
            asking = replace(local, save=folder / f"{name}.json", compare=local.save)
            found[name] = measured(asking, planner)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
