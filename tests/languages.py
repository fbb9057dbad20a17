"""What tests of languages share: which there are besides English, and what is left of English."""

import re

from commwall.language.translate import ENGLISH, LANGUAGES

OTHERS = sorted(LANGUAGES.keys() - {ENGLISH})
NUMBER = re.compile(r"\d[\d.,]*\d|\d")
ENGLISH_WORDS = re.compile(r"[a-z']{2,}(?: [a-z']{2,}){2,}", re.IGNORECASE)
"""Three words in a row: names of cases, metrics and units have fewer."""
