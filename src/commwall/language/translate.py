"""Text of reports in the language that is being written.

English stands in the code; what a reader sees in another language comes from the catalogues beside
this file (gettext's format, read by Babel), one for each part of the package. Numbers are put into
the sentence after it was translated, so that they are the same in every language.

Layer: language. Reads `<language>/*.po`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from commwall.schema.errors import CommwallError
from commwall.schema.phrases import Phrase
from commwall.schema.units import quantity_text as english_quantity_text

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "zh": "中文"}
"""Language -> its own name."""
CATALOGUES = Path(__file__).parent

_CHINESE, _MARKS = "\u4e00-\u9fff", "\u3001-\u303f\uff00-\uff65"
_STRAY = re.compile(
    f"(?<=[{_CHINESE}]) (?=[{_CHINESE}])|(?<=[{_MARKS}]) (?=\\S)|(?<=\\S) (?=[{_MARKS}])"
)
"""A space between two Chinese characters, or beside a Chinese mark, which brings its own."""

_spoken: ContextVar[str] = ContextVar("language", default=ENGLISH)


class LanguageError(CommwallError):
    """A language that reports cannot be written in."""


def folder_of(language: str) -> str:
    """Folder of a language's pages beside the English ones, which have none of their own."""
    return "" if language == ENGLISH else language


def spoken() -> str:
    """The language that text is now written in."""
    return _spoken.get()


def speak(language: str) -> None:
    """Write all text of this process from now on in a language.

    Raises:
        LanguageError: if there is none of that name.
    """
    _spoken.set(_known(language))


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Write text in a language for a while.

    Raises:
        LanguageError: if there is none of that name.
    """
    token = _spoken.set(_known(language))
    try:
        yield
    finally:
        _spoken.reset(token)


def tr(message: str, /, **values: object) -> str:
    """A message in the language spoken; without a translation as it is.

    Args:
        message: English text, with names in braces where values stand. Written out at the call,
            so that `messages` finds it.
        values: what stands in the braces, in words already, for they are not translated.
    """
    text = _translated(message)
    return _closed(text.format(**values)) if values else text


def trn(one: str, many: str, n: int, /, **values: object) -> str:
    """A message that counts; `{n}` in it is the count.

    Args:
        one: English text for one.
        many: English text for any other number, under which translations stand.
        n: the count.
        values: as in `tr`.
    """
    text = one if n == 1 and _spoken.get() == ENGLISH else _translated(many)
    return _closed(text.format(n=f"{n:,}", **values))


def tr_later(message: str, /) -> str:
    """Mark a constant of a module, which is made before a language is chosen, for `messages`.

    Where it is shown it goes through `tr`.
    """
    return message


def said(phrase: Phrase) -> str:
    """A phrase of schema in the language spoken."""
    values = dict(phrase.values)
    nested = {name: said(own) for name, own in values.items() if isinstance(own, Phrase)}
    return tr(phrase.message, **values | nested)


def listed(words: Iterable[str]) -> str:
    """Words in a row, between them the comma of the language spoken."""
    return tr(", ").join(words)


def quantity_text(value: float, unit: str) -> str:
    """A stored value in words, as `schema.units.quantity_text`, its unit in the language spoken."""
    number, _, shown = english_quantity_text(value, unit).partition(" ")
    return f"{number} {_translated(shown)}" if shown else number


def around_text(middle: str, least: str, most: str) -> str:
    """A value and its ends, each in words: "2.1 ms (1.9 to 2.4)", a common unit stands once."""
    units = {text.partition(" ")[2] for text in (middle, least, most)}
    if len(units) == 1:
        least, most = (text.partition(" ")[0] for text in (least, most))
    return tr("{middle} ({least} to {most})", middle=middle, least=least, most=most)


def span_text(least: str, most: str) -> str:
    """Two ends, each in words: "1.9 to 2.4 ms", what they share once."""
    if least == most:
        return least
    number, _, unit = least.partition(" ")
    return between_text(number if unit == most.partition(" ")[2] else least, most)


def between_text(least: str, most: str) -> str:
    """Two ends, each in words, as they are: "35 % to 310 %"."""
    return tr("{least} to {most}", least=least, most=most)


def clauses(parts: Iterable[str]) -> str:
    """Parts of one sentence, between them the semicolon of the language spoken."""
    return tr("; ").join(parts)


def lowered(title: str) -> str:
    """A title or sentence as it goes on one; "NVLink" and "PCIe" stay as they are.

    Chinese has no capitals, and a name that begins a sentence is written as elsewhere.
    """
    if spoken() != ENGLISH:
        return title
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def capital(text: str) -> str:
    """A text as it begins a sentence, in a language that has capitals."""
    if spoken() != ENGLISH:
        return text
    return text[:1].upper() + text[1:]


def _known(language: str) -> str:
    if language not in LANGUAGES:
        raise LanguageError(
            f"there are no reports in {language!r}",
            where="languages",
            found=language,
            expected=", ".join(LANGUAGES),
        )
    return language


def _closed(text: str) -> str:
    """Chinese text without the space that its sentences leave for Latin words and numbers."""
    return text if _spoken.get() == ENGLISH else _STRAY.sub("", text)


def _translated(message: str) -> str:
    return _translations(_spoken.get()).get(message, message)


@cache
def _translations(language: str) -> Mapping[str, str]:
    """English message -> translation, of all catalogues of a language."""
    if language == ENGLISH:
        return {}
    from commwall.language.catalogues import translations  # Babel, which English does without

    return translations(CATALOGUES / language)
