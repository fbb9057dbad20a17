"""Text of the bytes of a file, as shells of several systems write it.

Layer: readers. Reads no file.
"""

import codecs

from commwall.readers.refusal import Unreadable

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",  # what a Windows shell writes
    codecs.BOM_UTF16_BE: "utf-16",
}
_OTHERS = {
    b"\x1f\x8b": "packed_by_gzip,_gunzip_it_first",
    b"\x89PNG": "a_picture,_paste_the_text_itself",
}
"""How a file that is no text begins, and what to do with it."""


def decoded(content: bytes) -> str:
    """The text of a file; what is no UTF-8 stands as U+FFFD, which no reader takes for a value.

    Raises:
        Unreadable: if it is no text.
    """
    for beginning, reason in _OTHERS.items():
        if content.startswith(beginning):
            raise Unreadable(None, reason)
    encoding = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\0" in content[:4096]:
        raise Unreadable(None, "not_text")
    return content.decode(encoding, errors="replace")
