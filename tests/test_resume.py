"""A snapshot comes back as it left, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anabranch.errors import SnapshotError
from anabranch.resume import (
    MAX_REPLY_CHARACTERS,
    Snapshot,
    SnapshotScope,
    clarification_id,
    join_question,
    scope_fingerprint,
    sign,
    validate,
)
from anabranch.types import Scope
from fakes import KEY, replied


def snapshot(**changes: Any) -> Snapshot:
    values: dict[str, Any] = {
        "id": "0123456789abcdef", "question": "How much leave is there?", "route": "clarify",
        "status": "needs_clarification", "prompt": "Which office?", "options": ("Berlin", "波士顿"),
        "index_fingerprint": "version-1", "settings_fingerprint": "f",
        "scope": SnapshotScope(collections=("handbook",)),
    }  # fmt: skip
    return Snapshot(**{**values, **changes})


def signed(**changes: Any) -> dict[str, Any]:
    return sign(snapshot(**changes), KEY)


def test_a_reply_joins_the_question() -> None:
    known = replied(signed(), " the Berlin office ")
    assert known.refined_question() == "How much leave is there? the Berlin office"
    assert known.question == "How much leave is there?"


def test_a_reply_joins_the_question_as_it_stands_on_its_own() -> None:
    made = signed(question="And in Boston?", standalone="How much leave is there in Boston?")
    known = replied(made, "for interns")
    assert known.refined_question() == "How much leave is there in Boston? for interns"
    assert known.question == "And in Boston?"


def test_a_snapshot_from_before_there_were_follow_ups_is_still_known() -> None:
    made = signed()
    assert "standalone" not in made
    assert replied(made, "Berlin").standalone == ""


@pytest.mark.parametrize("reply", ["2", "２", "option 2", "the second one", "第二个"])
def test_the_number_of_an_option_joins_its_words(reply: str) -> None:
    known = replied(signed(), reply)
    assert known.replies == ("波士顿",)
    assert known.refined_question() == "How much leave is there? 波士顿"


@pytest.mark.parametrize("reply", ["neither", "hmm not sure", "不知道"])
def test_a_reply_that_chooses_nothing_leaves_the_question_as_it_was(reply: str) -> None:
    known = replied(signed(replies=("for interns",)), reply)
    assert known.refined_question() == "How much leave is there? for interns"


def test_a_reply_that_is_a_question_stays_a_reply() -> None:
    known = replied(signed(), "Where is the canteen?")
    assert known.replies == ("Where is the canteen?",)


def test_a_second_reply_stands_behind_the_first() -> None:
    known = replied(signed(replies=("Berlin",)), "for interns")
    assert known.refined_question() == "How much leave is there? Berlin for interns"
    assert join_question("年假有多少天？", ["柏林"]) == "年假有多少天？ 柏林"


def test_a_snapshot_survives_json_in_any_order_of_its_keys() -> None:
    travelled = json.loads(json.dumps(signed(), sort_keys=True))
    assert replied(travelled, "Berlin").options == ("Berlin", "波士顿")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("question", "What does the director earn?"),
        ("asked", 3),
        ("rewrite_count", 1),
        ("scope", {"collections": None, "sources": None}),
        ("scope", {"collections": ["handbook", "salaries"], "sources": None}),
        ("options", []),
        ("signature", "0" * 64),
        ("signature", ""),
        ("signature", None),
        ("signature", "\ud800"),
        ("signature", "签名"),
    ],
)
def test_a_snapshot_that_was_changed_is_refused(field: str, value: Any) -> None:
    with pytest.raises(SnapshotError, match="signature does not fit"):
        validate({**signed(), field: value}, KEY)


def test_a_snapshot_of_another_knowledge_base_is_refused() -> None:
    with pytest.raises(SnapshotError, match="another knowledge base"):
        validate(signed(), b"another key" * 3)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("route", "answer"), ("asked", 0), ("asked", "many"), ("question", ""), ("id", "x"),
        ("question", "\ud800"), ("documents", ["secret"]), ("prompt", "x" * 5_000),
    ],
)  # fmt: skip
def test_a_damaged_snapshot_names_the_field(field: str, value: Any) -> None:
    with pytest.raises(SnapshotError, match=f"damaged: field '{field}'"):
        validate({**signed(), field: value}, KEY)


def test_a_snapshot_without_a_field_is_damaged() -> None:
    plain = signed()
    del plain["question"]
    with pytest.raises(SnapshotError, match="damaged"):
        validate(plain, KEY)


@pytest.mark.parametrize("foreign", [{"schema": "anabranch.outcome/1"}, {"a": 1}, {"schema": None}])
def test_something_else_than_a_snapshot_is_said_to_be_one(foreign: dict[str, Any]) -> None:
    with pytest.raises(SnapshotError, match="not a resume snapshot"):
        validate(foreign, KEY)


@pytest.mark.parametrize("foreign", [["a"], "text", 7])
def test_a_value_that_is_no_object_is_refused(foreign: Any) -> None:
    with pytest.raises(SnapshotError, match="not a resume snapshot but a"):
        validate(foreign, KEY)


@pytest.mark.parametrize("nothing", [None, {}])
def test_without_an_open_question_there_is_nothing_to_reply_to(nothing: Any) -> None:
    with pytest.raises(SnapshotError, match="no open question"):
        validate(nothing, KEY)


@pytest.mark.parametrize("reply", ["", "  \n"])
def test_a_blank_reply_is_refused(reply: str) -> None:
    with pytest.raises(SnapshotError, match="blank"):
        replied(signed(), reply)


def test_a_reply_is_read_up_to_its_limit_and_can_be_asked_about_again() -> None:
    longest = "x" * MAX_REPLY_CHARACTERS
    known = replied(signed(), longest)
    again = sign(Snapshot(**known.model_dump()), KEY)
    assert replied(again, "Berlin").replies == (longest, "Berlin")
    with pytest.raises(SnapshotError, match="at most"):
        replied(signed(), longest + "x")


def test_a_snapshot_holds_no_documents() -> None:
    assert set(signed()) == {
        "schema", "id", "question", "replies", "route", "status", "prompt", "options",
        "rewrite_count", "asked", "complexity", "complexity_reason", "plan", "scope",
        "index_fingerprint", "settings_fingerprint", "signature",
    }  # fmt: skip


def test_the_scope_of_a_snapshot_keeps_nothing_apart_from_everything() -> None:
    known = validate(signed(scope=SnapshotScope(collections=(), sources=None)), KEY)
    assert known.scope.to_scope() == Scope(collections=(), sources=None)


def test_the_id_is_the_same_wherever_the_same_question_is_asked_back() -> None:
    here = clarification_id("Q?", ["a"], "Which?")
    assert here == clarification_id("Q?", ("a",), "Which?")
    assert here != clarification_id("Q?", [], "Which?")
    assert here != clarification_id("Q?", ["a"], "Which one?")


def test_the_fingerprint_of_a_scope_takes_no_order_and_its_key_to_try() -> None:
    made = scope_fingerprint(Scope(("a", "b"), None, ("ann", "hr")), KEY)
    assert scope_fingerprint(Scope(("b", "a", "a"), None, ("hr", "ann")), KEY) == made
    others = [
        scope_fingerprint(Scope(("a", "b"), None, ("ann", "hr")), b"another key"),
        scope_fingerprint(Scope(("a", "b"), None, ("ann",)), KEY),
        scope_fingerprint(Scope(("a", "b"), (), ("ann", "hr")), KEY),
        scope_fingerprint(Scope(("a", "b"), None, None), KEY),
    ]
    assert len({made, *others}) == 5


def test_a_snapshot_that_does_not_tell_its_scope_fits_any() -> None:
    assert "scope_fingerprint" not in signed()
    assert validate(signed(), KEY).was_asked_in(Scope(("default",)), KEY)


def test_who_sees_nothing_may_reply_to_what_was_asked_of_nothing() -> None:
    known = snapshot(scope=SnapshotScope(collections=()))
    assert known.reach_of(Scope(("gone",))) == Scope(())
