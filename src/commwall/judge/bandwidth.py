"""Runs of nccl-tests: whether they measured a link at all, and how much of it.

Layer: judge. Reads no file.
"""

from collections.abc import Iterator, Sequence

from commwall.judge.bounds import Bound, bound_of, fitting_pcie, gpu_of
from commwall.judge.finding import Finding, Level
from commwall.judge.pcie import UNDER_LOAD
from commwall.judge.plausible import impossible
from commwall.judge.references import Reference, nearest_of, references_for, words_of
from commwall.judge.rows import (
    GB,
    halves_of,
    largest_row,
    line_of,
    rate_of,
    result_text,
)
from commwall.judge.scene import Pasted, Scene
from commwall.judge.topology import LOG
from commwall.language.translate import clauses, listed, tr, tr_later
from commwall.readers.nccl_tests import NcclTest, PerfRow
from commwall.schema.units import rate_text, size_text

_LARGER = tr_later("all_reduce_perf -b 8 -e 8G -f 2 -g <GPUs of one machine>")


def one_rank(scene: Scene) -> Iterator[Finding]:
    """Runs of a single GPU each."""
    for paste, test in scene.of(NcclTest):
        if test.nranks != 1 or not test.rows:
            continue
        several = (test.independent_runs or 1) > 1
        yield Finding(
            rule="one_rank",
            level="fault" if several else "note",
            verdict=tr(
                "{n} runs of one GPU each, not one run of several: the program was built without "
                "MPI=1",
                n=test.independent_runs,
            )
            if several
            else tr("one GPU took part: busbw is 0 by definition"),
            means=tr(
                "no link was measured: it is neither broken nor fast, and the huge rates in place "
                "are those of doing nothing"
            ),
            next_step=tr(
                "make MPI=1 MPI_HOME=<path> and mpirun again, or one process with -g <GPUs>"
            )
            if several
            else "all_reduce_perf -b 8 -e 8G -f 2 -g 2",
            evidence=paste.find(r"Rank +0 ", most=2 if several else 1),
        )


def wrong_results(scene: Scene) -> Iterator[Finding]:
    """Wrong data, and what only looks like it."""
    for paste, test in scene.of(NcclTest):
        if test.failure and test.failure.kind == "wrong_results":
            count = tr("{n} out of bounds", n=test.out_of_bounds)
            yield Finding(
                rule="wrong_results",
                level="fault",
                verdict=tr(
                    "results are wrong ({count}): the rates of this run count for nothing",
                    count=count if test.out_of_bounds else tr("errors"),
                ),
                means=tr(
                    "training on this way computes with corrupt gradients. Where GPUs reach each "
                    "other over PCIe that access is the usual suspect: ACS or IOMMU redirect it, "
                    "or a patched driver allows what the board cannot"
                ),
                next_step=tr(
                    "NCCL_P2P_DISABLE=1 <same command>: if that is right, look at sudo lspci -vvv "
                    "| grep -i acsctl and cat /proc/cmdline (iommu)"
                ),
                evidence=paste.find(r"Out of bounds values"),
            )
        elif test.out_of_bounds_ok and test.error_column in ("error", "res"):
            largest = max((half.err or 0 for half in halves_of(test)), default=0)
            most = f"{largest:g}"
            if 0 < largest <= scene.facts.thresholds.rounding_error_most.value:
                yield Finding(
                    rule="rounding",
                    level="note",
                    verdict=tr(
                        "the error column ({most} at most) is rounding; results are right (0 out "
                        "of bounds)",
                        most=most,
                    ),
                    means=tr(
                        "releases before 2022 print the largest relative deviation there, not a "
                        "count of wrong values"
                    ),
                    evidence=paste.find(r"Out of bounds values"),
                )


def failure(scene: Scene) -> Iterator[Finding]:
    """Runs that ended with an error, or are cut off."""
    for paste, test in scene.of(NcclTest):
        told = test.failure
        if told and told.kind != "wrong_results" and "not yet init" not in (told.message or ""):
            how = tr("the run failed: {message}", message=told.message or told.kind)
            yield Finding(
                rule="run_failed",
                level="fault",
                verdict=how if test.rows else clauses([how, tr("nothing was measured")]),
                means=tr("the message names no cause; NCCL's log does"),
                next_step=tr(
                    "NCCL_DEBUG=INFO <same command> 2>&1 | tee nccl.log, then: commwall judge "
                    "nccl.log"
                ),
                evidence=paste.find(r"Test (?:NCCL|CUDA) failure"),
            )
        elif test.rows and not test.complete and not told:
            yield Finding(
                rule="run_incomplete",
                level="unknown",
                verdict=tr("the end of the table is not there"),
                means=tr("rows that are there count; whether all results were right is not known"),
                next_step=tr("paste the whole output"),
                evidence=paste.last(),
            )


def share(scene: Scene) -> Iterator[Finding]:
    """Bus bandwidth of the largest message, beside the bound of its way and what others reach."""
    for paste, test in scene.of(NcclTest):
        row = largest_row(test)
        if test.failure or test.nranks == 1:
            continue
        if found := impossible(paste, test, scene):
            yield found
        elif row is None:
            continue
        elif row.size < scene.facts.thresholds.large_message_bytes.value:
            yield _too_small(paste, row, test, scene)
        elif test.nranks is None:
            yield _unknown_ranks(paste, row)
        elif (test.nnodes or 1) > 1:
            yield _between_hosts(paste, row, test)
        else:
            yield _judged(paste, row, test, scene)


def old_factor(scene: Scene) -> Iterator[Finding]:
    """Gathers whose two rates are the same."""
    for paste, test in scene.of(NcclTest):
        rates = [(half.algbw, half.busbw) for half in halves_of(test) if (half.algbw or 0) > 1]
        named = test.collective in ("all_gather", "reduce_scatter")
        if named and rates and all(alg == bus for alg, bus in rates):
            yield Finding(
                rule="old_factor",
                level="note",
                verdict=tr(
                    "{operation}: algbw and busbw are the same, as releases before June 2020 print "
                    "them",
                    operation=test.collective,
                ),
                means=tr(
                    "algbw is multiplied already there: do not compare it with newer releases"
                ),
                next_step=tr("the newest nccl-tests"),
                evidence=paste.find(rf"{test.collective}_perf"),
            )


def misleading_mean(scene: Scene) -> Iterator[Finding]:
    """A printed mean that is far below the rate of large messages."""
    for paste, test in scene.of(NcclTest):
        row = largest_row(test)
        low = scene.facts.thresholds.poor_share_of_nvlink.value
        large = row and row.size >= scene.facts.thresholds.large_message_bytes.value
        if row and large and test.avg_busbw and test.avg_busbw < low * rate_of(row) / GB:
            mean = f"{test.avg_busbw:g}"
            yield Finding(
                rule="misleading_mean",
                level="note",
                verdict=tr(
                    "the mean of {mean} GB/s counts small messages too; large ones reach {rate}",
                    mean=mean,
                    rate=rate_text(rate_of(row)),
                ),
                means=tr("compare rows of one size, never means of different ranges of sizes"),
                evidence=paste.find(r"Avg bus bandwidth"),
            )


def _too_small(paste: Pasted, row: PerfRow, test: NcclTest, scene: Scene) -> Finding:
    limits = scene.facts.thresholds
    told = tr(
        "the largest message is {size}: latency decides its rate, not the link (judged from "
        "{least} on)",
        size=size_text(row.size),
        least=size_text(limits.large_message_bytes.value),
    )
    reference = _reference_of_small(paste, row, test, scene)
    if reference:
        told = clauses([told, result_text(row), words_of(reference)])
    least = reference.least_bytes_per_s if reference else 0.0
    low = rate_of(row) < limits.dip_share.value * least
    return Finding(
        rule="share_of_bound",
        level="warning" if low else "unknown",
        verdict=told,
        means=tr(
            "far more time than others need: another way, as through host memory, or other settings"
        )
        if low
        else tr("the low rate says nothing of the link; rows of size 0 are no measurement"),
        next_step=tr(_LARGER),
        evidence=line_of(paste, row),
        sources=(reference.source,) if reference else (),
    )


def _reference_of_small(
    paste: Pasted, row: PerfRow, test: NcclTest, scene: Scene
) -> Reference | None:
    """The least that others reach with messages of this size, within one host."""
    bound = bound_of(paste, test, rate_of(row), scene) if test.nnodes == 1 else None
    if bound is None:
        return None
    return next(iter(references_for(scene, paste, test, row.size, bound)), None)


def _unknown_ranks(paste: Pasted, row: PerfRow) -> Finding:
    return Finding(
        rule="share_of_bound",
        level="unknown",
        verdict=tr(
            "{result}: the list of ranks is missing or not whole, so that neither GPUs nor hosts "
            "are known",
            result=result_text(row),
        ),
        means=tr("whether that is much or little cannot be said from this file"),
        next_step=tr("paste the whole output, from the line 'nThread' on"),
        evidence=line_of(paste, row),
    )


def _between_hosts(paste: Pasted, row: PerfRow, test: NcclTest) -> Finding:
    return Finding(
        rule="share_of_bound",
        level="unknown",
        verdict=tr(
            "{rate} busbw over {hosts} hosts with {gpus} GPUs: bound by the network cards, which "
            "these files do not name",
            rate=rate_text(rate_of(row)),
            hosts=test.nnodes,
            gpus=test.nranks,
        ),
        means=tr(
            "set it against cards per host times rate of a card; within one host NVLink may be "
            "many times faster, so prefer strategies that exchange less between hosts"
        ),
        next_step=tr(
            "ibstat | grep -iE 'rate|state'; {log}; the same program within one host", log=tr(LOG)
        ),
        evidence=line_of(paste, row),
    )


def _judged(paste: Pasted, row: PerfRow, test: NcclTest, scene: Scene) -> Finding:
    rate = rate_of(row)
    bound = bound_of(paste, test, rate, scene)
    if bound is None:
        return _no_bound(paste, row, scene)
    fitting = references_for(scene, paste, test, row.size, bound)
    reference = nearest_of(fitting, rate, scene)
    level, means = _level(row, bound, reference, scene)
    fits = fitting_pcie(rate, gpu_of(paste, scene), scene) if bound.path != "nvlink" else ""
    told = clauses(
        filter(None, [_result_beside(row, bound, reference), fits, _reached(reference, fitting)])
    )
    return Finding(
        rule="share_of_bound",
        level=level,
        verdict=tr("{told}. Way: {why}", told=told, why=bound.why),
        means=means,
        next_step=_next(level, bound),
        evidence=line_of(paste, row),
        sources=(bound.source, *((reference.source,) if reference else ())),
    )


def _result_beside(row: PerfRow, bound: Bound, reference: Reference | None) -> str:
    """A row's rate beside its bound, and what the wire carries where the switch reduces."""
    rate = rate_of(row)
    values = {"result": result_text(row), "bound": rate_text(bound.bytes_per_s)}
    if rate > bound.bytes_per_s:
        told = tr("{result}, above the ring's bound of {bound}", **values)
    else:
        share = f"{rate / bound.bytes_per_s:.0%}"
        told = tr(
            "{result}, {share} of the {bound} of {what}", **values, share=share, what=bound.what
        )
    if rate <= bound.bytes_per_s and not (reference and reference.algorithm == "nvls"):
        return told
    wire = f"{bound.wire_of(rate) / bound.bytes_per_s:.0%}"
    return tr(
        "{told} (the switch reduces, NVLS: each GPU sends {rate}, {share} of its links' rate)",
        told=told,
        rate=rate_text(bound.wire_of(rate)),
        share=wire,
    )


def _reached(reference: Reference | None, fitting: Sequence[Reference]) -> str:
    """What others reach, by rings and by the switch where both are on file."""
    if reference is None:
        return tr("no reference on file for this case")
    if reference.algorithm == "ring" and fitting[-1].algorithm == "nvls":
        return tr("{told} ({more})", told=words_of(reference), more=words_of(fitting[-1]))
    return words_of(reference)


def _next(level: Level, bound: Bound) -> str | None:
    if level == "good":
        return None
    by_log = bound.path == "nvlink" or level != "unknown"
    return tr(LOG) if by_log else f"{tr(UNDER_LOAD)}; {tr(LOG)}"


def _level(
    row: PerfRow, bound: Bound, reference: Reference | None, scene: Scene
) -> tuple[Level, str]:
    """Level of a row's rate, and what it means."""
    limits, rate = scene.facts.thresholds, rate_of(row)
    least = reference.least_bytes_per_s if reference else None
    if bound.path == "not nvlink":
        return "warning", tr(
            "these GPUs have NVLink and this traffic does not take it: P2P is disabled, broken or "
            "set aside; training that exchanges much loses by it"
        )
    if reference and _exceeds(row, bound, reference, scene):
        return "note", tr(
            "more than others reach, though not more than the links carry: look whether the number "
            "of GPUs and the operation are those that were meant"
        )
    if least is not None and rate >= least * limits.tolerated_share_of_achieved.value:
        below = f"{1 - limits.tolerated_share_of_achieved.value:.0%}"
        return "good", tr("normal: at most {share} below what others reach", share=below)
    if least is not None:
        return "warning", tr("lower than others reach: another way, other settings, or a slow GPU")
    if bound.path != "nvlink" and rate < limits.poor_share_of_nvlink.value * bound.bytes_per_s:
        return "unknown", tr(
            "little for a full slot: a link of fewer lanes, an older generation, or staging "
            "through host memory; read the links' widths under load"
        )
    if bound.path != "nvlink":
        return "note", tr(
            "a range that PCIe and host memory give; what is normal depends on the board, so "
            "compare with 2 GPUs of one NUMA node"
        )
    if rate >= limits.usual_share_of_nvlink.value * bound.bytes_per_s:
        return "good", tr("normal: NCCL reaches about 80 % of NVLink's nominal rate")
    low = rate < limits.poor_share_of_nvlink.value * bound.bytes_per_s
    large = limits.saturating_message_bytes if low else limits.full_rate_message_bytes
    if row.size < large.value:
        return "note", tr("NVLink works; larger messages come nearer to its rate")
    if not low or not bound.switched:
        return "unknown" if low else "note", tr("NVLink works, at less than its usual share")
    return "warning", tr("far below what NVLink gives: not all traffic takes it, or links are down")


def _exceeds(row: PerfRow, bound: Bound, reference: Reference, scene: Scene) -> bool:
    """Whether a rate by NVLink is as far above what others reach as would be told below it, at a
    size from which on rates hardly grow. What PCIe gives depends on the board."""
    limits = scene.facts.thresholds
    most = reference.most_bytes_per_s / limits.tolerated_share_of_achieved.value
    saturated = row.size >= limits.saturating_message_bytes.value
    return bound.path == "nvlink" and saturated and rate_of(row) > most


def _no_bound(paste: Pasted, row: PerfRow, scene: Scene) -> Finding:
    names = listed(scene.gpu_names) or tr("no GPU is named")
    rate = rate_of(row)
    newest = scene.facts.pcie_bytes_per_s(max(scene.facts.links.pcie, default=0)) or rate
    is_nvlink = tr("no PCIe link carries that, so it is NVLink")
    hint = is_nvlink if rate > newest else fitting_pcie(rate, None, scene)
    told = tr(
        "{result}: no figures on file for these GPUs ({gpus})", result=result_text(row), gpus=names
    )
    return Finding(
        rule="share_of_bound",
        level="unknown",
        verdict=clauses(filter(None, [told, hint])),
        means=tr("whether that is much or little cannot be said from this file"),
        next_step=f"nvidia-smi -L; nvidia-smi topo -m; {tr(LOG)}",
        evidence=line_of(paste, row),
    )
