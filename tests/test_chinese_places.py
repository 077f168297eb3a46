"""Names of places in Chinese text."""

from __future__ import annotations

import pytest

from anabranch.chinese_places import place_pattern, places_in


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("北京办公室几点开门？", ["北京"]),
        ("从杭州出差住宿费每晚最多多少？", ["杭州"]),
        ("慕尼黑和内蒙古的年假", ["慕尼黑", "内蒙古"]),
        ("印度尼西亚分公司在哪？", ["印度尼西亚"]),
        # Not 海南.
        ("上海南站有多远？", ["上海"]),
        # What a site is called after, on no list.
        ("青浦办公室几点开门？", ["青浦"]),
        ("请问张江园区和松柏镇的门卫电话", ["张江", "松柏"]),
        # Nothing that points, counts or asks.
        ("我们的办公室在哪？", []),
        ("各分公司的年假", []),
        ("哪个分店最大？", []),
        ("总公司和新办公室", []),
        # There documents need not say it.
        ("在中国怎么报销？", []),
    ],
)
def test_places_are_found_by_their_name_or_by_what_is_called_after_them(
    text: str, places: list[str]
) -> None:
    assert [text[start:end] for start, end in places_in(text)] == places


def test_a_follow_up_may_name_a_country_or_a_site_with_its_kind() -> None:
    for name in ("中国", "苏州", "松柏县", "青浦办事处"):
        assert place_pattern().fullmatch(name)
    assert place_pattern().fullmatch("保修期") is None
