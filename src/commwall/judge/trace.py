"""Communication in a trace of PyTorch's profiler.

Layer: judge. Reads no file.
"""

from collections.abc import Iterator

from commwall.judge.finding import Finding
from commwall.judge.scene import Scene
from commwall.language.translate import tr
from commwall.readers.torch_trace import TorchTrace


def communication(scene: Scene) -> Iterator[Finding]:
    """How much of the communication is exposed."""
    for paste, trace in scene.of(TorchTrace):
        if trace.error:
            continue
        if not trace.comm_total_us:
            told = tr("no NCCL kernel is in the trace")
            if trace.world_size:
                told = tr("{told}, of a job of {n} ranks", told=told, n=trace.world_size)
            yield Finding(
                rule="trace_communication",
                level="unknown",
                verdict=told,
                means=tr(
                    "communication is unknown, not 0 %: kernels were lost, or another backend did "
                    "it"
                ),
                next_step=tr(
                    "profile with CUDA activities (ProfilerActivity.CUDA) for whole steps"
                ),
                evidence=paste.find("distributedInfo|traceEvents"),
            )
            continue
        exposed, total = trace.exposed_comm_us or 0.0, trace.comm_total_us
        span = trace.span_us or 0.0
        hidden = f"{1 - exposed / total:.0%}"
        yield Finding(
            rule="trace_communication",
            level="note",
            verdict=_taken(total, exposed, span),
            means=tr(
                "a faster link can save the exposed part at most; {share} is hidden. Time in a "
                "kernel of NCCL contains waiting for slower ranks",
                share=hidden,
            ),
            next_step=tr("commwall measures it by leaving the exchange out (legs full and nosync)"),
            evidence=paste.find("(?i)nccl[a-z]*kernel|ncclDev"),
        )


def _taken(total_us: float, exposed_us: float, span_us: float) -> str:
    total, exposed, span = (f"{time_us:g}" for time_us in (total_us, exposed_us, span_us))
    told = tr(
        "communication takes {total} us, {exposed} us of it without compute beside",
        total=total,
        exposed=exposed,
    )
    if not span_us:
        return told
    share = f"{exposed_us / span_us:.0%}"
    return tr("{told} ({share} of the {span} us)", told=told, share=share, span=span)
