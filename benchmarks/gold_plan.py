"""What a perfect planner is worth: a data set's human sub-questions in place of the plan made here.

    python benchmarks/gold_plan.py DATASET [--cache DIR] [--limit N] [--jobs N]

DATASET is a BEIR folder whose queries carry ``sub_questions``. They are what a scripted language model
replies over HTTP, so that the whole way of a model's plan is measured. The grading stays local. Two
readings of a sub-question that refers to an earlier one ("Who founded #1?"): with the earlier answer
filled in (``answers``: as if each hop knew the last, an upper bound), and with the earlier question in
its place (``questions``: what can be asked at once).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from anabranch.evaluation.datasets import load_dataset  # noqa: E402
from anabranch.evaluation.evaluation import Request, evaluate  # noqa: E402
from anabranch.evaluation.runs import Way  # noqa: E402
from anabranch.settings import load_settings  # noqa: E402
from scripted_model import SIMPLE, Line, ScriptedModel, question_of, role_of  # noqa: E402

_REFERENCE = re.compile(r"#(\d)")


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


def measured(arguments: argparse.Namespace, fill: str, before: Path, saved: Path) -> dict[str, Any]:
    """The comparison of the scripted plan with the run in ``before``."""
    dataset = load_dataset(arguments.dataset, limit=arguments.limit)
    plans = {
        " ".join(query.text.split()): sub_questions(
            query.metadata.get("sub_questions", ()), fill=fill
        )
        for query in dataset.queries
    }

    def reply(request: Mapping[str, Any]) -> Any:
        parts = plans.get(question_of(request), [])
        if role_of(request) != "plan":
            return Line(status=401, say="plans only")
        return {**SIMPLE, "complexity": "complex" if len(parts) > 1 else "simple",
                "reason": "as people took it apart", "sub_questions": parts}  # fmt: skip

    with ScriptedModel(reply) as server:
        settings = load_settings(fast_model="openai:scripted", model_base_url=server.url)
        request = Request(
            arguments.dataset, limit=arguments.limit, cache=arguments.cache, save=saved,
            compare=before, way=Way(jobs=arguments.jobs),
        )  # fmt: skip
        report = evaluate(request, settings=settings)
        asked = len(server.calls("plan"))
    return {
        "plans_asked_for": asked,
        "metrics": report["metrics"],
        "comparison": report["comparison"]["metrics"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder) / "local.json"
        request = Request(
            arguments.dataset, limit=arguments.limit, cache=arguments.cache, save=local,
            way=Way(jobs=arguments.jobs),
        )  # fmt: skip
        report = evaluate(request, settings=load_settings())
        found: dict[str, Any] = {"local": report["metrics"]}
        for fill in ("questions", "answers"):
            found[fill] = measured(arguments, fill, local, Path(folder) / f"{fill}.json")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
