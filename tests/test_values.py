"""Values in sentences are read with their units, in English and in Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.values import values


def read(text: str) -> list[tuple[str, str, tuple[float, ...]]]:
    return [(text[v.start : v.end], v.unit, v.amount) for v in values(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("changed every 30 days and", ("30 days", "day", (30.0,))),
        ("after twenty-one days", ("twenty-one days", "day", (21.0,))),
        ("within two weeks", ("two weeks", "day", (14.0,))),
        ("covered for one year", ("one year", "month", (12.0,))),
        ("30 vacation days", ("30 vacation days", "vacat day", (30.0,))),
        ("12.6 million euros", ("12.6 million euros", "€", (12_600_000.0,))),
        ("€1,200 a month", ("€1,200", "€", (1_200.0,))),
        ("by 17 per cent", ("17 per cent", "%", (17.0,))),
        ("opens at 7:30 in", ("7:30", "time of day", (450.0,))),
        ("until 3:15 p.m.", ("3:15 p.m.", "time of day", (915.0,))),
        ("on 11 March 2026, from", ("11 March 2026", "date", (2026.0, 3.0, 11.0))),
        ("founded in 1987.", ("1987", "date", (1987.0, 0.0, 0.0))),
        ("保修期为三十六个月", ("三十六个月", "month", (36.0,))),
        ("每年30天年假", ("30天", "day", (30.0,))),
        ("共一万二千三百元", ("一万二千三百元", "¥", (12_300.0,))),
        ("2026年3月11日", ("2026年3月11日", "date", (2026.0, 3.0, 11.0))),
    ],
)
def test_a_value_is_read_with_its_unit(
    text: str, found: tuple[str, str, tuple[float, ...]]
) -> None:
    assert read(text) == [found]


@pytest.mark.parametrize(
    "text", ["version 2.4.1", "Article 102 prohibits", "room 12 upstairs", "pages 2-3", "no figure"]
)
def test_numbers_that_only_name_something_are_no_values(text: str) -> None:
    assert read(text) == []


def test_the_same_span_of_time_in_other_units_does_not_differ() -> None:
    months, year = next(values("12 months")), next(values("one year"))
    assert not months.differs(year)
    assert months.differs(next(values("18 months")))


def test_a_date_differs_only_in_what_both_say() -> None:
    full, day, year = (next(values(t)) for t in ("11 March 2026", "March 11", "in 2025."))
    assert not full.differs(day)
    assert full.differs(year)


def test_values_of_different_units_are_not_compared() -> None:
    assert not next(values("30 days")).differs(next(values("90 euros")))


PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            ["5", "1,000", "1.2.3", "twenty-one", "三十", "两", "万", "million", "€", "%", "per cent", "days",
             "天", "年", "月", "日", "March", "2024", "-", "/", ":", "am", "\u00a0", "\u2009", " ", "\n", "٣", "５"]
        ),
        st.text(max_size=2),
    ),
    max_size=8,
).map("".join)  # fmt: skip


@given(PIECES)
def test_any_text_has_values_or_none(text: str) -> None:
    assert all(0 <= value.start < value.end <= len(text) for value in values(text))


def test_a_scale_stands_behind_any_kind_of_space() -> None:
    [value] = values("It cost 5\u00a0million euros.")
    assert value.amount == (5_000_000.0,)
