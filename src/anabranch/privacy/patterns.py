"""What is known by its form and its check digits: addresses, accounts, cards and identity numbers.

The checks are those of python-stdnum and phonenumbers. A number whose check would pass by chance one
time in ten needs its usual separators, or a word before it that says what it is.
"""

from __future__ import annotations

import importlib
import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from anabranch.errors import ConfigurationError, MissingExtraError
from anabranch.privacy.findings import WORD_CHARACTERS, Finding

_EMAIL = re.compile(
    r"[\w.!#$%&'*+/=?^`{|}~-]+[@＠](?:[^\W_](?:[\w-]*[^\W_])?\.)+"
    # "com" ends where Chinese goes on without a space; Chinese endings are short.
    r"(?:[A-Za-z]{2,24}|[^\W\d_A-Za-z]{2,4})(?![A-Za-z_-])"
)
# Where CJK text runs into an address, the address is its last stretch of other characters.
_BEFORE_EMAIL = re.compile(r"^.*[\u2e80-\u9fff\uf900-\ufaff](?=[\x21-\x7e])|^['`{|]+", re.DOTALL)
_IPV4 = re.compile(r"(?<![A-Za-z0-9_.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?[A-Za-z0-9_])")
_IPV6 = re.compile(
    r"(?<![A-Za-z0-9_:.])(?=[0-9A-Fa-f:.]*:[0-9A-Fa-f.]*:)[0-9A-Fa-f:]{2,}(?:(?:\d{1,3}\.){3}\d{1,3})?(?![A-Za-z0-9_:])"
)
# Looked for from every place, for what stands before a number must not use up its beginning: "in 2024
# 4111 1111 1111 1111".
_CARD = re.compile(r"(?<![A-Za-z0-9_-])(?=([2-6]\d{3}(?:[ \u00a0-]?\d){9,15}))")
_IBAN = re.compile(r"(?<![A-Za-z0-9])(?=([A-Za-z]{2}\d{2}(?:[ \u00a0-]?[A-Za-z0-9]){11,30}))")
# How many digits the cards have that begin so (ISO/IEC 7812, as the networks give them out).
_CARD_LENGTHS = (
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[0-8]|2[2-7]|35|6"), (16, 17, 18, 19)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"3[0689]"), (14, 16)),
)
# Seven digits or more with what stands between the digits of a phone number, and an extension: the
# libraries read only these stretches, a fortieth of the time that whole passages take.
_MAYBE_PHONE = re.compile(
    r"(?<![A-Za-z0-9_])(?:[+＋]\s?|[(（][+＋]?(?=\d{1,6}[)）]))?\d(?:[\s().\-–/·（）－]{0,3}\d){6,16}(?!\d)"
    r"(?:[ ,;]{0,3}(?:ext\.?|extension|x|#|转|轉|分机)[ .:：]{0,2}\d{1,6})?(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
# One without separators, whatever figures stand before it.
_DIGITS = re.compile(r"(?<![A-Za-z0-9_])[+＋]?\d{7,15}(?![A-Za-z0-9_])")
_LEAST_PHONE_DIGITS = 7
_YEARS = re.compile(r"\b\d{4}-\d\d-\d\d\b|\b(?:1[5-9]|20)\d\d\s?[-–]?\s?(?:1[5-9]|20)\d\d\b")
# Six digits in a row or nearly, or the letters and digits of the few numbers that have less.
_MAYBE_ID = re.compile(r"(?:\d[ .\-/+]?){6}|\d{4}[A-Za-z]|[A-Za-z]{6}\d")

# Module of stdnum, and the form in which the number is written.
_IDS: tuple[tuple[str, str], ...] = (
    ("cn.ric", r"\d{17}[\dXx]"),
    ("us.ssn", r"\d{3}-\d{2}-\d{4}"),
    ("us.itin", r"9\d{2}-\d{2}-\d{4}"),
    ("gb.nhs", r"\d{3}[ -]\d{3}[ -]\d{4}"),
    ("de.idnr", r"\d{2} ?\d{3} ?\d{3} ?\d{3}"),
    ("fr.nir", r"[1-478] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}"),
    ("es.dni", r"\d{8}-?[A-Za-z]"),
    ("es.nie", r"[XYZxyz]-?\d{7}-?[A-Za-z]"),
    ("it.codicefiscale", r"[A-Za-z]{6}\d\w[A-Za-z]\d\w[A-Za-z]\w{3}[A-Za-z]"),
    ("pl.pesel", r"\d{11}"),
    ("nl.bsn", r"\d{4}[. ]\d{2}[. ]\d{3}"),
    ("be.nn", r"\d{2}[. ]?\d{2}[. ]?\d{2}[- .]?\d{3}[-. ]?\d{2}"),
    ("se.personnummer", r"(?:\d{2})?\d{6}[-+]\d{4}"),
    ("dk.cpr", r"\d{6}-\d{4}"),
    ("no.fodselsnummer", r"\d{6} ?\d{5}"),
    ("fi.hetu", r"\d{6}[-+A-FU-Ya-fu-y]\d{3}\w"),
    ("br.cpf", r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}"),
    ("in_.aadhaar", r"(?<!\d[ -])\d{4}[ -]?\d{4}[ -]?\d{4}(?![ -]?\d)"),
    ("in_.pan", r"[A-Za-z]{5}\d{4}[A-Za-z]"),
    ("kr.rrn", r"\d{6}-\d{7}"),
    ("jp.in_", r"(?<!\d[ -])\d{4}[ -]?\d{4}[ -]?\d{4}(?![ -]?\d)"),
    ("tr.tckimlik", r"\d{11}"),
    ("ch.ssn", r"756\.?\d{4}\.?\d{4}\.?\d{2}"),
    ("at.vnr", r"\d{4} \d{6}"),
    ("pt.cc", r"\d{8} ?\d ?[A-Za-z0-9]{2}\d"),
    ("ro.cnp", r"\d{13}"),
    ("cz.rc", r"\d{6}/\d{3,4}"),
    ("ee.ik", r"\d{11}"),
    ("za.idnr", r"\d{13}"),
    ("ca.sin", r"\d{3}[ -]\d{3}[ -]\d{3}"),
    ("au.tfn", r"\d{3} \d{3} \d{2,3}"),
    ("mx.curp", r"[A-Za-z]{4}\d{6}[A-Za-z]{6}\w\d"),
)
# stdnum has none for it; its letters are restricted enough.
_NINO = re.compile(
    r"(?<![A-Za-z0-9_])(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?![A-Za-z0-9_])"
)
# "passport no. C01X00T47", "身份证号：…": what follows is an identity number, checked or not.
_LABELLED = re.compile(
    r"(?:(?:passports?|reisepass(?:nummer)?|personalausweis(?:nummer)?|ausweisnummer|driv(?:er['’]?s?|ing)[ -]"
    r"licen[cs]e|social security|\bSSN|\bITIN|\bTIN|tax(?:payer)? (?:id|identification)|national (?:id|identity|"
    r"insurance)|identity card|\bID card|\bID|\bBSN|\bSIN|\bTFN|\bNHS|\bNINO|medicare|steuer-?id(?:nummer)?|"
    r"personal ?(?:nummer|number|code))(?![A-Za-z])|护照|身份证件?|身份證|居民证|驾驶证|驾照|通行证|社保卡?|医保卡?|证件)"
    r"(?:[ \t]*(?:no|nr|num|number|numbers|code|is|was|card|identification|号码|号|编号|是|为|號碼|號|[.:：#=(（])){0,4}"
    r"[ \t]*(?P<id>(?=[A-Za-z0-9]*[ .\-/]?[A-Za-z0-9]*\d)(?=(?:[^\d\n]{0,4}\d){5})[A-Za-z0-9](?:[A-Za-z0-9]|[ .\-/](?=\d)){4,24})",
    re.IGNORECASE,
)
# "Tel. 0123-4567": a number is a phone number here even where no region has such numbers.
_LABELLED_PHONE = re.compile(
    r"(?:\b(?:(?:tele)?(?:phone|fon|fax)s?|tel|mobile|mobil|cell(?:phone)?|hotline)(?![A-Za-z])|电话|電話|手机|手機|座机|传真|热线)"
    r"[ \t]*(?:no|nr|number|numbers|is|号码|号|是|為|为|[.:：#(（]){0,3}[ \t]*"
    r"(?P<phone>[+＋(]?\d(?:[ \t().\-–/]{0,3}\d){4,15})(?![A-Za-z0-9_])",
    re.IGNORECASE,
)


class PatternFinder:
    """E-mail, IP, phone, card, IBAN and identity numbers. ``regions`` are where a phone number
    without its country code may be from, as two letters."""

    def __init__(self, regions: Sequence[str]) -> None:
        try:
            self._phonenumbers: Any = importlib.import_module("phonenumbers")
            self._luhn: Any = importlib.import_module("stdnum.luhn")
            self._iban: Any = importlib.import_module("stdnum.iban")
            self._ids = [
                (
                    importlib.import_module(f"stdnum.{name}"),
                    re.compile(rf"(?<![A-Za-z0-9_.-]){form}(?![A-Za-z0-9_-])"),
                )
                for name, form in _IDS
            ]
        except ImportError as missing:
            raise MissingExtraError(
                f"Anonymising needs phonenumbers and python-stdnum ({missing}). "
                "Install them: pip install 'anabranch[privacy]'"
            ) from None
        unknown = set(regions) - self._phonenumbers.SUPPORTED_REGIONS
        if unknown:
            raise ConfigurationError(
                f"anonymize_regions has {sorted(unknown)!r}: give regions as two capital letters, such "
                'as ["US", "CN"].'
            )
        self._regions = tuple(regions)

    @property
    def kinds(self) -> tuple[str, ...]:
        return (
            "e-mail addresses", "phone numbers", "card numbers", "IBANs", "identity numbers",
            "IP addresses",
        )  # fmt: skip

    def find(self, text: str) -> Iterator[Finding]:
        yield from _emails(text)
        yield from _addresses(text)
        if not any(character.isdigit() for character in text):
            return
        yield from self._ibans(text)
        yield from self._cards(text)
        yield from self._identities(text)
        yield from self._phones(text)

    def _phones(self, text: str) -> Iterator[Finding]:
        for maybe in (*_MAYBE_PHONE.finditer(text), *_DIGITS.finditer(text)):
            for region in self._regions or (None,):
                found = list(self._phonenumbers.PhoneNumberMatcher(maybe.group(), region))
                for match in found:
                    if not _is_long_enough(match.raw_string):
                        continue
                    number = self._phonenumbers.format_number(
                        match.number, self._phonenumbers.PhoneNumberFormat.E164
                    )
                    start = maybe.start() + match.start
                    yield Finding(start, maybe.start() + match.end, "PHONE", number)
                if found:
                    break

        for match in _LABELLED_PHONE.finditer(text):
            yield Finding(*match.span("phone"), "PHONE", _compact(match["phone"]))

    def _cards(self, text: str) -> Iterator[Finding]:
        for match in _CARD.finditer(text):
            for end in _ends(text, match.start(1), match.end(1)):
                digits = re.sub(r"\D", "", text[match.start(1) : end])
                if _is_card_length(digits) and len(set(digits)) > 1 and self._luhn.is_valid(digits):
                    yield Finding(match.start(1), end, "CARD", digits)
                    break

    def _ibans(self, text: str) -> Iterator[Finding]:
        for match in _IBAN.finditer(text):
            for end in _ends(text, match.start(1), match.end(1)):
                compact = re.sub(r"[\s-]", "", text[match.start(1) : end]).upper()
                if _passes(partial(self._iban.validate, check_country=False), compact):
                    yield Finding(match.start(1), end, "IBAN", compact)
                    break

    def _identities(self, text: str) -> Iterator[Finding]:
        for module, form in self._ids if _MAYBE_ID.search(text) else ():
            for match in form.finditer(text):
                if _passes(module.validate, match.group()):
                    yield Finding(*match.span(), "ID", _compact(match.group()))
        for match in _NINO.finditer(text):
            yield Finding(*match.span(), "ID", _compact(match.group()))
        for match in _LABELLED.finditer(text):
            yield Finding(*match.span("id"), "ID", _compact(match["id"]))


def _ends(text: str, start: int, end: int) -> Iterator[int]:
    """Where a number that begins at ``start`` may end, the furthest first: never within a word."""
    for at in range(end, start, -1):
        if text[at : at + 1] not in WORD_CHARACTERS and text[at - 1] in WORD_CHARACTERS:
            yield at


def _is_card_length(digits: str) -> bool:
    return any(form.match(digits) and len(digits) in lengths for form, lengths in _CARD_LENGTHS)


def _is_long_enough(number: str) -> bool:
    """Whether it is no date, span of years or count that some region has as a number too."""
    return sum(map(str.isdigit, number)) >= _LEAST_PHONE_DIGITS and not _YEARS.search(number)


def _passes(validate: Callable[[str], object], number: str) -> bool:
    try:
        validate(number)
    except Exception:  # the checks of some countries raise more than what they document
        return False
    return True


def _compact(number: str) -> str:
    return re.sub(r"[\W_]", "", number).upper()


def _emails(text: str) -> Iterator[Finding]:
    if "@" not in text and "＠" not in text:
        return
    for match in _EMAIL.finditer(text):
        local = re.split("[@＠]", match.group())[0]
        runs_in = _BEFORE_EMAIL.match(local)
        start = match.start() + (runs_in.end() if runs_in else 0)
        yield Finding(start, match.end(), "EMAIL", text[start : match.end()].casefold())


def _addresses(text: str) -> Iterator[Finding]:
    for pattern in (_IPV4, _IPV6):
        for match in pattern.finditer(text):
            with suppress(ValueError):
                address = ipaddress.ip_address(match.group())
                if any(map(str.isdigit, match.group())):  # "::" and "a::b" are marks of programs
                    yield Finding(*match.span(), "IP", address.compressed)
