"""A hand-over: what was expected of a machine against what its files show.

Layer: judge. Reads no file.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from commwall.judge.finding import Evidence, Finding
from commwall.judge.handover import Case, Check, compared, decided_by
from commwall.judge.links import stated_more
from commwall.judge.rows import largest_row, rate_of
from commwall.judge.scene import Scene
from commwall.language.translate import clauses, listed, span_text, tr, tr_later
from commwall.readers.gpu_list import GpuList
from commwall.readers.nccl_tests import NcclTest
from commwall.readers.nvlink import NvLinks
from commwall.readers.smi_csv import CsvTable
from commwall.readers.smi_q import Query
from commwall.readers.smi_table import Table
from commwall.readers.topo import Topology
from commwall.schema.units import rate_text

JOINED = (tr_later("all"), tr_later("pairs"), tr_later("nothing"))
"""What NVLink may join, as the expectations say it, for the catalogues."""
_JOINS = {"switch": "all", "none": "nothing"}
"""What facts say NVLink joins. Bridges are bought apart, and boards without switches differ: there
the order must say it."""
_BUILT_IN = ("switch", "direct")


def checks(case: Case) -> tuple[Check, ...]:
    """All checks, in the order of a hand-over."""
    return tuple(check(case) for check in _CHECKS)


def _model(case: Case) -> Check:
    names = case.scene.gpu_names
    alone = names[0] if len(names) == 1 and case.gpu else None
    want = case.wanted.gpu or alone or (tr("one kind") if len(names) > 1 else None)
    return compared(
        tr("model of GPU"),
        want,
        listed(names) or None,
        names == (want,),
        reason="nvidia-smi -L"
        if not names
        else tr("name it with `gpu:` in the expectations")
        if want is None
        else tr("other GPUs than ordered, or several kinds"),
        evidence=_first(case, r"GPU 0: |device +0 \["),
    )


def _count(case: Case) -> Check:
    found = sorted(set(_counts(case.scene)))
    want = case.wanted.gpu_count
    told = tr(" or ").join(map(str, found))
    return compared(
        tr("number of GPUs"),
        want or tr("the same in all files"),
        told or None,
        found == [want or found[0]] if found else False,
        reason="nvidia-smi -L" if not found else tr("files disagree, or GPUs are missing"),
        evidence=_first(case, r"GPU [0-9]+: |^[ \t]*GPU0\b"),
    )


def _counts(scene: Scene) -> Iterator[int]:
    for paste in scene.pasted:
        for reading in paste.readings:
            if isinstance(reading, GpuList | Topology | Query | Table) and reading.gpu_count:
                yield reading.gpu_count


def _other_joins(want: str, found: str | None) -> str:
    """Why NVLink may join more or fewer GPUs than was ordered."""
    order = ("nothing", "pairs", "all")
    if found in order and order.index(found) > order.index(want):
        return tr("more is joined than was ordered: another board, or the order is not meant so")
    return tr("links are missing: a bridge, a GPU off the fabric, or another board")


def _joined(case: Case) -> Check:
    gpu, topologies = case.gpu, [topo for _, topo in case.scene.of(Topology) if topo.links]
    want = case.wanted.nvlink_joins or (_JOINS.get(gpu.reach) if gpu else None)
    topo = topologies[0] if topologies else None
    known = topo if topo and topo.verdict != "incomplete" else None
    found = _joins(known) if known else None
    return compared(
        tr("NVLink joins"),
        want and tr(want),
        found and tr(found),
        found == want,
        reason="nvidia-smi topo -m"
        if known is None
        else tr("say it with `nvlink_joins:` in the expectations")
        if want is None
        else _of_rules(case, "gpu_off_the_fabric") or _other_joins(want, found),
        evidence=_rules_evidence(case, "gpu_off_the_fabric", "links"),
    )


def _joins(topo: Topology) -> str:
    if topo.verdict.startswith("nvlink_all_pairs"):
        return "all"
    return "pairs" if topo.nvlink_pair_count else "nothing"


def _links_up(case: Case) -> Check:
    gpu = case.gpu
    built_in = gpu.nvlinks if gpu and gpu.reach in _BUILT_IN else None
    want = case.wanted.nvlinks or (built_in.value if built_in else None)
    counts = [
        one.active_links
        for _, found in case.scene.of(NvLinks)
        for one in found.gpus or ()
        if one.active_links is not None
    ]
    if gpu and gpu.reach == "none" and not case.wanted.nvlinks:
        return Check(
            item=tr("NVLinks up"),
            outcome="pass",
            expected=tr("none"),
            found=tr("none"),
            reason=tr("as expected"),
        )
    return compared(
        tr("NVLinks up on each GPU"),
        want,
        _span(counts),
        bool(counts) and min(counts) >= (want or 0),
        reason="nvidia-smi nvlink -s" if not counts else tr("links are down"),
        evidence=_rules_evidence(case, "nvlink_down", "gpu_off_the_fabric", "nvlinks"),
    )


def _link_rate(case: Case) -> Check:
    gpu = case.gpu
    built_in = gpu.nvlink_bytes_per_s if gpu and gpu.reach in _BUILT_IN else None
    want = case.wanted.nvlink_bytes_per_s or (built_in.value if built_in else None)
    sums = [
        1e9 * one.sum_gbps
        for _, found in case.scene.of(NvLinks)
        for one in found.gpus or ()
        if one.sum_gbps is not None
    ]
    least = min(sums, default=None)
    more = stated_more(least, want) if least and want else None
    check = compared(
        tr("NVLink of a GPU in one direction"),
        rate_text(want) if want else None,
        rate_text(least) if least is not None else None,
        least is not None and least >= (want or 0),
        reason="nvidia-smi nvlink -s" if least is None else tr("links are down or slower"),
        evidence=_rules_evidence(case, "nvlink_down", "nvlinks"),
    )
    return check.model_copy(update={"reason": clauses([check.reason, more])}) if more else check


def _power(case: Case) -> Check:
    gpu = case.gpu
    want = case.wanted.power_limit_w or (gpu.power_w.value if gpu and gpu.power_w else None)
    limits = list(_limits(case.scene))
    return compared(
        tr("power limit [W]"),
        f"{want:g}" if want else None,
        _span(limits),
        bool(limits) and min(limits) >= (want or 0),
        reason="nvidia-smi -q -d POWER"
        if not limits
        else tr("a lowered limit slows the GPU: ask who lowered it, and why"),
        evidence=_first(case, r"Power Limit +: [0-9]|power\.limit"),
    )


def _limits(scene: Scene) -> Iterator[float]:
    for _, query in scene.of(Query):
        yield from (
            one.power_limit_w for one in query.gpus or () if isinstance(one.power_limit_w, float)
        )
    for _, table in scene.of(Table):
        yield from (
            one.power_limit_w for one in table.gpus or () if isinstance(one.power_limit_w, float)
        )


def _lanes(case: Case) -> Check:
    widths = _column(case.scene, "width_current")
    return compared(
        tr("PCIe lanes"),
        case.wanted.pcie_lanes,
        _span(widths),
        bool(widths) and min(widths) >= case.wanted.pcie_lanes,
        reason="nvidia-smi --query-gpu=index,utilization.gpu,pcie.link.gen.current,"
        "pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max --format=csv"
        if not widths
        else tr("slot, riser or bifurcation; read it under load"),
        evidence=_rules_evidence(case, "pcie_width", "pcie_full"),
    )


def _generation(case: Case) -> Check:
    gpu = case.gpu
    want = case.wanted.pcie_generation or (
        gpu.pcie_generation.value if gpu and gpu.pcie_generation else None
    )
    found = _column(case.scene, "gen_current")
    idle = any(one.rule == "pcie_generation" and one.level == "unknown" for one in case.findings)
    check = compared(
        tr("PCIe generation"),
        want,
        _span(found),
        bool(found) and min(found) >= (want or 0),
        reason=tr("older slot or riser") if found else tr("read it under load (see PCIe lanes)"),
        evidence=_rules_evidence(case, "pcie_generation", "pcie_full"),
    )
    if check.outcome == "fail" and idle:
        reason = tr("an idle GPU lowers it: read it under load")
        return check.model_copy(update={"outcome": "open", "reason": reason})
    return check


def _column(scene: Scene, name: str) -> list[int]:
    rows = (row for _, table in scene.of(CsvTable) for row in table.rows or ())
    return [value for row in rows if isinstance(value := row.get(name), int)]


def _divided(case: Case) -> Check:
    lists = [found for _, found in case.scene.of(GpuList) if found.mig_instances is not None]
    instances = sum(found.mig_instances or 0 for found in lists)
    return compared(
        tr("GPUs divided into instances"),
        tr("allowed") if case.wanted.divided else tr("no"),
        (tr("{n} instance(s)", n=instances) if instances else tr("no")) if lists else None,
        not instances or case.wanted.divided,
        reason="nvidia-smi -L"
        if not lists
        else tr("as root: {command}", command="nvidia-smi -mig 0"),
        evidence=_rules_evidence(case, "mig", "gpus"),
    )


def _reduction(case: Case) -> Check:
    want = case.wanted.all_reduce_bytes_per_s
    runs = [(paste, row) for paste, test in case.scene.of(NcclTest) if (row := largest_row(test))]
    if want is None or not runs or _of_rules(case, "impossible_rate"):
        return decided_by(
            tr("all-reduce"),
            case,
            ("share_of_bound", "impossible_rate", "wrong_results", "one_rank", "run_failed"),
            tr("what others reach, or else the usual share of the link's rate"),
            tr("all_reduce_perf -b 8 -e 8G -f 2 -g <all GPUs> > run.txt"),
            note="warn",
        )
    best = max(rate_of(row) for _, row in runs)
    return compared(
        tr("all-reduce, busbw"),
        rate_text(want),
        rate_text(best),
        best >= want,
        reason=tr("slower than agreed"),
        evidence=_rules_evidence(case, "share_of_bound"),
    )


def _path(case: Case) -> Check:
    run = tr("NCCL_DEBUG=INFO all_reduce_perf -g <all GPUs> 2>&1 | tee nccl.log")
    rules = ("path_inside_host", "start_failed", "nvlink_broken")
    return decided_by(tr("way of NCCL"), case, rules, tr("direct"), run, note="open")


def _access(case: Case) -> Check:
    gpu = case.gpu
    granted = not gpu or gpu.peer_access is not False
    want = tr("granted") if granted else tr("not granted for these GPUs")
    found = decided_by(
        tr("access between GPUs"), case, ("peer_access",), want, "nvidia-smi topo -p2p r"
    )
    if found.outcome == "fail" and not granted:
        return found.model_copy(update={"outcome": "pass"})
    return found


def _copies(case: Case) -> Check:
    return decided_by(
        tr("copies between GPUs"),
        case,
        ("peer_copies", "slow_gpu", "copy_failed"),
        tr("what the link gives, alike for all pairs"),
        "nvbandwidth > copies.txt",
        note="warn",
    )


def _host_copies(case: Case) -> Check:
    return decided_by(
        tr("copies with the host"),
        case,
        ("host_copies",),
        tr("a full PCIe link"),
        "nvbandwidth > copies.txt",
    )


def _clocks(case: Case) -> Check:
    rules = ("slowdown", "power_cap", "clocks")
    command = "nvidia-smi -q -d POWER,PERFORMANCE"
    step = tr("under load: {command}", command=command)
    return decided_by(tr("lowered clocks"), case, rules, tr("none"), step)


def _faults(case: Case) -> Check:
    grave = [one for one in case.findings if one.level == "fault"]
    return Check(
        item=tr("faults in any file"),
        outcome="fail" if grave else "pass",
        expected=tr("none"),
        found=clauses(one.verdict for one in grave) or tr("none in these files"),
        reason=clauses(dict.fromkeys(one.next_step or "" for one in grave)) or tr("as expected"),
        evidence=tuple(line for one in grave for line in one.evidence[:1]),
    )


_CHECKS: tuple[Callable[[Case], Check], ...] = (
    _model,
    _count,
    _joined,
    _links_up,
    _link_rate,
    _access,
    _lanes,
    _generation,
    _power,
    _clocks,
    _divided,
    _copies,
    _host_copies,
    _path,
    _reduction,
    _faults,
)


def _span(values: Sequence[float]) -> str | None:
    if not values:
        return None
    return span_text(f"{min(values):g}", f"{max(values):g}")


def _first(case: Case, pattern: str) -> tuple[Evidence, ...]:
    return next((line for paste in case.scene.pasted if (line := paste.find(pattern))), ())


def _of_rules(case: Case, *rules: str) -> str:
    return next((one.verdict for one in case.findings if one.rule in rules), "")


def _rules_evidence(case: Case, *rules: str) -> tuple[Evidence, ...]:
    found: Iterable[Finding] = (one for rule in rules for one in case.findings if one.rule == rule)
    return next((one.evidence[:2] for one in found), ())
