"""The whole of an evaluation over a data set of ten documents, with the real parts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from anabranch import cli
from anabranch.errors import InputError
from anabranch.evaluation.comparison import save_run
from anabranch.evaluation.datasets import load_dataset
from anabranch.evaluation.evaluation import Request, evaluate
from anabranch.evaluation.index import open_index
from anabranch.evaluation.runs import Way
from anabranch.settings import Settings
from tiny_models import make_encoder

DOCUMENTS = {
    "bridge": (
        "Harbour bridge",
        "The harbour bridge of Lindau was finished in 1911 by Oskar Brand.",
    ),
    "ferry": ("Ferry", "The ferry from Lindau to Bregenz sails every forty minutes in summer."),
    "bakery": ("Bakery", "The bakery on Mill Street sells rye bread and opens at six o'clock."),
    "museum": ("Museum", "The clock museum shows 340 pocket watches from three centuries."),
    "museum-copy": ("Museum", "The clock museum shows 340 pocket watches from three centuries."),
    "garden": ("Garden", "The botanical garden grows orchids in a heated glass house."),
    "school": ("School", "The music school teaches the violin, the harp and the clarinet."),
    "station": ("Station", "Trains to Zurich leave from platform four of the main station."),
    "library": ("图书馆", "市图书馆每周一闭馆，借书证办理费用为二十元。"),
    "empty": ("", " "),
}
QUERIES: list[dict[str, Any]] = [
    {"_id": "q1", "text": "Who built the harbour bridge of Lindau?", "metadata": {
        "answerable": True, "route": "simple", "answer": ["Oskar Brand"], "source": "town"}},
    {"_id": "q2", "text": "How many pocket watches does the clock museum show?", "metadata": {
        "answerable": True, "route": "simple", "answer": "340", "source": "town"}},
    {"_id": "q3", "text": "市图书馆借书证办理费用是多少？", "metadata": {
        "answerable": True, "answer": "二十元", "lang": "zh"}},
    {"_id": "q4", "text": "Which vaccine does a newborn giraffe need?", "metadata": {
        "answerable": False}},
    {"_id": "q5", "text": "How does the harbour bridge differ from the ferry?", "metadata": {
        "answerable": True, "route": "complex", "source": "pairs", "candidates": ["bridge", "ferry"]}},
    {"_id": "q6", "text": "How much does it cost?", "metadata": {"route": "clarify"}},
]  # fmt: skip
QRELS = (
    "query-id\tcorpus-id\tscore\nq1\tbridge\t1\nq2\tmuseum\t1\nq2\tmuseum-copy\t1\nq3\tlibrary\t1\n"
)


def write(folder: Path, *, corpus: bool = True, qrels: bool = True) -> Path:
    folder.mkdir()
    lines = [json.dumps(query, ensure_ascii=False) for query in QUERIES]
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if corpus:
        rows = [
            json.dumps({"_id": name, "title": title, "text": text, "metadata": {}})
            for name, (title, text) in DOCUMENTS.items()
        ]
        (folder / "corpus.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    if qrels:
        (folder / "qrels").mkdir()
        (folder / "qrels" / "test.tsv").write_text(QRELS, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "town")


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "town.trec"


@pytest.fixture(scope="module")
def saved(run_file: Path) -> Path:
    return run_file.with_name("town.json")


@pytest.fixture(scope="module")
def report(town: Path, cache: Path, run_file: Path, saved: Path) -> dict[str, Any]:
    request = Request(town, cache=cache, run_file=run_file, save=saved)
    return evaluate(request, settings=Settings())


def test_the_report_has_every_section_that_the_labels_allow(report: dict[str, Any]) -> None:
    assert (report["dataset"], report["split"], report["effort"]) == ("town", "test", "standard")
    assert (report["documents"], report["indexing"]["empty"]) == (9, 1)
    assert (report["queries"], report["judged_queries"]) == (6, 3)
    assert set(report["metrics"]) == {"nDCG@10", "R@10", "R@100", "RR@10", "AllEvidence@10"}
    assert set(report["latency_ms"]) == {"p50", "p95"}
    assert report["indexing"]["documents_per_second"] > 0


def test_the_right_documents_come_first(report: dict[str, Any]) -> None:
    assert report["metrics"]["RR@10"] == 1.0


def test_a_copy_that_was_merged_counts_as_found(report: dict[str, Any]) -> None:
    assert report["metrics"]["AllEvidence@10"] == 1.0
    assert report["metrics"]["nDCG@10"] == pytest.approx(1.0)


def test_an_unanswerable_question_is_told_from_the_answerable_ones(report: dict[str, Any]) -> None:
    assert report["answerability"]["n"] == 5
    assert report["answerability"]["auroc"] == 1.0
    assert report["answerability"]["auroc_interval"] == [1.0, 1.0]
    assert report["answerability"]["no_knowledge"]["recall"] == 1.0


def test_routing_looks_at_simple_and_complex_rows_by_source(report: dict[str, Any]) -> None:
    assert report["routing"]["n"] == 3
    assert set(report["routing"]["by_source"]) == {"pairs", "town"}


def test_asking_back_and_gold_answers_are_measured(report: dict[str, Any]) -> None:
    assert report["clarification"] == {"auroc": 1.0, "n": 4}
    assert report["answers"]["n"] == 3
    assert report["answers"]["contains_gold"] > 0.5


def test_the_run_file_gives_the_same_figures_to_ir_measures(
    report: dict[str, Any], town: Path, run_file: Path
) -> None:
    judged = load_dataset(town).qrels
    run = list(ir_measures.read_trec_run(str(run_file)))
    found = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], dict(judged), run)
    assert found[ir_measures.nDCG @ 10] == pytest.approx(report["metrics"]["nDCG@10"], abs=1e-6)


def test_candidates_are_the_only_documents_searched(report: dict[str, Any], run_file: Path) -> None:
    lines = [line.split() for line in run_file.read_text(encoding="utf-8").splitlines()]
    assert {row[2] for row in lines if row[0] == "q5"} == {"bridge", "ferry"}


def test_a_second_evaluation_indexes_nothing_and_ranks_the_same(
    report: dict[str, Any], town: Path, cache: Path, tmp_path: Path, run_file: Path
) -> None:
    again = evaluate(
        Request(town, cache=cache, run_file=tmp_path / "again.trec"), settings=Settings()
    )
    assert again["indexing"] == {**report["indexing"], "cached": True}
    assert (tmp_path / "again.trec").read_bytes() == run_file.read_bytes()


def test_several_jobs_give_the_same_figures(
    report: dict[str, Any], town: Path, cache: Path
) -> None:
    again = evaluate(Request(town, cache=cache, way=Way(jobs=3)), settings=Settings())
    assert again["metrics"] == report["metrics"]
    assert again["statuses"] == report["statuses"]


def test_times_that_include_waiting_are_not_compared(
    report: dict[str, Any], town: Path, cache: Path, saved: Path
) -> None:
    alone = evaluate(Request(town, cache=cache, compare=saved), settings=Settings())
    together = evaluate(
        Request(town, cache=cache, compare=saved, way=Way(jobs=3)), settings=Settings()
    )
    assert "latency_ms" in alone["comparison"]["metrics"]
    assert "latency_ms" not in together["comparison"]["metrics"]


def test_a_run_compared_with_itself_does_not_differ(
    report: dict[str, Any], town: Path, cache: Path, saved: Path
) -> None:
    found = evaluate(Request(town, cache=cache, compare=saved), settings=Settings())
    row = found["comparison"]["metrics"]["nDCG@10"]
    assert (row["n"], row["difference"], row["p"]) == (3, 0.0, 1.0)


def test_the_effort_asked_for_is_the_effort_measured(
    report: dict[str, Any], town: Path, cache: Path
) -> None:
    found = evaluate(Request(town, cache=cache, way=Way(effort="minimal")), settings=Settings())
    assert found["effort"] == "minimal"
    assert found["routing"]["by_source"]["pairs"] == 0.0  # nothing is planned at minimal effort


def test_other_documents_get_an_index_of_their_own(town: Path, tmp_path: Path) -> None:
    folders, counts = [], []
    for wanted in ((), ("lang=zh",)):
        base, indexing = open_index(
            load_dataset(town, corpus_where=wanted), tmp_path, settings=Settings()
        )
        base.close()
        folders.append(base.path)
        counts.append(indexing.documents)
    assert folders[0] != folders[1]
    assert counts == [9, 0]


def test_an_index_of_another_model_is_left_alone(town: Path, tmp_path: Path) -> None:
    first, _ = open_index(load_dataset(town), tmp_path, settings=Settings())
    first.close()
    manifest = first.path / "manifest.json"
    other = json.dumps({**json.loads(manifest.read_text("utf-8")), "embedder": "another model"})
    manifest.write_text(other, encoding="utf-8")
    second, indexing = open_index(load_dataset(town), tmp_path, settings=Settings())
    with second:
        assert second.path != first.path
        assert indexing.added == 9
    assert manifest.read_text("utf-8") == other


def test_an_index_made_with_another_model_is_not_asked_where_none_is_named(
    town: Path, tmp_path: Path
) -> None:
    """The one that is there first would decide, and its figures pass for the bundled model's."""
    tiny = make_encoder(tmp_path / "tiny", ("bridge", "ferry", "museum"))
    dataset, cache = load_dataset(town), tmp_path / "both"
    other, _ = open_index(dataset, cache, settings=Settings(embedder=str(tiny)))
    other.close()
    base, indexing = open_index(dataset, cache, settings=Settings())
    with base:
        assert base.path != other.path
        assert not indexing.cached
        assert (
            json.loads((base.path / "manifest.json").read_text("utf-8"))["embedder_name"]
            == "bundled"
        )


def test_fresh_indexes_again(report: dict[str, Any], town: Path, cache: Path) -> None:
    base, indexing = open_index(load_dataset(town), cache, settings=Settings(), fresh=True)
    with base:
        assert not indexing.cached
        assert indexing.added == 9
        assert len(base.sources()) == 9


def test_without_judgments_the_rest_is_measured(tmp_path: Path, cache: Path) -> None:
    found = evaluate(
        Request(write(tmp_path / "town", qrels=False), cache=cache), settings=Settings()
    )
    assert "metrics" not in found
    assert found["split"] is None
    assert found["answerability"]["n"] == 5


def test_without_a_corpus_routing_and_asking_back_are_measured(tmp_path: Path, cache: Path) -> None:
    found = evaluate(
        Request(write(tmp_path / "town", corpus=False), cache=cache), settings=Settings()
    )
    assert found["documents"] == 0
    assert found["routing"]["n"] == 3
    assert found["clarification"]["auroc"] == 1.0
    assert not {"metrics", "answerability", "answers", "latency_ms", "indexing"} & set(found)


def test_a_question_that_cannot_be_asked_is_counted_and_the_others_go_on(
    tmp_path: Path, cache: Path
) -> None:
    folder = write(tmp_path / "town", qrels=False)
    blank = {"_id": "blank", "text": " ", "metadata": {"answerable": True}}
    with (folder / "queries.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(blank) + "\n")
    found = evaluate(Request(folder, cache=cache), settings=Settings())
    assert found["statuses"]["failed"] == 1
    assert found["queries"] == 7
    assert found["answerability"]["answerable"]["recall"] < 1


def test_a_file_that_could_not_be_written_is_told_before_asking(town: Path, tmp_path: Path) -> None:
    request = Request(town, cache=tmp_path / "cache", save=tmp_path / "absent" / "run.json")
    with pytest.raises(InputError, match="no folder for"):
        evaluate(request, settings=Settings())
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("file", ["queries.jsonl", "corpus.jsonl"])
def test_an_id_that_would_break_the_run_file_is_told_before_asking(
    town: Path, tmp_path: Path, file: str
) -> None:
    folder = shutil.copytree(town, tmp_path / "town")
    with (folder / file).open("a", encoding="utf-8") as lines:
        lines.write('{"_id": "two words", "text": "A name with a blank."}\n')
    request = Request(folder, cache=tmp_path / "cache", run_file=tmp_path / "run.trec")
    with pytest.raises(InputError, match="'two words' has a blank"):
        evaluate(request, settings=Settings())
    assert not (tmp_path / "cache").exists()


def test_a_run_of_another_data_set_is_told(
    town: Path, cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run.json"
    save_run(run, {"dataset": "village", "split": "test"}, {"q1": {"R@10": 1.0}})
    evaluate(Request(town, limit=1, cache=cache, compare=run), settings=Settings())
    assert "is of 'village' (test)" in capsys.readouterr().err


# ------------------------------------------------------------------------------------ the command

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], isolated: Path) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_:
            cli.main(["eval", *arguments])
        captured = capsys.readouterr()
        return int(exit_.value.code or 0), captured.out, captured.err

    return call


def test_the_command_prints_one_json_document(run: Run, town: Path, cache: Path) -> None:
    code, out, err = run(str(town), "--cache", str(cache), "--limit", "2", "--json")
    assert code == 0
    assert json.loads(out)["queries"] == 2
    assert "asked 2 of 2" in err


def test_the_command_prints_a_table_with_the_comparison(
    run: Run, town: Path, cache: Path, report: dict[str, Any], saved: Path
) -> None:
    code, out, _ = run(str(town), "--cache", str(cache), "--compare", str(saved))
    assert code == 0
    assert "nDCG@10" in out
    [row] = [line.split() for line in out.splitlines() if line.lstrip().startswith("nDCG@10")]
    assert row[-5:] == ["+0.0000", "+0.0000", "+0.0000", "1.0000", "3"]


def test_the_command_refuses_a_missing_folder_with_code_3(run: Run) -> None:
    code, out, err = run("absent")
    assert (code, out) == (3, "")
    assert "'absent'" in err
