"""All rules, and their verdicts on a scene.

Layer: judge. Reads no file.
"""

from collections.abc import Callable, Iterable

from commwall.judge import (
    bandwidth,
    binding,
    clocks,
    copies,
    fabric,
    host,
    links,
    nccl,
    network,
    one_machine,
    pcie,
    plausible,
    power,
    sentences,
    topology,
    trace,
)
from commwall.judge.finding import LEVELS, Finding
from commwall.judge.scene import Scene
from commwall.language.translate import listed, tr

Rule = Callable[[Scene], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    one_machine.contradictions,
    nccl.path,
    nccl.start,
    nccl.switch_reduction,
    network.socket,
    network.direct_memory,
    network.variables,
    binding.affinity,
    topology.links,
    fabric.off_the_fabric,
    topology.peer_access,
    topology.same_node_far,
    topology.without_affinity,
    topology.nics,
    links.all_up,
    links.down,
    links.whole_gpus,
    links.incomplete,
    links.fabric,
    bandwidth.one_rank,
    bandwidth.wrong_results,
    bandwidth.failure,
    bandwidth.share,
    bandwidth.old_factor,
    bandwidth.misleading_mean,
    plausible.uneven_rows,
    plausible.uneven_halves,
    copies.no_access,
    copies.failed,
    copies.peers,
    copies.one_slow,
    copies.hosts,
    pcie.widths,
    pcie.generations,
    pcie.whole,
    pcie.queried,
    clocks.caps,
    clocks.brakes,
    clocks.limits,
    power.steady,
    power.tables,
    clocks.reasons,
    power.samples,
    power.overview,
    host.nodes,
    host.partitions,
    trace.communication,
    sentences.sentences,
    sentences.tool_failures,
    sentences.look_alikes,
)
"""In the order in which verdicts of one level are told."""


def judge(scene: Scene) -> tuple[Finding, ...]:
    """All findings, the gravest first; of equal ones the first."""
    found = [*dict.fromkeys(finding for rule in RULES for finding in rule(scene))]
    found += _silent(scene, found)
    return tuple(sorted(found, key=lambda finding: LEVELS.index(finding.level)))


def _silent(scene: Scene, found: Iterable[Finding]) -> list[Finding]:
    """Files that are read and of which no rule says anything."""
    told = {line.file for finding in found for line in finding.evidence}
    return [
        Finding(
            rule="nothing_to_judge",
            level="unknown",
            verdict=tr(
                "read as {kinds}; nothing in it speaks of links, rates or power that could be "
                "judged",
                kinds=listed(reading.kind for reading in paste.readings),
            ),
            means=tr("it neither speaks for the machine nor against it"),
            next_step="nvidia-smi topo -m; nvidia-smi nvlink -s; NCCL_DEBUG=INFO <your command>",
            evidence=paste.find(r"\S"),
        )
        for paste in scene.pasted
        if paste.readings and paste.name not in told
    ]
