"""What differs between two versions of a page.

Layer: report. Pure.
"""

from collections.abc import Iterator, Sequence

from commwall.report.review.change import Change, Spot, text_change, told
from commwall.report.review.content import Content, Picture, Sentence, parameters_of
from commwall.report.review.matching import Pairing
from commwall.report.review.numbers import template
from commwall.report.review.tables import table_changes


def page_changes(old: Content, new: Content) -> tuple[Change, ...]:
    """Everything that differs, in the new version's reading order; code comes last."""
    found = [
        *_sentence_changes(old.sentences, new.sentences),
        *table_changes(old.tables, new.tables),
        *_picture_changes(old.pictures, new.pictures),
    ]
    found.sort(key=lambda change: change.spot.at)
    found += [*_parameter_changes(old.code, new.code), *_code_changes(old.code, new.code)]
    if not found and old != new:
        found.append(Change("moved", Spot(0, ""), "", "all of it stands in another order"))
    return tuple(found)


def _sentence_changes(old: Sequence[Sentence], new: Sequence[Sentence]) -> Iterator[Change]:
    sentences = Pairing(old, new)
    sentences.by(lambda sentence: (sentence.section, sentence.text))
    for was, now in sentences.by(lambda sentence: sentence.text):
        yield Change("moved", Spot(now.at, now.section), was.section, now.text)
    altered = [
        *sentences.by(lambda sentence: (sentence.section, template(sentence.text))),
        *sentences.by(lambda sentence: template(sentence.text)),
        *sentences.by_likeness(lambda each: each.section, lambda each: each.text),
    ]
    for was, now in altered:
        yield text_change(Spot(now.at, now.section), was.text, now.text)
    for sentence in sentences.old:
        yield told("vanished", Spot(sentence.at, sentence.section), sentence.text)
    for sentence in sentences.new:
        yield told("appeared", Spot(sentence.at, sentence.section), sentence.text)


def _picture_changes(old: Sequence[Picture], new: Sequence[Picture]) -> Iterator[Change]:
    """Pictures that look otherwise; what their captions say is told as sentences are."""
    pictures = Pairing(old, new)
    pictures.by(lambda picture: (picture.section, picture.caption))
    pictures.by(lambda picture: template(picture.caption))
    for was, now in pictures.pairs:
        if was.digest != now.digest:
            yield Change("picture", Spot(now.at, now.section), was.caption, now.caption)
    for picture in pictures.old:
        yield told("vanished", Spot(picture.at, picture.section), f"picture: {picture.caption}")
    for picture in pictures.new:
        yield told("appeared", Spot(picture.at, picture.section), f"picture: {picture.caption}")


def _parameter_changes(old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    was, now = parameters_of(old), parameters_of(new)
    for name in sorted(was.keys() | now.keys()):
        if was.get(name) != now.get(name):
            spot = Spot(0, "", (name,))
            yield Change("parameter", spot, was.get(name, ""), now.get(name, ""))


def _code_changes(old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    """Lines of code that only one version has; what is as it was but elsewhere is not told."""
    lines = Pairing(_lines(old), _lines(new))
    lines.by(lambda line: line)
    for line in lines.old:
        yield Change("code", Spot(0, ""), line, "")
    for line in lines.new:
        yield Change("code", Spot(0, ""), "", line)


def _lines(code: Sequence[str]) -> list[str]:
    """All lines but those that hold the parameters of this rendering."""
    cells = [cell for cell in code if not parameters_of([cell])]
    return [line for cell in cells for line in cell.splitlines() if line.strip()]
