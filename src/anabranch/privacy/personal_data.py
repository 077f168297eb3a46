"""What counts as personal data here, as it was set: finders, and what none of them finds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from anabranch.privacy.findings import Finder, Finding
from anabranch.privacy.listed_names import read_list
from anabranch.privacy.patterns import PatternFinder
from anabranch.privacy.placeholders import Placeholders

_REMEMBERED = 1_024


class PersonalData:
    """The finders of one knowledge base."""

    def __init__(self, finders: Sequence[Finder], *, finds_names: bool) -> None:
        self._finders = tuple(finders)
        self._finds_names = finds_names
        # The same passages are read by every part of a request, and by the next one.
        self._find = lru_cache(maxsize=_REMEMBERED)(self._found)

    @classmethod
    def by_settings(
        cls, *, regions: Sequence[str], listed: Path | None, models: Sequence[str]
    ) -> PersonalData:
        """Raises ConfigurationError for a list, a region or a model that cannot be used, and
        MissingExtraError where a library is not installed."""
        finders: list[Finder] = [PatternFinder(regions)]
        if listed is not None:
            finders.append(read_list(listed))
        if models:
            from anabranch.privacy.named_entities import NamedEntities

            finders.append(NamedEntities(models))
        return cls(finders, finds_names=bool(models))

    def begin(self) -> Placeholders:
        """Placeholders for one request, or for one text that stands alone."""
        return Placeholders(self._find)

    def _found(self, text: str) -> tuple[Finding, ...]:
        return tuple(one for finder in self._finders for one in finder.find(text))

    @property
    def covered(self) -> str:
        return ", ".join(kind for finder in self._finders for kind in finder.kinds)

    @property
    def not_covered(self) -> str:
        """What leaves the machine as it is, in words."""
        names = (
            "names that the model does not recognise"
            if self._finds_names
            else "names and addresses that are not on a list (no NER model is set)"
        )
        return f"{names}, and what gives a person away without naming them"

    def notice(self, *, chinese: bool) -> str:
        if chinese:
            return (
                "已匿名化：离开本机之前，邮箱、电话、银行卡号、IBAN、证件号、IP 地址以及名单中的条目已替换为占位符。"
                "未覆盖："
                + (
                    "模型未识别的姓名"
                    if self._finds_names
                    else "名单之外的姓名和地址（未设置命名实体模型）"
                )
                + "，以及间接透露身份的内容。"
            )
        return (
            f"Anonymised before anything left this machine: {self.covered}. Not covered: "
            f"{self.not_covered}."
        )
