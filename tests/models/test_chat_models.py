"""Settings become models by role; keys and addresses stay with the provider they belong to."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.errors import ConfigurationError
from anabranch.ledger import Ledger
from anabranch.models.chat import ChatClient
from anabranch.models.chat_models import ChatModels, model_names
from anabranch.settings import load_settings

KEY = "sk-secret-0123456789"


def models(**settings: Any) -> ChatModels:
    return ChatModels(load_settings(**settings))


def client(of: ChatModels, role: str) -> ChatClient:
    return dict(of)[role]  # type: ignore[index]


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, {}),
        ({"model": "openai:a"}, dict.fromkeys(("plan", "grade", "rewrite", "answer"), "openai:a")),
        (
            {"model": "openai:a", "fast_model": "openai:b", "grade_model": "openai:c"},
            {"plan": "openai:b", "grade": "openai:c", "rewrite": "openai:b", "answer": "openai:a"},
        ),
        ({"grade_model": "openai:c"}, {"grade": "openai:c"}),
    ],
)
def test_each_role_has_its_model_or_the_main_one(
    settings: dict[str, Any], names: dict[str, str]
) -> None:
    assert model_names(load_settings(**settings)) == names
    found = models(**settings)
    assert bool(found) == bool(names)
    assert {role: of.name for role, of in found} == names


def test_a_role_without_a_model_has_none() -> None:
    found = models(grade_model="openai:c")
    assert found.in_role("answer", Ledger(), lambda: 1.0) is None
    assert found.in_role("grade", Ledger(), lambda: 1.0) is not None


def test_one_model_in_several_roles_is_one_client() -> None:
    found = models(model="openai:a", grade_model="openai:c")
    assert client(found, "plan") is client(found, "answer")
    assert client(found, "grade") is not client(found, "answer")


def test_models_of_one_provider_share_its_limits_and_others_have_their_own() -> None:
    found = models(model="openai:a", fast_model="openai:b", grade_model="anthropic:c")
    assert client(found, "plan")._limits is client(found, "answer")._limits
    assert client(found, "grade")._limits is not client(found, "answer")._limits


def test_the_key_and_the_address_go_to_the_main_models_provider_alone() -> None:
    found = models(
        model="openai:a", model_base_url="http://127.0.0.1:9/v1", model_api_key=KEY,
        fast_model="openai:b", grade_model="anthropic:c",
    )  # fmt: skip
    for role, of in found:
        own = role != "grade"
        assert of.base_url == ("http://127.0.0.1:9/v1" if own else None)
        assert of.authorization == ({"Authorization": f"Bearer {KEY}"} if own else {})


def test_an_address_without_a_model_says_what_is_missing() -> None:
    with pytest.raises(ConfigurationError, match="ANABRANCH_MODEL"):
        models(model_base_url="http://127.0.0.1:9/v1")


def test_prices_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_MODEL", "openai:a")
    monkeypatch.setenv("ANABRANCH_MODEL_PRICES", '{"openai:a": [1.0, 2.0]}')
    ledger = ChatModels(load_settings()).ledger()
    call = ledger.begin("plan", "openai:a")
    call.input_tokens, call.output_tokens = 1_000_000, 500_000
    assert ledger.usage().cost == pytest.approx(2.0)


def test_the_key_is_in_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_MODEL_API_KEY", KEY)
    settings = load_settings(model="openai:a")
    assert KEY not in f"{settings!r} {settings} {settings.model_dump()}"
    with pytest.raises(ConfigurationError) as raised:
        load_settings(model_api_key=["x", KEY])
    assert KEY not in str(raised.value)
