"""Tests of the retrievers for other frameworks; each is collected where its framework is installed.

``.ci/frameworks`` makes an environment that has them all, so that none is left out there.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

# Before Haystack is imported: its tests are nobody's usage figures.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

FRAMEWORKS = {
    "test_llama_index_retriever.py": "llama_index",
    "test_haystack_retriever.py": "haystack",
}
collect_ignore = [file for file, package in FRAMEWORKS.items() if find_spec(package) is None]
