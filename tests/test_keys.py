"""Keys: shown once, kept hashed, valid until they are revoked; and who they let in."""

from __future__ import annotations

import json
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import cli
from anabranch.access import OWNER, Caller, Gate
from anabranch.errors import (
    InputError,
    KeyRefusedError,
    NotAllowedError,
    RateLimitError,
    StorageError,
)
from anabranch.keys import KEYS, KeyBook


@pytest.fixture
def book(tmp_path: Path) -> KeyBook:
    return KeyBook(tmp_path / "kb")


def test_a_key_is_found_by_what_was_shown_once(book: KeyBook) -> None:
    shown, key = book.create("ann", role="editor", collections=["handbook"], principals=["hr"])
    assert book.find(shown) == key
    assert (key.name, key.role, key.collections, key.principals, key.revoked) == (
        "ann", "editor", ("handbook",), ("hr",), None,
    )  # fmt: skip


def test_no_collections_are_not_all_collections(book: KeyBook) -> None:
    none, every = book.create("none", collections=[])[1], book.create("every")[1]
    assert (none.collections, every.collections) == ((), None)


def test_the_secret_is_not_in_the_file_and_only_the_owner_reads_that(
    book: KeyBook, tmp_path: Path
) -> None:
    shown, _ = book.create("ann")
    file = tmp_path / "kb" / KEYS
    secret = shown.split("_", 2)[2]  # which may have that sign itself
    assert secret.encode() not in file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("change", [lambda k: k[:-1], lambda k: k + "x", lambda k: k.upper()])
def test_a_key_that_is_nearly_right_is_wrong(book: KeyBook, change: object) -> None:
    shown, _ = book.create("ann")
    assert callable(change)
    assert book.find(change(shown)) is None


def test_the_id_of_one_key_with_the_secret_of_another_is_no_key(book: KeyBook) -> None:
    (one, _), (other, _) = book.create("ann"), book.create("bob")
    mixed = "_".join([*one.split("_")[:2], other.split("_", 2)[2]])
    assert book.find(mixed) is None


@given(st.text())
def test_any_text_that_was_not_given_is_no_key(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "any-text"
    book = KeyBook(folder)
    if not book.in_use:
        book.create("ann")
    assert book.find(text) is None
    assert book.find(f"anabranch_{text}") is None


def test_a_revoked_key_is_no_longer_valid_and_stays_listed(book: KeyBook) -> None:
    shown, key = book.create("ann")
    assert book.revoke("ann").revoked is not None
    assert book.find(shown) is None
    assert [(listed.id, bool(listed.revoked)) for listed in book.all()] == [(key.id, True)]
    with pytest.raises(InputError, match="no key 'ann' in force"):
        book.revoke("ann")


def test_a_name_has_one_key_in_force(book: KeyBook) -> None:
    book.create("ann")
    with pytest.raises(InputError, match="'ann' already"):
        book.create("ann")
    book.revoke("ann")
    assert book.create("ann")[1].name == "ann"


def test_of_many_at_once_one_gets_the_name(book: KeyBook) -> None:
    def create(_: int) -> bool:
        try:
            book.create("ann")
        except InputError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(16))) == 1
    assert len(book.all()) == 1


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201])
def test_a_name_that_nobody_has_is_refused(book: KeyBook, name: str) -> None:
    with pytest.raises(InputError, match="name="):
        book.create(name)
    assert not book.in_use


# ------------------------------------------------------------------------------------- the gate


async def test_without_keys_the_caller_is_the_owner(book: KeyBook) -> None:
    assert await Gate(book).admit(None) == OWNER
    assert await Gate(book).admit("Bearer whatever") == OWNER


async def test_a_key_gives_its_role_collections_and_principals(book: KeyBook) -> None:
    shown, key = book.create("ann", collections=["handbook"], principals=["hr"])
    expected = Caller("ann", "reader", ("handbook",), ("hr",), key.id)
    assert await Gate(book).admit(f"Bearer {shown}") == expected
    assert await Gate(book).admit(f"bearer  {shown} ") == expected


async def test_an_administrator_sees_what_is_kept_for_others(book: KeyBook) -> None:
    shown, _ = book.create("root", role="admin", collections=["handbook"], principals=["hr"])
    caller = await Gate(book).admit(f"Bearer {shown}")
    assert (caller.collections, caller.principals) == (("handbook",), None)


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer x", "Basic {key}", "{key}"]
)
async def test_who_has_no_valid_key_is_refused(book: KeyBook, header: str | None) -> None:
    shown, _ = book.create("ann")
    with pytest.raises(KeyRefusedError):
        await Gate(book).admit(header and header.format(key=shown))


async def test_revoking_the_last_key_opens_nothing(book: KeyBook) -> None:
    shown, _ = book.create("ann")
    gate = Gate(book)
    await gate.admit(f"Bearer {shown}")
    book.revoke("ann")
    for header in (None, f"Bearer {shown}"):
        with pytest.raises(KeyRefusedError):
            await gate.admit(header)


async def test_keys_that_cannot_be_read_let_nobody_in(book: KeyBook, tmp_path: Path) -> None:
    shown, _ = book.create("ann")
    (tmp_path / "kb" / KEYS).write_bytes(b"no database at all, whatever it says" * 100)
    with pytest.raises(StorageError, match="nobody is let in"):
        await Gate(book).admit(f"Bearer {shown}")


@pytest.mark.parametrize(
    ("role", "may"), [("reader", ["reader"]), ("editor", ["reader", "editor"]), ("admin", None)]
)
def test_a_role_reaches_as_far_as_those_below_it(role: str, may: list[str] | None) -> None:
    caller = Caller("ann", role)  # type: ignore[arg-type]
    for wanted in ("reader", "editor", "admin"):
        if may is None or wanted in may:
            caller.require(wanted)  # type: ignore[arg-type]
        else:
            with pytest.raises(NotAllowedError, match=f"'ann' has '{role}'"):
                caller.require(wanted)  # type: ignore[arg-type]


async def test_a_key_may_be_used_so_often_and_then_again_when_time_has_passed(
    book: KeyBook,
) -> None:
    (ann, _), (bob, _) = book.create("ann"), book.create("bob")
    now = [0.0]
    gate = Gate(book, per_minute=3, clock=lambda: now[0])
    for _ in range(3):
        await gate.admit(f"Bearer {ann}")
    with pytest.raises(RateLimitError) as refused:
        await gate.admit(f"Bearer {ann}")
    assert refused.value.retry_after == pytest.approx(20)
    assert (await gate.admit(f"Bearer {bob}")).name == "bob"
    now[0] = 20.0
    assert (await gate.admit(f"Bearer {ann}")).name == "ann"
    with pytest.raises(RateLimitError):
        await gate.admit(f"Bearer {ann}")


# ------------------------------------------------------------------------------ the command line


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        cli.main(["keys", *arguments])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def test_a_key_is_made_listed_and_revoked_by_command(
    isolated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, shown, err = run(
        capsys, "create", "ann", "--role", "editor", "--collection", "handbook", "--principal", "hr"
    )
    assert (code, "cannot be shown again" in err) == (0, True)
    found = KeyBook(isolated / ".anabranch").find(shown.strip())
    assert found is not None
    assert (found.role, found.collections, found.principals) == ("editor", ("handbook",), ("hr",))
    code, out, _ = run(capsys, "list", "--json")
    assert [listed["id"] for listed in json.loads(out)] == [found.id]
    assert shown.strip() not in out
    assert run(capsys, "revoke", "ann")[1] == f"revoked: ann ({found.id})\n"
    assert "revoked" in run(capsys, "list")[1]


@pytest.mark.parametrize("options", [(), ("--collection", "a", "--all-collections")])
def test_what_a_key_may_see_has_to_be_said(
    isolated: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    code, out, err = run(capsys, "create", "ann", *options)
    assert (code, out) == (2, "")
    assert "--all-collections" in err
    assert not (isolated / ".anabranch").exists()


def test_another_program_sees_a_key_at_once(book: KeyBook, tmp_path: Path) -> None:
    shown, _ = book.create("ann")
    with sqlite3.connect(tmp_path / "kb" / KEYS) as other:
        other.execute("UPDATE keys SET revoked = 'now'")
    other.close()
    assert book.find(shown) is None


# ----------------------------------------------------------------------------- several processes


@dataclass
class Shared:
    """What is left for all processes; ``broken``: it cannot be reached."""

    left: int
    broken: bool = False
    asked: list[int] = field(default_factory=list)

    async def take(self, key_id: str, *, uses: int, per_minute: int) -> float:
        self.asked.append(uses)
        if self.broken:
            raise StorageError("the database is gone")
        if uses > self.left:
            return 7.0
        self.left -= uses
        return 0.0


async def let_in(gate: Gate, shown: str, times: int) -> int:
    """How often a key is let in, of so many times."""
    count = 0
    for _ in range(times):
        try:
            await gate.admit(f"Bearer {shown}")
            count += 1
        except RateLimitError:
            continue
    return count


async def test_processes_share_an_allowance_and_ask_for_it_by_the_second(book: KeyBook) -> None:
    shown, _ = book.create("ann")
    shared = Shared(left=25)
    gates = [Gate(book, per_minute=600, rates=shared) for _ in range(2)]
    counts = [await let_in(gate, shown, 20) for gate in gates]
    assert sum(counts) == 25
    # The first takes twice ten; the other finds no ten and takes one by one.
    assert shared.asked[:5] == [10, 10, 10, 1, 10]


async def test_without_its_database_each_process_counts_for_itself(book: KeyBook) -> None:
    shown, _ = book.create("ann")
    gate = Gate(book, per_minute=3, rates=Shared(left=0, broken=True), clock=lambda: 0.0)
    assert await let_in(gate, shown, 5) == 3
