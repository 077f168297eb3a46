"""Whether a Chinese question is simple or complex, by the way it is built; pure.

Rules alone: no open set of labelled complex questions in Chinese was there to weigh signs with. Traditional
characters are read as their simplified ones, titles in 《》 as one word, so that neither hides a cue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from anabranch.written_forms import simplified

_ASKING = (
    "(?:什么|为什么|为何|怎么|怎样|如何|哪|谁|多少|几|何时|何地|何处|何人|何种|为何|有何|多久|多大|多长|多高|多远|"
    "多重|是否|能否|吗|呢|孰|啥)"
)
_AND = "(?:、|和|与|跟|以及|还有|及)"
_QUALITY = "(?:多|少|大|小|高|低|长|短|快|慢|贵|便宜|早|晚|先|重|轻|远|近|强|弱|省|好|差|老|年轻|久|划算|合适|适合|安全|严重|有名)"
# Somebody or something that is what it is to another: reaching it takes that other.
_ROLE = (
    "(?:导演|编剧|作者|作家|创始人|创办人|创办者|主演|女主角|男主角|演员|歌手|原唱|演唱者|作曲者|作曲家|作词者|制片人|"
    "父亲|母亲|妻子|丈夫|配偶|儿子|女儿|哥哥|弟弟|姐姐|妹妹|爷爷|祖父|老师|导师|学生|弟子|母公司|子公司|"
    "出版社|开发商|制造商|发行商|生产商|发明者|发明人|发现者|提出者|设计者|设计师|建筑师|"
    "继任者|接班人|前任|法定代表人|法人代表|法人|董事长|总经理|首席执行官|校长|市长|州长|总统|总理|主席|"
    "国王|皇帝|负责人|经理|主管|获奖者|得主|冠军|队长|教练|主教练|主人公|主角|所有者|持有人|东家|供应商|承包商)"
)
# A place that belongs to something: reaching it is one step, what is asked of it then another.
_PLACE = "(?:总部|首都|省会|所在地|出生地|诞生地|故乡|家乡|母校|毕业院校)"
# What a description can stand for: "收购了沃尔沃汽车的企业".
_DESCRIBED = (
    "(?:人|者|人物|学家|作家|诗人|画家|音乐家|导演|演员|歌手|明星|总统|总理|皇帝|国王|将军|企业|公司|集团|厂商|厂家|"
    "国家|国|城市|地方|地区|省|省份|市|县|州|岛|岛屿|河流|大学|学校|学院|医院|球队|球员|运动员|选手|俱乐部|乐队|电影|影片|"
    "小说|书|作品|歌曲|专辑|游戏|机构|组织|品牌|部门|同事|员工|工程师|经理|客户|供应商|产品|设备|药物|药品|政党|民族|"
    "城堡|建筑|工程|项目|战役|事件|年份|那年)"
)
_DOES = (
    "(?:了|过|被|由|写|编写|撰写|创作|翻译|导演|执导|拍摄|主演|出演|饰演|扮演|配音|演唱|创办|创立|创建|成立|建立|发明|发现|"
    "提出|设计|建造|修建|收购|并购|投资|控股|获得|荣获|赢得|夺得|击败|打败|战胜|统一|领导|率领|担任|负责|管理|主持|参加|"
    "参与|加入|代言|生产|制造|开发|研发|推出|出版|发行|举办|主办|承办|签署|拥有|位于|坐落于|毕业于|就读于|任教于|出生于|"
    "出生在|来自|流经|接壤|相邻|隶属|属于|使用|连接|出土|采用|治疗|导致|引起|以)"
)
# The characters of "and" and "than" inside other words.
_WORDS_WITH_AND = re.compile(
    "和平|和解|和谐|和田|和尚|和服|和声|和歌|和记|和美|和县|和珅|共和|郑和|饱和|总和|温和|柔和|缓和|调和|中和|永和|仁和|义和|大和|"
    "平和|祥和|元和|政和|呼和浩特|随和|维和|与会|与否|参与|给与|授与|以及第|普及|涉及|埃及|触及|危及|以及时|及格|及时|及其|波及|提及"
)
_TITLE = re.compile('《[^》]*》|「[^」]*」|『[^』]*』|“[^”]*”|"[^"]*"|〈[^〉]*〉')
_WORDS_WITH_THAN = "(?<![百同环对无占价类相])比(?![例赛特率如利重亚值分喻方较武基])"

_CUES: tuple[tuple[str, str], ...] = (
    (
        "区别|差异|差别|异同|相比|对比(?!度)|优缺点|利弊|优劣|共同点|共通点|相同点|(?:共同|相同|不同|相似)之处|不同点|不一样|"
        "(?:有|有什么|有何|有哪些|有啥|怎么|如何)(?:什么|何|哪些)?(?:的)?不同|相差|差(?:了)?(?:多少|几|多远)|差距",
        "compares",
    ),
    (f"{_WORDS_WITH_THAN}[^，。？]{{1,14}}?{_QUALITY}", "compares"),
    (
        f"(?:{_AND}|还是|或|两)[^？]*(?:哪|谁|孰)[^，。？]{{0,8}}?(?:(?:更|较|比较){_QUALITY}(?!地)|"
        f"(?:先|早|晚|{_QUALITY})(?:些|一些|一点|得多|多少)?(?:$|[，。？])|[先早晚][^，。？]{{1,4}}$)|"
        f"(?:哪|谁|孰)[^，。？]{{0,6}}(?:更|较){_QUALITY}(?!地)|还是[^？]*(?:更|先|早|晚)|(?:更|先|早|晚)[^？]*还是",
        "compares",
    ),
    (f"比较(?:一下)?[^，。？]{{1,20}}{_AND}|{_AND}[^，。？]{{1,16}}(?:一样|相同)", "compares"),
    (
        "分别(?!为政)|各自|(?<![中欧英德法美全])各(?:是|有|为|需|占|多|几|要|由|在|叫|属)|依次|"
        f"每(?:一)?(?:个|位|种|家|项|台|座|届|阶段|环节|步)[^，。？]{{0,10}}?(?:由|是|有|需|要|的)[^，。？]*?{_ASKING}|"
        f"前(?:[二三四五六七八九十]|\\d)+(?:大|名|个|位|家)[^？]*的[^？]*{_ASKING}",
        "asks the same of several things",
    ),
    (
        f"[？；][^？；]*{_ASKING}|{_ASKING}[^，；？]*(?:[，；]|以及|并且|同时|又|还)[^？]*?"
        "(?:什么|怎么|怎样|如何|哪|谁|多少|几[^乎]|何时|何地|何处|多久|多大|多长|多高|是否|能否|吗|为何)",
        "asks several questions in one",
    ),
    (
        "(?:原因|起因|成因|病因|诱因|症状|步骤|经过|影响|后果|结果|成因)[、和与及]+(?:以及)?[^，。？]{0,6}"
        "(?:影响|后果|结果|步骤|治疗|解决|措施|办法|方法|过程|意义|原因|预防|对策)|"
        "(?:为什么|为何|什么原因|引起|导致|造成)[^？]*[，；][^？]*(?:后果|影响|结果|措施|办法|反应|处理|应对|补救)",
        "asks for causes and what follows from them",
    ),
    (
        "(?:之前|以前|前)[^？]{0,16}(?:之后|以后|后)[^？]*(?:变化|不同|差|怎|如何|哪|多少|什么|何)|前后[^？]*(?:变化|差|怎|如何|何)|"
        "(?:有|发生了?|产生了?)(?:何|什么|哪些|怎样的?|多大|啥)(?:的)?变化",
        "asks about the time before and after something",
    ),
    (
        f"^(?:请|请问|帮我)?(?:列出|列举|罗列|介绍|说明|概述|总结|归纳|分析|比较)[^？]*{_AND}",
        "asks for a list",
    ),
    (
        f"[^，。、？的]{{1,12}}、[^，。、？的]{{1,12}}(?:、|和|与|以及|及)[^，。、？]{{1,14}}(?:的|是|在|有|各|都)?[^，。]*{_ASKING}|"
        f"^[^，。、？的是在有将把被对从]{{1,10}}(?:和|与|以及|跟)[^，。、？的是在有将把被对从]{{1,10}}的(?!关系|区|战|合作|协议|边界)"
        f"[^，。？的]{{1,10}}(?:是|有|为|都)?{_ASKING}|"
        f"的[^，。、？]{{1,8}}(?:、|和|与|以及|及)[^，。、？的]{{1,8}}(?:是|有|各|都|为){_ASKING}|"
        f"(?:、|和|与)[^，。？]{{1,14}}都?(?:发源|起源|成立|出生|位于|来自|毕业)[^，。？]*{_ASKING}",
        "enumerates several things",
    ),
    (
        f"(?:{_ROLE}|{_PLACE})的(?!是)(?:[^，。？]{{1,20}}?)(?:{_ASKING}|$)|的{_ROLE}(?:还|又|曾|也|毕业|出生|生于|来自|任|住|获|担|创|执导|写|演|"
        f"就读|位于|在|于|多大|多高|几岁|是(?:做什么|干什么|从事|哪国|哪里人|哪儿人|哪一?[个座]|哪年|什么时候|如何|怎么|怎样))|"
        f"》{_ROLE}(?:的|还|毕业|出生|来自|是(?:做什么|哪国|哪里人))",
        "asks about something that is known only through another",
    ),
    (
        f"{_DOES}[^，。？]{{1,24}}?的(?:那|这|某|第)?(?:一)?(?:个|位|家|座|部|款|名|支|所|本)?[^，。？的]{{0,8}}?{_DESCRIBED}"
        "(?!是谁|是什么|叫什么|有谁|有哪|是哪(?!国|个朝代|里人|年出|年成)|是指|为|名|称|被称|都有|包括|共有|一共|总共|数量|有多少|有几)"
        f"[^，。？]{{0,16}}?{_ASKING}",
        "describes what it asks about by another fact",
    ),
    (
        f"最[^，。的？]{{1,3}}的[^，。的？]{{1,10}}的[^，。？]{{1,12}}{_ASKING}|"
        f"第[一二三四五六七八九十\\d]+(?:大|高|长|位|任|个|届)的?[^，。的？]{{1,10}}的[^，。的？]{{1,6}}的[^，。？]{{1,10}}{_ASKING}|"
        f"的[^，。的？]{{2,8}}的[^，。的？]{{2,8}}的[^，。的？]{{1,8}}{_ASKING}",
        "chains several relations",
    ),
    (
        "(?:中|当中|之中|里|里面|之间)[，]?(?:有)?(?:哪几|哪些[^，。？]{0,12}(?:没|不|还|也|超过|高于|低于|大于|小于|曾|最))|"
        "(?:中|当中|之中|里)[，]?(?:哪|谁)[^，。？]{0,10}最",
        "asks the same of several things",
    ),
    (
        "既[^，。？]{2,}又[^，。？]{2,}|同时(?:在|是|有|拥有|获得|担任|参加|满足|符合)",
        "states several conditions at once",
    ),
    (
        f"(?:根据|按照|依据|依照|据)[^？]*[，；][^？]*(?:而|但|却|不过|然而)|[，；](?:而|但|但是|却|不过|然而|反之)[^？]*{_ASKING}",
        "sets what one source says against another",
    ),
    (
        f"(?:如果|假如|假设|假使|倘若|(?<![主重])要是|万一|若是)[^？]{{4,}}?(?:{_ASKING}|会|能|可以)|(?:有|是|存在)(?:没有)?可能[^？]{{2,}}(?:吗|$)|"
        "^(?!我|你|您|咱|本|贵)[^？]{2,}(?:能|可以|会|适合|应该|需要)[^？]*的[^？]+吗|可能[^？]{3,}吗",
        "supposes something and asks what follows",
    ),
)
_PATTERNS = tuple((re.compile(pattern), reason) for pattern, reason in _CUES)


def chinese_reason(text: str) -> str | None:
    """Why the question takes several facts, in words; None if it reads as simple."""
    asked = _as_read(text)
    return next((reason for pattern, reason in _PATTERNS if pattern.search(asked)), None)


def chinese_reasons(text: str) -> Iterator[str]:
    """Every reason there is, for measuring the rules one by one."""
    asked = _as_read(text)
    return (reason for pattern, reason in _PATTERNS if pattern.search(asked))


def _as_read(text: str) -> str:
    """Simplified, without blanks and closing marks, titles and words with an "and" in them made one."""
    read = re.sub(r"\s+", "", simplified(text))
    read = read.translate(str.maketrans(",?;!", "，？；！")).rstrip("？。！，；")
    read = _TITLE.sub("《》", read)
    return _WORDS_WITH_AND.sub(lambda word: "□" * len(word[0]), read)
