"""`anabranch keys`: make, list and revoke the keys of a knowledge base."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from anabranch.options import DebugOption, JsonOption, KbOption

if TYPE_CHECKING:
    from anabranch.keys import KeyBook

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Who it is for.", show_default=False)
]


def keys_app(
    reporting: Callable[[bool], AbstractContextManager[None]], print_json: Callable[[Any], None]
) -> typer.Typer:
    """The commands, with the way of the command line to report errors and print JSON."""
    app = typer.Typer(help="The keys by which a service lets callers in.", no_args_is_help=True)

    @app.command()
    def create(
        name: NameArgument,
        role: Annotated[
            Literal["reader", "editor", "admin"],
            typer.Option("--role", help="editor adds and removes sources; admin sees all of them."),
        ] = "reader",
        collection: Annotated[
            list[str] | None,
            typer.Option("--collection", metavar="NAME", help="It may see this one; repeatable."),
        ] = None,
        all_collections: Annotated[
            bool, typer.Option("--all-collections", help="It may see every collection.")
        ] = False,
        principal: Annotated[
            list[str] | None,
            typer.Option(
                "--principal",
                metavar="NAME",
                help="It sees documents that are kept for this one; repeatable.",
            ),
        ] = None,
        kb: KbOption = None,
        as_json: JsonOption = False,
        debug: DebugOption = False,
    ) -> None:
        """Make a key and show it, this one time."""
        with reporting(debug):
            if bool(collection) == all_collections:
                raise typer.BadParameter("give either --collection NAME or --all-collections.")
            given, key = _book(kb).create(
                name,
                role=role,
                collections=None if all_collections else collection,
                principals=principal or (),
            )
            if as_json:
                print_json({"key": given, **_shown(key)})
            else:
                print(given)
                typer.echo("Keep it now: it cannot be shown again.", err=True)

    @app.command("list")
    def list_keys(
        kb: KbOption = None, as_json: JsonOption = False, debug: DebugOption = False
    ) -> None:
        """List the keys, also revoked ones; never the keys themselves."""
        with reporting(debug):
            from anabranch.rendering import clean

            keys = [_shown(key) for key in _book(kb).all()]
            if as_json:
                print_json(keys)
                return
            for key in keys:
                seen = "all collections" if key["collections"] is None else key["collections"]
                state = f"revoked {key['revoked']}" if key["revoked"] else "in force"
                line = f"{key['id']}  {key['name']}  {key['role']}  {seen}  {key['principals']}  {state}"
                print(clean(line))

    @app.command()
    def revoke(
        name: Annotated[
            str, typer.Argument(metavar="NAME", help="Its name or id.", show_default=False)
        ],
        kb: KbOption = None,
        as_json: JsonOption = False,
        debug: DebugOption = False,
    ) -> None:
        """Make a key invalid, from the next request on."""
        with reporting(debug):
            from anabranch.rendering import clean

            key = _shown(_book(kb).revoke(name))
            if as_json:
                print_json(key)
            else:
                print(clean(f"revoked: {key['name']} ({key['id']})"))

    return app


def _book(kb: Path | None) -> KeyBook:
    from anabranch.keys import KeyBook
    from anabranch.settings import load_settings

    return KeyBook(load_settings(kb=kb).kb.absolute())


def _shown(key: Any) -> dict[str, Any]:
    from anabranch.types import to_plain

    plain: dict[str, Any] = to_plain(key)
    return plain
