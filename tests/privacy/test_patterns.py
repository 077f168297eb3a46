"""What is recognised as personal by its form and its check digits."""

from __future__ import annotations

import pytest

from anabranch.errors import ConfigurationError
from anabranch.privacy.findings import merged
from anabranch.privacy.patterns import PatternFinder

FINDER = PatternFinder(("US", "GB", "DE", "CN"))


def found(text: str) -> list[tuple[str, str]]:
    return [(one.kind, text[one.start : one.end]) for one in merged(text, FINDER.find(text))]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("EMAIL", "ann.berg+leave@mail.example.co.uk"),
        ("EMAIL", "张伟@例子.公司"),
        ("EMAIL", "Ann_Berg@EXAMPLE.org"),
        ("PHONE", "+49 30 901820"),
        ("PHONE", "030 901820"),
        ("PHONE", "(212) 555-2368"),
        ("PHONE", "13812345678"),
        ("PHONE", "+86 138 1234 5678"),
        ("PHONE", "020 7946 0958"),
        ("CARD", "4111 1111 1111 1111"),
        ("CARD", "5500005555555559"),
        ("CARD", "6212345678901232"),
        ("IBAN", "DE89 3704 0044 0532 0130 00"),
        ("IBAN", "GB82WEST12345698765432"),
        ("IBAN", "fr14 2004 1010 0505 0001 3m02 606"),
        ("ID", "11010519491231002X"),
        ("ID", "536-90-4399"),
        ("ID", "AB 12 34 56 C"),
        ("ID", "943 476 5919"),
        ("ID", "36 574 261 809"),
        ("ID", "2 95 10 99 126 111 93"),
        ("ID", "54362315K"),
        ("ID", "X-2482300W"),
        ("ID", "RCCMNL83S18D969H"),
        ("ID", "390.533.447-05"),
        ("ID", "880320-0016"),
        ("ID", "971013-9019902"),
        ("ID", "756.9217.0769.85"),
        ("ID", "ACUPA7085R"),
        ("IP", "192.168.0.17"),
        ("IP", "2001:db8::8a2e:370:7334"),
        ("IP", "fe80::1"),
    ],
)
@pytest.mark.parametrize(
    "around", ["{}", "Write to {}.", "“{}”, please", "请联系{}。", "({})", "a\n{}\nb"]
)
def test_it_is_found_wherever_it_stands(kind: str, value: str, around: str) -> None:
    if kind == "EMAIL" and value.startswith("张") and around.startswith("请"):
        pytest.skip("Chinese letters before a Chinese address may belong to it")
    [(found_kind, found_value)] = found(around.format(value))
    assert (found_kind, found_value) == (kind, value)


@pytest.mark.parametrize(
    "text",
    [
        "Founded in 1998, revenue 1,500,000 in 2023-2024.",
        "ISO 9001:2015, pages 100-200 of 2000, 12.05.2024, 10:30:45.",
        "Version 1.2.3, build 20240512, section 4.1.2.3.5, a::b and ::",
        "Order 1234567890123, 3.14159265, 2^64 = 18446744073709551616",
        "Card 4111 1111 1111 1112 and IBAN DE89 3704 0044 0532 0130 02",
        "身份证样例11010519491231002Y，2024年5月12日，共1500人",
        "user@localhost, @name, a@b",
        "At 2021-12-29 14:05. Since 1990, passengers 20000, in 1609–1626 and 1682 -1745, 1600 1752, Fontaine 16441",
    ],
)
def test_other_figures_are_left_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Passport no. C01X00T47 expires", "C01X00T47"),
        ("护照号码：E12345678。", "E12345678"),
        ("Her driver's licence is D123-4567-8901.", "D123-4567-8901"),
        ("Social security number: 078051120", "078051120"),
        ("Tel.: 01234-56789", "01234-56789"),
        ("电话：66778899", "66778899"),
    ],
)
def test_a_word_before_it_says_what_it_is(text: str, value: str) -> None:
    assert [item for _, item in found(text)] == [value]


def test_an_address_ends_where_chinese_goes_on() -> None:
    assert found("举报邮箱ann@mail.example.com举报电话") == [("EMAIL", "ann@mail.example.com")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("In 2024 4111 1111 1111 1111 was used", "4111 1111 1111 1111"),
        ("Nr. 12 DE89 3704 0044 0532 0130 00 since 2019", "DE89 3704 0044 0532 0130 00"),
        ("at 192.168.0.17 13812345678", "13812345678"),
        ("378282246310005", "378282246310005"),
    ],
)
def test_what_stands_before_a_number_does_not_hide_it(text: str, value: str) -> None:
    assert value in [item for _, item in found(text)]


def test_one_number_written_in_two_ways_has_one_key() -> None:
    findings = list(FINDER.find("+49 30 901820 or 030 901820"))
    assert len({one.key for one in findings}) == 1
    assert len(findings) == 2


def test_what_overlaps_or_touches_is_one_finding() -> None:
    assert found("a@b.de,192.168.0.1 and 192.168.0.1a@b.de") == [
        ("EMAIL", "a@b.de"), ("IP", "192.168.0.1"), ("EMAIL", "192.168.0.1a@b.de"),
    ]  # fmt: skip


def test_a_region_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'Mars'"):
        PatternFinder(("Mars",))
