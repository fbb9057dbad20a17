"""Whether files that are judged together can be of one machine.

Layer: judge. Reads no file. Verdicts of one file use what others say, so that files of two machines
would be judged wrongly, and in good faith.
"""

import re
from collections.abc import Iterator
from itertools import chain, combinations

from commwall.judge.finding import Evidence, Finding
from commwall.judge.scene import Pasted, Scene, names_in
from commwall.language.translate import clauses, listed, tr
from commwall.readers.gpu_list import GpuList
from commwall.readers.nccl_log import NcclLog
from commwall.readers.nccl_tests import NcclTest
from commwall.readers.nvlink import NvLinks
from commwall.readers.topo import Topology

_Told = tuple[str, tuple[Evidence, ...]]
"""A contradiction in words, and the lines that show it."""


def contradictions(scene: Scene) -> Iterator[Finding]:
    """Files that name different GPUs, other links, or more GPUs than the topology has."""
    told = [*_more_gpus(scene), *_other_links(scene), *_other_kinds(scene)]
    if told:
        evidence = dict.fromkeys(line for _, lines in told for line in lines)
        yield Finding(
            rule="one_machine",
            level="unknown",
            verdict=tr(
                "files contradict each other: {reasons}",
                reasons=clauses(words for words, _ in told),
            ),
            means=tr(
                "they are not of one machine, or not of one state of it: what is said here of one "
                "may rest on another, and counts only where its own lines show it"
            ),
            next_step=tr("commwall judge <the files of one machine>, each machine by itself"),
            evidence=tuple(evidence),
        )


def _more_gpus(scene: Scene) -> Iterator[_Told]:
    """The first file with more GPUs of one machine than another's topology lists."""
    for whole, topo in scene.of(Topology):
        for paste in scene.pasted:
            count = _gpus_of(paste) if paste is not whole else 0
            if topo.links is not None and topo.gpu_count and count > topo.gpu_count:
                words = tr(
                    "{n} GPUs in {file}, {all} in the topology {topology}",
                    n=count, file=paste.name, all=topo.gpu_count, topology=whole.name,
                )  # fmt: skip
                yield words, (*_first(paste), *_first(whole))
                return


def _gpus_of(paste: Pasted) -> int:
    """GPUs of one machine that a file speaks of; 0 where it does not say."""
    counts = [0]
    for reading in paste.readings:
        if isinstance(reading, NcclTest | NcclLog):
            counts.append(reading.nranks or 0 if reading.nnodes == 1 else 0)
        elif isinstance(reading, Topology | NvLinks | GpuList):
            counts.append(reading.gpu_count or 0)
    return max(counts)


def _other_links(scene: Scene) -> Iterator[_Told]:
    """The first two topologies of as many GPUs with another link between two of them."""
    for (a, one), (b, other) in combinations(scene.of(Topology), 2):
        if a is b or one.gpu_count != other.gpu_count or not one.links or not other.links:
            continue
        for pair in one.links.keys() & other.links.keys():
            if one.links[pair] != other.links[pair]:
                words = tr("other links in {a} than in {b}", a=a.name, b=b.name)
                yield words, (*_first(a), *_first(b))
                return


def _other_kinds(scene: Scene) -> Iterator[_Told]:
    """The first two files that name GPUs, none of one kind. Names that are not on file say none."""
    kinds = [(paste, [*map(scene.facts.kind_of, names_in(paste))]) for paste in scene.pasted]
    known = [(paste, found) for paste, found in kinds if found and all(found)]
    for (a, one), (b, other) in combinations(known, 2):
        if not set(one) & set(other):
            words = tr(
                "{a} names {kinds}, {b} names {others}",
                a=a.name, kinds=listed(sorted({*filter(None, one)})),
                b=b.name, others=listed(sorted({*filter(None, other)})),
            )  # fmt: skip
            lines = (_first(paste, re.escape(next(names_in(paste)))) for paste in (a, b))
            yield words, tuple(chain(*lines))
            return


def _first(paste: Pasted, pattern: str = r"GPU ?0\b|Rank +0 |nranks") -> tuple[Evidence, ...]:
    """The first line in which a pattern, as a rule the first GPU, is found; else the first line."""
    return paste.find(pattern) or paste.find(r"\S")
