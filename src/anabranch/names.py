"""Names in a sentence, as far as their writing shows them: capitals, quotes, Chinese marks; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from anabranch.language import ENGLISH_STOP_WORDS, fold, has_cjk

LONGEST_NAME = 60

_WORD = re.compile(r"[^\W_](?:[\w'’&/-]|\.(?=\w))*")
# Small words that a name may have inside: "Bank of England", "Leonardo da Vinci". With "and" and
# "in" two names may become one ("Limpopo in Zimbabwe"): as a query that is the better one (two
# questions in a hundred more found all their evidence).
_INSIDE = frozenset(
    "of the de la le du des von van der den di da and & for in on".split()  # noqa: SIM905
)
# "Mercury (planet)": what tells pages of one name apart is no part of it.
_PARENTHESIS = re.compile(r"\s*[(（][^()（）]*[)）]")
_POSSESSIVE = re.compile(r"['’]s?\Z")
_QUOTED = re.compile(r"[“\"「『《〈]([^“”\"「」『』《》〈〉\n]{2,40})[”\"」』》〉]")
# What follows a name at the start of a Chinese sentence or clause: 鲁迅（…）, 柏林是…, 故宫位于….
_SUBJECT = re.compile(
    r"(?:^|(?<=[。！？；，,\n]))([\u3400-\u9fffA-Za-z0-9·]{2,12}?)"
    r"(?=[（(]|是|为|為|位于|位於|出生|成立|由|系|属于|屬於|于\d|於\d)"
)
# Who did it: 由王家卫执导, 由人事部审批.
_AGENT = re.compile(
    r"由([\u3400-\u9fff·]{2,10}?)(?:执导|執導|导演|導演|主演|创作|創作|撰写|撰寫|编写|編寫|设计|設計|创办|"
    r"創辦|创立|創立|建立|发明|發明|担任|擔任|出版|制作|製作|负责|負責|审批|審批|批准|管理|提供)"
)
# A character of a Chinese name: not one that joins it to what stands before.
_HAN = "(?![由是在的和与與於于為为了着將将把被對对向从從这這该該他她它其及或])[\u3400-\u9fff]"
# Foreign names keep their dot, and what has a kind at its end is a name: 列夫·托尔斯泰, 北京大学.
_DOTTED = re.compile(rf"(?:{_HAN}){{1,6}}(?:[·・‧](?:{_HAN}){{1,8}})+")
_KIND = re.compile(
    rf"(?:{_HAN}){{2,10}}?(?:大学|大學|学院|學院|中学|中學|公司|集团|集團|银行|銀行|出版社|杂志社|雜誌社|"
    "电视台|電視台|乐队|樂隊|博物馆|博物館|图书馆|圖書館|医院|醫院|基金会|基金會|委员会|委員會|协会|協會|"
    "研究所|研究院|俱乐部|俱樂部|机场|機場|部门|部門|部|省|市|县|縣|区|區|镇|鎮|岛|島)(?![\u3400-\u9fff]?长)"
)
_SURNAME = (
    "(?:欧阳|歐陽|司马|司馬|诸葛|諸葛|上官|夏侯|慕容|令狐|[王李张張刘劉陈陳杨楊赵趙黄黃周吴吳徐孙孫胡朱高林何郭"
    "马馬罗羅梁宋郑鄭谢謝韩韓唐冯馮于董萧蕭程曹袁邓鄧许許傅沈曾彭吕呂苏蘇卢盧蒋蔣蔡贾賈丁魏薛叶葉阎閻余潘杜戴"
    "夏钟鍾汪田任姜范方石姚谭譚廖邹鄒熊金陆陸郝孔白崔康毛邱秦江史顾顧侯邵孟龙龍万萬段雷钱錢汤湯尹黎易常武乔喬"
    "贺賀赖賴龚龔文鲁魯莫])"
)
# Whom a person is said to be, before the name; what is told of persons, behind it. A surname alone
# shows nothing: 高度, 方法 and 白色 begin like one.
_TITLE_OF_PERSON = (
    "(?:导演|導演|演员|演員|歌手|作家|作者|诗人|詩人|画家|畫家|编剧|編劇|记者|記者|教授|博士|院长|院長|校长|校長|"
    "总统|總統|主席|总理|總理|首相|市长|市長|部长|部長|将军|將軍|皇帝|创始人|創始人|创办人|創辦人|董事长|董事長|"
    "总经理|總經理|经理|經理|总裁|總裁|首席执行官|工程师|工程師|设计师|設計師|科学家|科學家|丈夫|妻子|父亲|父親|"
    "母亲|母親|儿子|兒子|女儿|女兒|哥哥|弟弟|姐姐|妹妹|老师|老師)"
)
_PERSON_BEFORE = re.compile(
    rf"{_TITLE_OF_PERSON}(?:是|为|為|：|:)?({_SURNAME}(?:{_HAN}){{1,2}}?)"
    r"(?=[，。、；：（(）)的是在于於与與和及]|\Z|执|執|主|拍|饰|飾|率|领|領|创|創|担|擔|出|生|说|說|表|设|設|发|發|撰|写|寫|所|负|負)"
)
_PERSON_BEHIND = re.compile(
    rf"({_SURNAME}(?:{_HAN}){{1,2}}?)"
    r"(?=(?:出生|生于|生於|执导|執導|主演|创立|創立|创办|創辦|创作|創作|担任|擔任|毕业|畢業|逝世|去世|所著|撰写|撰寫|"
    r"发明|發明|当选|當選|就任|任职|任職|任教|获得|獲得|于\d|於\d))"
)
# A name never begins with what somebody does to it or is called: 就读北京大学, 导演张艺谋.
_DONE_TO_IT = re.compile(
    rf"\A曾?(?:就读|就讀|考入|进入|進入|加入|创办|創辦|创立|創立|成立|收购|收購|隶属|隸屬|拥有|擁有|前往|来到|來到|位处|位處|"
    rf"访问|訪問|毕业|畢業|任职|任職|任教|担任|擔任|属于|屬於|{_TITLE_OF_PERSON})(?=[\u3400-\u9fff]{{2}})"
)
# A run that begins like this points back or is a phrase about something, not its name.
_NO_NAME = re.compile(
    "[这這那其该該他她它此本各每在从從由对對向以因当當但而并並和与與或及也都就被把将將是有的之了不如若又还還]"
)


def named_by(title: str) -> str:
    """What a title names: "The Silver Heron (film)" -> The Silver Heron."""
    return _PARENTHESIS.sub("", title).strip()


def names_in_sentence(sentence: str) -> Iterator[str]:
    """Names in the order in which their kinds are looked for, each as it is written."""
    seen: set[str] = set()
    for name in _candidates(sentence):
        stripped = name.strip(" ,.;:·")
        if 1 < len(stripped) <= LONGEST_NAME and fold(stripped) not in seen:
            seen.add(fold(stripped))
            yield stripped


def _candidates(sentence: str) -> Iterator[str]:
    if has_cjk(sentence):
        for match in _QUOTED.finditer(sentence):
            yield match[1]
        for pattern in (_DOTTED, _SUBJECT, _AGENT, _PERSON_BEFORE, _PERSON_BEHIND, _KIND):
            for match in pattern.finditer(sentence):
                run = _DONE_TO_IT.sub("", match[match.lastindex or 0])
                if not _NO_NAME.match(run):
                    yield run
    yield from _capitalised(sentence)


def _capitalised(sentence: str) -> Iterator[str]:
    """Runs of capitalised words, with the small words and numbers that stand inside of them."""
    run: list[re.Match[str]] = []
    waiting: list[re.Match[str]] = []  # small words: part of the name if another capital follows
    for match in _WORD.finditer(sentence):
        word = match.group()
        last = (waiting or run)[-1] if run else None
        if last is not None and not _joined(sentence[last.end() : match.start()], last.group()):
            yield from _written(sentence, run)
            run, waiting = [], []
        if word[0].isupper() or (run and word[0].isdigit()):
            run += [*waiting, match]
            waiting = []
        elif run and word in _INSIDE and len(waiting) < 2:
            waiting.append(match)
        else:
            yield from _written(sentence, run)
            run, waiting = [], []
    yield from _written(sentence, run)


def _joined(gap: str, before: str) -> bool:
    """Whether a name goes on over ``gap``: blanks, quotes, or the dot of an initial."""
    return not gap.strip(" \t\n'\"") or (gap.strip() == "." and len(before) <= 2)


def _written(sentence: str, run: list[re.Match[str]]) -> Iterator[str]:
    """The name as written, without the words that merely begin a sentence."""
    kept = list(run)
    while kept and fold(kept[0].group()) in ENGLISH_STOP_WORDS:
        kept.pop(0)
    # One word that begins the sentence has its capital from there; a short form has it anyway.
    alone = len(kept) == 1 and not sentence[: kept[0].start()].strip(" \t\n*#>•-\"“'")
    if kept and not (alone and not kept[0].group()[1:2].isupper()):
        yield _POSSESSIVE.sub("", sentence[kept[0].start() : kept[-1].end()])
