"""What is wrong with NCCL's environment variables, before anything is started.

Layer: judge. Reads no file.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from commwall.judge.finding import Evidence, Finding
from commwall.judge.variables import Conflict, Variable, VariableFacts, Way
from commwall.language.translate import between_text, listed, tr
from commwall.schema.base import Model
from commwall.schema.parsing import nearest

PREFIX = "NCCL_"
Path = Literal["nvlink", "pcie_peer", "host_staged", "socket", "ib"]
"""The way of the traffic: between GPUs directly, through host memory, or through a network."""
_OF_PATH: dict[str, set[Way]] = {
    "nvlink": {"p2p", "nvls"},
    "pcie_peer": {"p2p"},
    "host_staged": {"shm"},
    "socket": {"net", "socket"},
    "ib": {"net", "ib"},
}
_CHOOSERS = ("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE")
"""They choose the way, so that the way itself says nothing of their effect."""
_NO_CHOICE_OF_LINK = ("NCCL_P2P_LEVEL", "NCCL_TOPO_FILE")
"""They are set to have PCIe where NVLink is, and do not bring it about."""
_PAIRS = (("NCCL_MIN_CTAS", "NCCL_MAX_CTAS"), ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"))
_SOCKETS = ("NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD")
_MARKS = re.compile(r"[\s,;:^]+")
_RELEASE = re.compile(r"([0-9]+)\.([0-9]+)")


class Remark(Model):
    """What is wrong with one setting."""

    rule: str
    level: Literal["error", "warning", "note"]
    """error: NCCL ignores it, stops, or takes something else; warning: it does not do what it
    seems to; note: to know."""
    variable: str
    value: str
    says: str
    instead: str | None = None
    """What to do."""
    evidence: tuple[Evidence, ...] = ()

    def finding(self) -> Finding:
        """As a verdict among others."""
        return Finding(
            rule=f"variable_{self.rule}",
            level="note" if self.level == "note" else "warning",
            verdict=f"{self.variable}={self.value}: {self.says}",
            means=tr("the setting is often taken for something else")
            if self.level == "note"
            else tr("the run does something else than its settings say"),
            next_step=self.instead,
            evidence=self.evidence,
        )


def lint(
    settings: Mapping[str, str],
    facts: VariableFacts,
    *,
    version: str | None = None,
    way: str | None = None,
    socket_threads_most: float | None = None,
) -> tuple[Remark, ...]:
    """Everything that is wrong with settings, in their order.

    Args:
        settings: variables and values; names that are not NCCL's are passed over.
        facts: what is on file of the variables.
        version: NCCL's, such as 2.28.9; None if it is not known.
        way: the way of the traffic, one of `Path`; None if it is not known.
        socket_threads_most: bound of threads times sockets.
    """
    chosen = {name: value for name, value in settings.items() if name.startswith(PREFIX)}
    release = release_of(version)
    found = [
        fault
        for name, value in chosen.items()
        for fault in _of_one(name, value, facts, release, way)
    ]
    found += [fault for one in facts.conflicts for fault in _conflict(one, chosen)]
    return (*found, *_orders(chosen), *_sockets(chosen, socket_threads_most), *_debug(chosen))


def no_such(name: str, facts: VariableFacts) -> str:
    """What to say of a name that NCCL does not know."""
    near = nearest(name, sorted(facts.known))
    if near:
        return tr(
            "NCCL has no such variable and would ignore it; did you mean {name}?", name=repr(near)
        )
    return tr("NCCL has no such variable and would ignore it; see config/facts/nccl-variables.yaml")


def _of_one(
    name: str, value: str, facts: VariableFacts, release: tuple[int, int] | None, way: str | None
) -> Iterator[Remark]:
    known = facts.known.get(name)
    if known is None:
        yield _unknown(name, value, facts, release)
        return
    yield from _by_release(name, value, known, release)
    if wrong := _value_problem(value, known):
        yield Remark(rule="value", level="error", variable=name, value=value, says=wrong)
    elif name.endswith("_DISABLE") and whole_number(value) == 0:
        says = tr("0 disables nothing: it is as if the variable were not set")
        yield Remark(rule="void_value", level="note", variable=name, value=value, says=says)
        return
    else:
        yield from _by_word(name, value, known, release)
        yield from _mistaken(name, value, known, way)
    if way and known.acts_on and name not in _CHOOSERS and not _OF_PATH[way] & {*known.acts_on}:
        says = tr(
            "it acts on {ways} and has no effect on this way ({way})",
            ways=listed(known.acts_on),
            way=way,
        )
        off = name.endswith("_ENABLE") and whole_number(value) == 0  # harmless: it was off anyway
        level: Literal["warning", "note"] = "note" if off else "warning"
        yield Remark(rule="no_effect", level=level, variable=name, value=value, says=says)


def _unknown(
    name: str, value: str, facts: VariableFacts, release: tuple[int, int] | None
) -> Remark:
    whose = facts.foreign.get(name) or next(
        (
            tr("read by {program}", program=who)
            for start, who in facts.prefixes.items()
            if name.startswith(start)
        ),
        None,
    )
    if whose:
        says = tr("not NCCL's own: {whose}", whose=whose)
        return Remark(rule="foreign", level="note", variable=name, value=value, says=says)
    newest = release_of(facts.newest)
    if release and newest and release > newest:
        says = tr(
            "no release up to {newest} has it; newer ones were not looked at", newest=facts.newest
        )
        return Remark(rule="unknown", level="warning", variable=name, value=value, says=says)
    says = no_such(name, facts)
    return Remark(rule="unknown", level="error", variable=name, value=value, says=says)


def _by_release(
    name: str, value: str, known: Variable, release: tuple[int, int] | None
) -> Iterator[Remark]:
    instead = tr("set {name} instead", name=known.instead) if known.instead else None
    since, until, deprecated = map(release_of, (known.since, known.until, known.deprecated))
    if until and (release is None or release > until):
        says = tr("NCCL reads it up to release {release} only", release=known.until)
        level: Literal["error", "warning"] = "error" if release else "warning"
        yield Remark(
            rule="removed", level=level, variable=name, value=value, says=says, instead=instead
        )
    elif since and release and release < since:
        says = tr(
            "NCCL reads it from release {release} on; this one ignores it", release=known.since
        )
        yield Remark(rule="too_new", level="error", variable=name, value=value, says=says)
    elif deprecated and (release is None or release >= deprecated):
        says = tr("deprecated since release {release}", release=known.deprecated)
        yield Remark(
            rule="deprecated",
            level="warning",
            variable=name,
            value=value,
            says=says,
            instead=instead,
        )


def _value_problem(value: str, known: Variable) -> str | None:
    """What is wrong with a value; None if nothing is known to be."""
    numbered = known.least is not None or known.most is not None
    if known.list_of:
        words = [word for word in _MARKS.split(value.upper()) if word]
        wrong = [word for word in words if word not in map(str.upper, known.list_of)]
        if not wrong:
            return None
        return tr("it knows {words}, not {wrong}", words=listed(known.list_of), wrong=listed(wrong))
    if not known.words and not numbered:
        return tr("it is empty") if not value.strip() else None
    if value in known.words:
        return None
    if value.upper() in map(str.upper, known.words):
        return tr("NCCL passes it over unless it is in capitals") if known.case_counts else None
    number = whole_number(value)
    if known.words and not numbered:
        same = number is not None and any(whole_number(word) == number for word in known.words)
        return None if same else tr("it takes {words}", words=listed(known.words))
    least, most = known.least or 0, known.most
    if number is not None and number >= least and (most is None or number <= most):
        return None
    span = (
        tr("{least} or more", least=least) if most is None else between_text(f"{least}", f"{most}")
    )
    return tr("it takes {words}", words=listed((*known.words, span)))


def _by_word(
    name: str, value: str, known: Variable, release: tuple[int, int] | None
) -> Iterator[Remark]:
    """Words that this release does not know, or no newer one."""
    used = {word for word in _MARKS.split(value.upper()) if word}
    for bound, words in known.words_since.items():
        late = [word for word in words if word.upper() in used]
        if late and release and release < (release_of(bound) or release):
            says = tr(
                "NCCL knows {words} from release {release} on, this one does not",
                words=listed(late),
                release=bound,
            )
            yield Remark(rule="value", level="error", variable=name, value=value, says=says)
    for bound, words in known.words_until.items():
        old = [word for word in words if word.upper() in used]
        if old and (release is None or release > (release_of(bound) or release)):
            says = tr(
                "NCCL knows {words} up to release {release} only", words=listed(old), release=bound
            )
            level: Literal["error", "warning"] = "error" if release else "warning"
            yield Remark(rule="value", level=level, variable=name, value=value, says=says)


def _mistaken(name: str, value: str, known: Variable, way: str | None) -> Iterator[Remark]:
    """What people take it for: a warning where the way of the traffic is known to deny it."""
    same = {value.upper(), str(whole_number(value))}  # NCCL reads 0x1 as 1
    meant = next((says for at, says in known.means_at.items() if at in same), None)
    says = meant or known.mistaken_for
    matters = not known.mistaken_at or same & {*known.mistaken_at}
    if says is None or not (meant or matters) or (known.list_of and _excludes(value)):
        return
    on_nvlink = name in _NO_CHOICE_OF_LINK and way == "nvlink"
    yield Remark(
        rule="meaning" if meant else "mistaken",
        level="warning" if on_nvlink else "note",
        variable=name,
        value=value,
        says=says,
    )


def _excludes(value: str) -> bool:
    """Whether a list only names what is not to be taken, as `^LL128` does."""
    return all(part.rpartition(":")[2].strip().startswith("^") for part in value.split(";"))


def _conflict(one: Conflict, chosen: Mapping[str, str]) -> Iterator[Remark]:
    holds = all(
        name in chosen and want.upper() in ("*", chosen[name].upper())
        for name, want in one.when.items()
    )
    value = chosen.get(one.void)
    if not holds or value is None or value == one.unless:
        return
    stronger = listed(f"{name}={chosen[name]}" for name in one.when if name != one.void)
    either = listed(dict.fromkeys((*one.when, one.void)))
    yield Remark(
        rule="contradiction",
        level="error",
        variable=one.void,
        value=value,
        says=tr("against {settings}: {why}", settings=stronger, why=one.says),
        instead=tr("unset one of {variables}", variables=either),
    )


def _orders(chosen: Mapping[str, str]) -> Iterator[Remark]:
    """A least number above the most."""
    for least, most in _PAIRS:
        low, high = whole_number(chosen.get(least, "")), whole_number(chosen.get(most, ""))
        if low is not None and high is not None and low > high:
            says = tr("it is above {variable}={value}", variable=most, value=chosen[most])
            yield Remark(
                rule="contradiction",
                level="error",
                variable=least,
                value=chosen[least],
                says=says,
            )


def _sockets(chosen: Mapping[str, str], most: float | None) -> Iterator[Remark]:
    counts = [whole_number(chosen.get(name, "1")) or 1 for name in _SOCKETS]
    if most is not None and counts[0] * counts[1] > most:
        name = next(name for name in _SOCKETS if name in chosen)
        allowed = f"{most:g}"
        says = tr(
            "{first} times {second} is {n}, at most {most}",
            **dict(zip(("first", "second"), _SOCKETS, strict=True)),
            n=counts[0] * counts[1],
            most=allowed,
        )
        yield Remark(rule="value", level="error", variable=name, value=chosen[name], says=says)


def _debug(chosen: Mapping[str, str]) -> Iterator[Remark]:
    """Details of a log that is not written."""
    if chosen.get("NCCL_DEBUG", "").upper() in ("INFO", "TRACE", "WARN"):
        return
    for name in ("NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"):
        if name in chosen:
            yield Remark(
                rule="no_effect",
                level="warning",
                variable=name,
                value=chosen[name],
                says=tr("without NCCL_DEBUG=INFO nothing is written that it could choose"),
                instead="NCCL_DEBUG=INFO",
            )


def release_of(version: str | None) -> tuple[int, int] | None:
    """First two numbers of a version such as 2.28.9; None if there is none to read."""
    found = _RELEASE.match(version or "")
    return (int(found[1]), int(found[2])) if found else None


def whole_number(text: str) -> int | None:
    """A value that is a number as NCCL reads it, `0x10` too; None if it is none."""
    try:
        return int(text, 0)
    except ValueError:
        return None
