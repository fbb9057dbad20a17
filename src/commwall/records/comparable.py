"""Which records may be compared: lists of fields.

Layer: records. Reads no file. See docs/decisions for why each field stands where it does.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import BaseModel

from commwall.language.translate import clauses, tr, tr_later
from commwall.schema.base import Model
from commwall.schema.case import TrainingCase
from commwall.schema.errors import IncomparableRecords
from commwall.schema.plan import Plan
from commwall.schema.record import Record
from commwall.schema.strategies import StrategiesCase

WITHIN_ROUND = (
    "id.campaign",
    "id.suite",
    "id.case",
    "id.round",
    "id.round_id",
    "case",
    "protocol.version",
    "protocol.freshness_key",
    "platform.device",
    "platform.world_size",
    "platform.nodes",
    "machine",
    "other_nodes",
    "software.python",
    "software.lock_digest",
    "software.packages_digest",
    "software.code_digest",
    "software.variables",
    "software.runtime",
)
"""Must agree between two platforms of one round: everything but the treatment."""

ACROSS_ROUNDS = (
    "id.campaign",
    "id.suite",
    "id.case",
    "case",
    "protocol.version",
    "protocol.freshness_key",
    "platform.device",
    "platform.world_size",
    "platform.nodes",
    "machine.fingerprint",
    "machine.cpu_model",
    "machine.driver",
    "software.lock_digest",
    "software.runtime.torch",
    "software.runtime.cuda",
    "software.runtime.nccl",
)
"""Must agree between the rounds whose ratios are pooled: kind of machine, software, protocol."""

OTHER_CASES = (
    *(f for f in WITHIN_ROUND if f not in ("id.case", "case", "software.runtime")),
    *(f"software.runtime.{f}" for f in ("torch", "cuda", "nccl", "device_names")),
    "software.runtime.threads_per_rank",
)
"""Must agree between two cases of one round that share a step, on one platform or on two."""

OTHER_SUITES = tuple(
    field
    for field in ACROSS_ROUNDS
    if not field.startswith("protocol.") and field not in ("id.suite", "id.case", "case")
)
"""Must agree between records of two suites if one is to let expect what the other measures."""

NEVER = (
    "schema_version",
    "digest",
    "id.platform",
    "platform.name",
    "platform.treatment",
    "platform.path",
    "measured_at",
    "software.git_commit",
    "software.dirty",
    "software.argv",
    "status",
    "series",
    "nccl_choices",
    "traffic",
    "checks",
    "marks",
    "gaps",
)
"""Never compared: the treatment itself, provenance, and the values."""

Kind = Literal["round", "across", "cases", "suites"]
_FIELDS: dict[Kind, tuple[str, ...]] = {
    "round": WITHIN_ROUND,
    "across": ACROSS_ROUNDS,
    "cases": OTHER_CASES,
    "suites": OTHER_SUITES,
}

CHECKSUM_METRICS = ("loss", "gradient_norm")
CHECKSUM_TOLERANCES = {"float32": 1e-4, "bfloat16": 2**-8}
"""Relative. Sums taken in another order, as atomic additions take them, differ by about 1e-6 after
a few steps in float32. bfloat16 keeps 8 bits: Swin-T of one program differed by 4e-4 in its third
step between two launches on H200."""


NOT_AS_PLANNED = tr_later("measured otherwise than the plan says")
"""Beginning of the reason why a record is no evidence for its plan; record's value first."""


class Difference(Model):
    """A field that should agree and does not."""

    field: str
    left: str
    right: str

    def __str__(self) -> str:
        return _unlike(self.field, self.left, self.right)


def differences(a: Record, b: Record, kind: Kind) -> tuple[Difference, ...]:
    """Fields in which two records differ although they must agree.

    Args:
        a: one record.
        b: the other.
        kind: `round` for two platforms of one round, `across` for two rounds of one platform,
            `cases` for two cases of one round, `suites` for two suites.
    """
    found = [field_difference(a, b, field) for field in _FIELDS[kind]]
    if kind == "round":
        found += [_checksum_difference(a, b, metric) for metric in CHECKSUM_METRICS]
    return tuple(difference for difference in found if difference)


def not_as_planned(record: Record, plan: Plan) -> str | None:
    """What a record has measured otherwise than its plan says, in words; None if nothing.

    The plan may have been edited, or the record may come from another one. A changed label
    changes no number.
    """
    sides = (
        ("case", record.case, plan.suite(record.id.suite).cases[record.id.case]),
        ("platform", record.platform, plan.platform(record.id.platform)),
    )
    found = [
        _unlike(field, measured, asked)
        for place, own, wanted in sides
        if own != wanted
        for field, measured, asked in _departures(place, _unlabelled(own), _unlabelled(wanted))
    ]
    if not found:
        return None
    return tr("{cause}: {detail}", cause=tr(NOT_AS_PLANNED), detail=clauses(found))


def _unlike(field: str, left: object, right: object) -> str:
    return tr("{field}: {left} and {right}", field=field, left=left, right=right)


def _unlabelled(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(exclude={"treatment": {"label"}})


def _departures(place: str, own: Any, planned: Any) -> Iterator[tuple[str, Any, Any]]:
    """Fields that differ, with both values."""
    if isinstance(own, dict) and isinstance(planned, dict):
        for name in dict.fromkeys([*own, *planned]):
            yield from _departures(f"{place}.{name}", own.get(name), planned.get(name))
    elif own != planned:
        yield place, own, planned


def check_round(a: Record, b: Record) -> None:
    """Refuse two records of a round that differ in more than the treatment.

    Raises:
        IncomparableRecords: naming every field with both values.
    """
    _refuse(a, b, differences(a, b, "round"))


def _refuse(a: Record, b: Record, found: Iterable[Difference]) -> None:
    found = tuple(found)
    if not found:
        return
    sides = [f"{r.id.platform} round {r.id.round}" for r in (a, b)]
    raise IncomparableRecords(
        f"cannot compare {sides[0]} and {sides[1]} for {a.id.suite}/{a.id.case}",
        where=", ".join(difference.field for difference in found),
        found="\n".join(str(difference) for difference in found),
        expected="the same value on both sides",
        next_step="measure both sides anew with one environment (docs/decisions lists the fields)",
    )


def field_difference(a: Record, b: Record, field: str) -> Difference | None:
    """How two records differ in a field; None if they do not.

    Args:
        a: one record.
        b: the other.
        field: names of attributes, joined by dots.
    """
    left, right = field_value(a, field), field_value(b, field)
    if left == right:
        return None
    if isinstance(left, BaseModel) and type(left) is type(right):
        name = next(n for n in type(left).model_fields if getattr(left, n) != getattr(right, n))
        field, left, right = f"{field}.{name}", getattr(left, name), getattr(right, name)
    return Difference(field=field, left=str(left), right=str(right))


def field_value(record: Record, field: str) -> Any:
    """A field of a record; None where a part of it is absent.

    Args:
        record: any.
        field: names of attributes, joined by dots.
    """
    value: Any = record
    for part in field.split("."):
        value = getattr(value, part, None)
    return value


def _checksum_difference(a: Record, b: Record, metric: str) -> Difference | None:
    left, right = _checksum(a, metric), _checksum(b, metric)
    if len(left) != len(right):
        return Difference(field=metric, left=_count(left), right=_count(right))
    pairs = list(zip(left, right, strict=True))
    x, y = max(pairs, key=lambda pair: _apart(*pair), default=(0.0, 0.0))
    same = not isinstance(a.case, TrainingCase | StrategiesCase) or (
        _apart(x, y) <= CHECKSUM_TOLERANCES[a.case.precision]
    )
    return None if same else Difference(field=metric, left=f"{x:.7g}", right=f"{y:.7g}")


def _count(values: tuple[float, ...]) -> str:
    return tr("{n} values", n=len(values))


def _apart(x: float, y: float) -> float:
    """How far apart two values are, relative to the larger [1]."""
    return abs(x - y) / (max(abs(x), abs(y)) or 1.0)


def _checksum(record: Record, metric: str) -> tuple[float, ...]:
    """All values of a metric, in rank order."""
    own = [series for series in record.series if series.metric == metric]
    ordered = sorted(own, key=lambda series: series.rank or 0)
    return tuple(value for series in ordered for value in series.values)
