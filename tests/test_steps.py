"""What the nodes do with the parts."""

from __future__ import annotations

from anabranch import steps
from anabranch.types import Variant
from fakes import World


def test_fewer_phrasings_than_asked_for_are_told_with_the_reason() -> None:
    variants = (Variant("annual leave days", "variant", 0.05, "content words only"),)
    shown = steps.shown_variants(variants, World().context(variants=4))
    assert (shown["variants"], shown["variants_asked"]) == (1, 4)
    assert "suggest no others" in str(shown["variants_reason"])


def test_as_many_phrasings_as_asked_for_need_no_reason() -> None:
    variants = (Variant("annual leave days", "variant", 0.05, "content words only"),)
    shown = steps.shown_variants(variants, World().context(variants=1))
    assert shown == {"variants": 1, "variants_asked": 1}
