r"""What terminals, launchers and web pages put around a tool's text.

Layer: readers. Reads no file. Codes of a terminal, carriage returns, a launcher's rank, a
container's time stamp and a shell's prompt go; the tool's own bytes stay, tabs and the blanks of
a line among them. Lines end with `\n` and nothing else ends one. Time is linear.

A prefix that nothing else could be (`[1,0]<stdout>:`) goes wherever it stands. One that could be
the tool's own (`0: `) goes only if every line that is not blank begins with it.
"""

import re

_TERMINAL = re.compile(
    r"\x1b\[[0-?]{0,32}[ -/]{0,8}[@-~]"  # colours and the cursor
    r"|\x1b\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)?"  # the window's title
    r"|\x1b[()*+][0-9A-Za-z]|\x1b[=>78cDEHMNOZ]|\x1b"
)
_ORPHANED = re.compile(r"(?:\^\[)?\[(?:[0-9]{1,3}(?:;[0-9]{1,3}){0,4})?m")
"""A colour whose escape character was lost in a web form."""
_CONTROLS = dict.fromkeys([0, 7, 14, 15, 0xFEFF, 0x200B], None) | {0xA0: " "}
_STAMP = (
    r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_CERTAIN = re.compile(
    r"\[(?:[\w.-]{1,80}@)?[0-9]{1,6},[0-9]{1,6}\](?:<std(?:out|err|diag)>)?:"  # mpirun
    r"|\[default[0-9]{1,6}\]:|\[(?:rank|trainer)[0-9]{1,6}\]: "  # torchrun
    r"|\((?:[\w.]{1,80} )?pid=[0-9]{1,9}(?:, ip=[0-9a-f.:]{1,45})?\) "  # ray
    rf"|{_STAMP}(?:[ \t]|$)"  # docker, kubectl and CI; a comma after it is a table's own
    r"|[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [\w.-]{1,64} [\w./-]{1,64}"
    r"(?:\[[0-9]{1,9}\])?: "  # journald
)
_IF_ON_EVERY_LINE = tuple(
    re.compile(pattern)
    for pattern in (
        r"[0-9]{1,6}:(?: |$)",  # srun --label
        r"\[[0-9]{1,6}\](?: |$)",  # mpiexec -prepend-rank
        r"\[pod/[\w./-]{1,200}\] ",  # kubectl --prefix
        r"[A-Za-z][\w.-]{0,63} {1,40}\|(?: |$)",  # docker compose
        r">(?: |$)",  # a quotation
    )
)
_FIRST_OF_CERTAIN = frozenset("[(0123456789ADFJMNOS")
_PROMPT = re.compile(
    r"(?:\([\w.-]{1,40}\) )?"
    r"(?:\[?[\w.-]{1,64}@[\w.-]{1,64}(?::| )[^\s#$\]]{0,200}\]?[#$](?: |$)|[$%] )"
)
_DEPTH = 4
"""A prefix inside a prefix, such as a rank behind a container's stamp: no deeper than this."""


def clean(text: str) -> str:
    """The text without what is not the tool's. Cleaning a clean text changes nothing."""
    lines = _without_terminal(text).split("\n")
    for _ in range(_DEPTH):
        stripped = _without_common([_without_certain(line) for line in lines])
        if stripped == lines:
            break
        lines = stripped
    return "\n".join(map(_without_prompt, lines))


def _without_terminal(text: str) -> str:
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    if "[0m" in text or "[m" in text:
        text = _ORPHANED.sub("", text)
    if "\r" in text:
        while "\r\r" in text:  # halves them each time
            text = text.replace("\r\r", "\r")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.translate(_CONTROLS) if _has_controls(text) else text


def _has_controls(text: str) -> bool:
    return any(chr(code) in text for code in _CONTROLS)


def _without_certain(line: str) -> str:
    if line[:1] not in _FIRST_OF_CERTAIN:
        return line
    found = _CERTAIN.match(line)
    return line[found.end() :] if found else line


def _without_common(lines: list[str]) -> list[str]:
    """Lines without a prefix that all of them have, if it is one that is known."""
    first = next((line for line in lines if line.strip()), "")
    for pattern in _IF_ON_EVERY_LINE:
        if pattern.match(first) and all(pattern.match(line) for line in lines if line.strip()):
            return [pattern.sub("", line, count=1) for line in lines]
    return lines


def _without_prompt(line: str) -> str:
    if not line or (line[0] not in "$%" and "@" not in line[:110]):
        return line
    found = _PROMPT.match(line)
    return line[found.end() :] if found else line
