from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from anabranch.errors import InputError
from anabranch.evaluation.datasets import load_dataset, parse_conditions, read_qrels


def rows(*items: dict[str, Any]) -> str:
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)


def query(name: str, **metadata: Any) -> dict[str, Any]:
    return {"_id": name, "text": f"What is {name}?", "metadata": metadata}


def folder(tmp_path: Path, queries: str, **qrels: str) -> Path:
    (tmp_path / "queries.jsonl").write_text(queries, encoding="utf-8")
    (tmp_path / "qrels").mkdir()
    for split, text in qrels.items():
        (tmp_path / "qrels" / f"{split}.tsv").write_text(text, encoding="utf-8")
    return tmp_path


def ids(path: Path, **options: Any) -> list[str]:
    return [item.id for item in load_dataset(path, **options).queries]


def test_queries_that_only_another_split_judges_are_left_out(tmp_path: Path) -> None:
    path = folder(
        tmp_path, rows(query("a"), query("b"), query("c")), test="a\td1\t1\n", train="b\td1\t1\n"
    )
    assert ids(path) == ["a", "c"]
    assert ids(path, split="train") == ["b", "c"]


def test_the_only_split_is_taken_when_there_is_no_test(tmp_path: Path) -> None:
    path = folder(tmp_path, rows(query("a")), trial="a\td1\t1\n")
    assert load_dataset(path).split == "trial"


def test_several_splits_without_test_must_be_chosen_from(tmp_path: Path) -> None:
    path = folder(tmp_path, rows(query("a")), dev="a\td1\t1\n", train="a\td1\t1\n")
    with pytest.raises(InputError, match=r"'dev', 'train'.*--split"):
        load_dataset(path)


def test_an_unknown_split_is_refused_with_those_that_are_there(tmp_path: Path) -> None:
    path = folder(tmp_path, rows(query("a")), dev="a\td1\t1\n")
    with pytest.raises(InputError, match=r"no split 'tset'.*'dev'"):
        load_dataset(path, split="tset")


def test_the_limit_counts_the_queries_that_pass_in_file_order(tmp_path: Path) -> None:
    path = folder(
        tmp_path,
        rows(query("c", lang="zh"), query("b", lang="en"), query("a", lang="zh"), query("d", lang="zh")),
    )  # fmt: skip
    assert ids(path, where=["lang=zh"], limit=2) == ["c", "a"]


def test_conditions_match_text_other_values_and_members_of_lists() -> None:
    metadata = {"lang": "zh", "answerable": True, "hops": 2, "tags": ["x", "y"]}
    for written in ("lang=zh", "answerable=true", "hops=2", "tags=y"):
        assert parse_conditions([written])[0].holds(metadata)
    assert not parse_conditions(["lang=en"])[0].holds(metadata)
    assert not parse_conditions(["absent=zh"])[0].holds(metadata)


def test_a_condition_without_an_equals_sign_is_refused() -> None:
    with pytest.raises(InputError, match=r"'lang'.*key=value"):
        parse_conditions(["lang"])


def test_gzipped_files_are_read_as_plain_ones(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl.gz").write_bytes(gzip.compress(rows(query("a")).encode()))
    assert ids(tmp_path) == ["a"]


def test_a_line_separator_inside_a_string_does_not_end_the_line(tmp_path: Path) -> None:
    path = folder(tmp_path, '{"_id": "a", "text": "one\u2028two", "metadata": null}\n')
    assert load_dataset(path).queries[0].text == "one\u2028two"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"_id": "b", ', "line 2 is not JSON"),
        ("[1]", "line 2 is not a JSON object"),
        ('{"text": "x"}', "line 2 has no usable '_id'"),
        ('{"_id": "a", "text": "x"}', "line 2 has the '_id' 'a' of an earlier line"),
        ('{"_id": "b", "text": 3}', "line 2 has no usable 'text'"),
        ('{"_id": "b", "text": "x", "metadata": 3}', "line 2: 'metadata' is 3"),
    ],
)
def test_a_broken_line_is_named_by_its_number(tmp_path: Path, line: str, complaint: str) -> None:
    path = folder(tmp_path, rows(query("a")) + line + "\n")
    with pytest.raises(InputError, match=complaint):
        load_dataset(path)


def test_a_file_that_is_not_gzip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl.gz").write_bytes(b"plain")
    with pytest.raises(InputError, match="cannot be read"):
        load_dataset(tmp_path)


def test_a_missing_folder_and_a_folder_without_queries_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        load_dataset(tmp_path / "absent")
    with pytest.raises(InputError, match=r"no queries\.jsonl"):
        load_dataset(tmp_path)


def test_nothing_left_to_ask_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No query"):
        load_dataset(folder(tmp_path, rows(query("a", lang="en"))), where=["lang=zh"])


def test_judgments_are_read_with_and_without_a_header(tmp_path: Path) -> None:
    file = tmp_path / "test.tsv"
    for header in ("query-id\tcorpus-id\tscore\n", ""):
        file.write_text(f"{header}a\td1\t2\na\td2\t0\n", encoding="utf-8")
        assert read_qrels(file) == {"a": {"d1": 2, "d2": 0}}


def test_a_broken_judgment_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "test.tsv"
    file.write_text("query-id\tcorpus-id\tscore\na\td1\t1\na d2 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 3"):
        read_qrels(file)


def test_a_document_without_text_has_its_title_as_text(tmp_path: Path) -> None:
    path = folder(tmp_path, rows(query("a")))
    (path / "corpus.jsonl").write_text(
        rows(
            {"_id": "d1", "title": "Moons", "text": " ", "metadata": {"lang": "en"}},
            {"_id": "d2", "text": "Titan", "metadata": {"lang": "en"}},
            {"_id": "d3", "text": "土卫六", "metadata": {"lang": "zh"}},
        ),
        encoding="utf-8",
    )
    dataset = load_dataset(path, corpus_where=["lang=en"])
    assert [(found.id, found.text) for found in dataset.documents()] == [
        ("d1", "Moons"),
        ("d2", "Titan"),
    ]


def test_an_id_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    path = folder(tmp_path, '{"_id": "q\\ud800", "text": "What?"}\n')
    with pytest.raises(InputError, match=r"line 1 has no usable '_id'"):
        load_dataset(path)
