"""Make ``src/anabranch/chinese_characters.txt``: traditional characters and their simplified ones.

    python tools/make_chinese_characters.py TSCharacters.txt > src/anabranch/chinese_characters.txt

``TSCharacters.txt`` is the character table of OpenCC (Apache License 2.0), which the package
opencc-python-reimplemented has in ``opencc/dictionary``. Kept are the pairs in common use: the
traditional character is in Big5 and not in GB 2312, the simplified one is in GB 2312.
"""

from __future__ import annotations

import sys
from pathlib import Path


def pairs(table: str) -> list[tuple[str, str]]:
    """(traditional, simplified) of every line whose first reading is in common use."""
    found = []
    for line in table.splitlines():
        traditional, _, readings = line.partition("\t")
        simplified = readings.split(" ")[0]
        if len(traditional) != 1 or len(simplified) != 1 or traditional == simplified:
            continue
        common = _is_in(traditional, "big5") and _is_in(simplified, "gb2312")
        if common and not _is_in(traditional, "gb2312"):
            found.append((traditional, simplified))
    return found


def _is_in(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


if __name__ == "__main__":
    for pair in pairs(Path(sys.argv[1]).read_text(encoding="utf-8")):
        print("".join(pair))
