"""The rules of the house that no type checker holds: who may import whom, and what is documented."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from pydantic import SecretStr

import anabranch
from anabranch import cli, errors
from anabranch.file_kinds import supported_extensions
from anabranch.settings import Settings

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "anabranch"
DOCS = ROOT / "docs"

# From what everything may use to what nothing may use. A module that is not named is a step: it
# turns one value into another and knows only the ports.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset(
        {
            "errors", "types", "language", "grammar", "phrases", "short_forms", "spelling", "written_forms",
            "english_words", "ledger", "lexicon", "suggestions", "trace", "records",
        }
    ),
    frozenset({"settings", "ports", "languages"}),
    frozenset({"<step>"}),
    frozenset({"fanout", "ingest"}),
    frozenset({"answer", "outcome", "steps", "synthesis"}),
    frozenset({"workflow"}),
    frozenset({"named_models"}),
    frozenset({"build"}),
    frozenset({"reindexing"}),
    frozenset({"opening"}),
    frozenset({"documents", "runs"}),
    frozenset({"knowledge_base"}),
    frozenset({"conversation", "uploading"}),
    frozenset(
        {
            "__main__", "asking", "cli", "demo", "doctor", "key_commands", "live", "options",
            "rendering",
            "service", "ui", "mcp_server", "evaluation", "distributed", "haystack_retriever",
        }
    ),
)  # fmt: skip
STEP = 2
IMPLEMENTATIONS = {"reasoning", "models", "stores", "sessions", "privacy"}
BUILDERS = {"build", "named_models", "reindexing"}
HEAVY = ("numpy", "lancedb", "pyarrow", "langgraph", "onnxruntime", "kreuzberg", "pydantic")


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module of the package by its dotted name below ``anabranch``, parsed."""
    for file in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        if name != "__init__":
            yield name, ast.parse(file.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    """The dotted names of all modules that are imported anywhere in ``tree``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "anabranch":
                yield from (f"anabranch.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


def room(module: str) -> str:
    return module.split(".")[0]


def layer(module: str) -> int:
    for index, names in enumerate(LAYERS):
        if room(module) in names:
            return index
    return STEP


def own_imports() -> Iterator[tuple[str, str]]:
    for name, tree in modules():
        for target in imported(tree):
            if target.startswith("anabranch.") and target != "anabranch.__version__":
                yield name, target.removeprefix("anabranch.")


def test_imports_go_one_way() -> None:
    wrong = [
        f"{name} imports {target}"
        for name, target in own_imports()
        if room(name) != room(target)
        and room(target) not in IMPLEMENTATIONS
        and layer(target) > layer(name)
    ]
    assert wrong == []


def test_only_what_builds_imports_implementations() -> None:
    wrong = [
        f"{name} imports {target}"
        for name, target in own_imports()
        if room(target) in IMPLEMENTATIONS and room(name) not in {room(target), *BUILDERS}
    ]
    assert wrong == []


def test_only_workflow_and_fanout_import_langgraph() -> None:
    users = {name for name, tree in modules() if "langgraph" in {room(t) for t in imported(tree)}}
    assert users == {"workflow", "fanout"}


def test_only_settings_reads_the_environment() -> None:
    readers = {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("environ", "getenv")
        # The reader starts processes and hands the environment on without looking into it.
        and name not in {"reader_pool"}
        # A worker of several sets the variable that Prometheus's library reads.
        and name not in {"service.worker"}
    }
    assert readers == {"settings"}


@pytest.mark.parametrize("module", ["anabranch", "anabranch.cli"])
def test_importing_it_loads_nothing_heavy(module: str) -> None:
    code = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(python("-c", code).stdout)
    assert [name for name in HEAVY if name in loaded] == []


@pytest.mark.parametrize("name", anabranch.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(anabranch, name) is not None
    assert name in dir(anabranch)


def test_every_error_is_public() -> None:
    assert error_names() <= set(anabranch.__all__)


# ----------------------------------------------------------------------------------- documentation


def error_names() -> set[str]:
    return {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.AnabranchError)
    }


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_exactly_the_endings_that_are_read_are_documented() -> None:
    section = page("command-line.md").split("## `anabranch add")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if re.match(r"\| [^|]+ \| `\.", line)]
    assert set(re.findall(r"`\.(\w+)`", "\n".join(rows))) == set(supported_extensions())


def test_exactly_the_settings_that_exist_are_documented() -> None:
    documented = set(re.findall(r"^\| `(\w+)` \|", page("settings.md"), re.MULTILINE))
    assert documented == set(Settings.model_fields)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_a_setting_is_documented_with_its_variable_and_default(name: str) -> None:
    row = next(
        line for line in page("settings.md").splitlines() if line.startswith(f"| `{name}` |")
    )
    default = Settings.model_fields[name].default
    shown = {None: "not set", (): "none", SecretStr(""): "none"}.get(default, str(default))
    assert f"`ANABRANCH_{name.upper()}`" in row
    assert f"| {shown} |" in row


def commands() -> dict[str, list[str]]:
    """The commands of the program with their long options."""
    group = typer.main.get_command(cli.app)
    return {
        name: [
            option for parameter in command.params for option in parameter.opts if "--" in option
        ]
        for name, command in group.commands.items()  # type: ignore[attr-defined]
    }


@pytest.mark.parametrize("command", commands())
def test_every_command_is_documented_with_its_options(command: str) -> None:
    sections = re.split(r"^## ", page("command-line.md"), flags=re.MULTILINE)
    section = next((text for text in sections if text.startswith(f"`anabranch {command}")), "")
    common = next(text for text in sections if text.startswith("Options"))
    assert section, f"docs/command-line.md has no section for {command}"
    missing = [
        option
        for option in commands()[command]
        if f"`{option}" not in common and option not in section
    ]
    assert missing == []


@pytest.mark.parametrize("name", sorted(error_names()))
def test_every_error_is_documented(name: str) -> None:
    assert f"`{name}`" in page("errors.md")


def python_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def pages_with_code() -> list[Path]:
    files = [*ROOT.glob("README.md"), *sorted(DOCS.rglob("*.md"))]
    return [file for file in files if python_blocks(file.read_text(encoding="utf-8"))]


# Blocks of a page share their names, in order; `await` and `async for` stand alone in them.
RUNNER = """
import ast, asyncio, inspect, json, sys
names = {"__name__": "__main__"}
for block in json.loads(sys.stdin.read()):
    code = compile(block, "<block>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, names)
    if inspect.iscoroutine(result):
        asyncio.run(result)
"""


def test_the_readme_shows_code() -> None:
    assert ROOT / "README.md" in pages_with_code()


@pytest.mark.parametrize("file", pages_with_code(), ids=lambda file: file.name)
def test_the_code_on_a_page_runs(file: Path, isolated: Path) -> None:
    shutil.copytree(ROOT / "examples" / "documents", isolated / "docs")
    blocks = json.dumps(python_blocks(file.read_text(encoding="utf-8")))
    done = python("-c", RUNNER, given=blocks)
    assert done.returncode == 0, done.stderr


def python(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        [sys.executable, *arguments],
        input=given,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=100,
    )


# ------------------------------------------------------------------------------- what stays outside

# In pieces, so that this file does not hold what it forbids.
FORBIDDEN = (
    "/" + "work/", "/" + "root/", "/" + "opt/wheels", "py" + "pi.org", "python" + "hosted",
    "npm" + "js.org", "crates" + ".io", "anaconda" + ".org", "hugging" + "face.co",
)  # fmt: skip
SKIPPED = {".git", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", "__pycache__"}


def text_files() -> Iterator[tuple[Path, str]]:
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if name not in SKIPPED and not name.startswith((".venv", "build", "dist"))
        ]
        for name in files:
            file = Path(folder, name)
            try:
                yield file, file.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # a picture, a model, a document in a binary format


def test_no_file_names_a_registry_or_a_path_of_the_machine_it_was_written_on() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {word}"
        for file, text in text_files()
        for word in FORBIDDEN
        if word in text
    ]
    assert found == []


def test_every_kind_of_model_has_a_row_in_its_page() -> None:
    """A ``case`` in ``named_models.py`` that nobody can find out about is not there."""
    source = (PACKAGE / "named_models.py").read_text()
    kinds = set(re.findall(r'^        case "(\w+)":', source, re.MULTILINE))
    named = set(re.findall(r"^\| `(\w+)(?::\w+)?` \|", page("models.md"), re.MULTILINE))
    assert kinds
    assert kinds <= named
