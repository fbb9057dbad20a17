"""What the analysis says of golden records in every language: same numbers, no English left."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from commwall.analysis.limit_words import limit_sentence
from commwall.analysis.limits import limits
from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.verdicts.overall import TOPICS, comparisons, overall_text, topic_verdicts
from commwall.analysis.verdicts.wording import (
    brief_text,
    decomposition_text,
    noise_short_text,
    noise_text,
    ratio_text,
    sentence,
    short_text,
    spread_text,
    values_text,
)
from commwall.language.translate import ENGLISH, speaking, tr
from commwall.records.layout import Layout
from commwall.schema.record import Record
from tests.golden.many import CAMPAIGN, write_campaign
from tests.languages import ENGLISH_WORDS, NUMBER, OTHERS


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    root: Path = tmp_path_factory.mktemp("languages")
    return write_campaign(root)


def told(layout: Layout, language: str) -> tuple[Analysis, list[str]]:
    """The campaign and all that is said of it, in one order in every language."""
    with speaking(language):
        analysis = analyse_campaign(layout, CAMPAIGN, 0.95)
        return analysis, list(sentences(analysis))


def sentences(analysis: Analysis) -> Iterator[str]:
    for verdict in analysis.verdicts:
        yield from (text(verdict) for text in (short_text, brief_text, ratio_text, noise_text))
        yield from (text(verdict, analysis.names) for text in (sentence, spread_text, values_text))
        yield noise_short_text(verdict)
    for comparison in (*comparisons(analysis), *comparisons(analysis, control=True)):
        for topic in TOPICS:
            if verdicts := topic_verdicts(analysis, comparison, topic):
                yield f"{topic.title}: {overall_text(analysis, verdicts, topic.noun)}"
    yield from map(decomposition_text, analysis.decompositions)
    yield from map(limit_sentence, limits(analysis))
    yield from map(str, analysis.gaps)


def quoted(records: Iterable[Record]) -> Iterator[str]:
    """What records say in their own words, which stays as it was recorded."""
    for record in records:
        yield from (mark.detail for mark in record.marks)
        yield from (gap.reason for gap in record.gaps)
        yield record.status.detail or ""


@pytest.mark.parametrize("language", OTHERS)
def test_numbers_are_the_same_in_every_language(layout: Layout, language: str) -> None:
    english, other = told(layout, ENGLISH)[1], told(layout, language)[1]
    for one, two in zip(english, other, strict=True):
        assert sorted(NUMBER.findall(one)) == sorted(NUMBER.findall(two)), (one, two)


@pytest.mark.parametrize("language", OTHERS)
def test_no_sentence_is_left_in_english(layout: Layout, language: str) -> None:
    analysis, lines = told(layout, language)
    own = {*analysis.names.values(), *quoted(analysis.evidence.records)} - {""}
    for line in lines:
        rest = line
        for text in sorted(own, key=len, reverse=True):
            rest = rest.replace(text, "…")
        assert not ENGLISH_WORDS.search(rest), line


@pytest.mark.parametrize("language", OTHERS)
def test_what_is_grouped_by_its_words_is_grouped_alike(layout: Layout, language: str) -> None:
    english, other = told(layout, ENGLISH)[0], told(layout, language)[0]
    assert [gap.kind for gap in other.gaps] == [gap.kind for gap in english.gaps]
    assert [gap.suite for gap in other.gaps] == [gap.suite for gap in english.gaps]
    for one, two in zip(english.verdicts, other.verdicts, strict=True):
        assert (one.winner, one.rounds, one.values_a) == (two.winner, two.rounds, two.values_a)


def test_chinese_names_stand_in_a_chinese_sentence_without_spaces() -> None:
    sides = {"a": "NVLink", "b": "主机中转", "topic": "训练"}
    with speaking("zh"):
        assert tr("{a} against {b}: {topic}", **sides) == "NVLink 对比主机中转：训练"
        assert tr("{least} to {most}", least="1（一）", most="2") == "1（一）至 2"
    assert tr("{least} to {most}", least="1（一）", most="2") == "1（一） to 2"
