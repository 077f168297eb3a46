"""Classes of words that rules about questions are written with, English and Chinese, as patterns; pure."""

from __future__ import annotations

ASKING = r"(?:who|whom|whose|what|when|where|which|why|how)"
AUXILIARY = r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)"
PREPOSITION = r"(?:of|in|for|at|on|from|to|under|with|by)"

# "How long, how heavy"; 许多大学 has no such word in it.
CHINESE_DEGREE = (
    "(?<![许許很众眾诸諸最至])多(?:[久长長高重远遠深宽寬厚快贵貴]|大(?![学學家数數型使力夫]))"
)
# What a Chinese question asks with, in both scripts. 几乎 and 任何 ask nothing.
CHINESE_ASKING = (
    "(?:[什甚][么麼]|[怎孰啥谁誰哪]|如何|多少|[几幾](?![乎何率])|(?<![任几幾])何(?!况|況|必|妨|尝|嘗)|"
    f"{CHINESE_DEGREE}|[吗嗎]|是否|能否|是不是|有[没沒]有|能不能|可不可以)"
)
