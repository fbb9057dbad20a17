"""Quantised gradients: values one can write down, and nothing lost in the long run."""

import weakref
from types import SimpleNamespace
from typing import Any

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist

from commwall.workers.quantised import BLOCK, FORMS, ErrorFeedback, QuantisedState, quantised_hook

HALF = BLOCK // 2


def back(name: str, values: torch.Tensor) -> torch.Tensor:
    form = FORMS[name]
    return form.decode(form.encode(values), len(values))


def test_8_bit_values_are_multiples_of_the_largest() -> None:
    values = torch.zeros(1, BLOCK)
    values[0, :5] = torch.tensor([127.0, -64.0, 0.4, 0.6, -127.0])
    found = back("int8", values)
    assert found[0, :5].tolist() == [127.0, -64.0, 0.0, 1.0, -127.0]
    assert FORMS["int8"].encode(values).numel() == BLOCK + 4  # a byte a value, a scale a block


def test_1_bit_values_have_the_mean_magnitude() -> None:
    values = torch.ones(1, BLOCK)
    values[0, HALF:] = -3.0  # mean magnitude (1 + 3) / 2
    found = back("onebit", values)
    assert found[0, :HALF].unique().tolist() == [2.0]
    assert found[0, HALF:].unique().tolist() == [-2.0]
    assert FORMS["onebit"].encode(values).numel() == BLOCK // 8 + 4


def test_every_bit_finds_its_place() -> None:
    signs = torch.where(
        torch.rand(3, BLOCK, generator=torch.Generator().manual_seed(1)) < 0.5, -1.0, 1.0
    )
    assert torch.equal(back("onebit", signs), signs)


@pytest.mark.parametrize("name", FORMS)
def test_zeros_stay_zeros(name: str) -> None:
    assert torch.equal(back(name, torch.zeros(2, BLOCK)), torch.zeros(2, BLOCK))


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("size", [1, BLOCK, BLOCK + 7])
def test_what_is_sent_and_what_is_kept_add_up_to_the_truth(name: str, size: int) -> None:
    generator = torch.Generator().manual_seed(2)
    feedback, blocks = ErrorFeedback(FORMS[name]), -(-size // BLOCK)
    given, sent = torch.zeros(size, dtype=torch.float64), torch.zeros(size, dtype=torch.float64)
    for _ in range(50):
        values = torch.randn(size, generator=generator)
        code = feedback.encode(0, values)
        given += values
        sent += FORMS[name].decode(code, blocks).flatten()[:size]
    kept = feedback._kept[0].flatten()[:size]
    torch.testing.assert_close(sent + kept, given, rtol=0, atol=2e-4)
    # What is kept is as large as a few gradients, however many were sent.
    assert float(kept.abs().max()) < (0.1 if name == "int8" else 20)


def test_without_feedback_a_small_value_would_never_be_sent() -> None:
    values = torch.full((BLOCK,), 0.001)
    values[0] = 1.0  # a step of 8 bit is 1 / 127
    assert float(back("int8", values.view(1, -1))[0, 1]) == 0
    feedback = ErrorFeedback(FORMS["int8"])
    sent = sum(FORMS["int8"].decode(feedback.encode(0, values), 1) for _ in range(127))
    assert float(sent[0, 1]) == pytest.approx(127 * 0.001, abs=1 / 127)  # type: ignore[index]


def test_the_mean_is_that_of_all_ranks_and_buckets_are_kept_apart() -> None:
    feedback = ErrorFeedback(FORMS["int8"])
    like = torch.zeros(3)
    codes = [
        feedback.encode(bucket, torch.full((3,), value)) for bucket, value in ((0, 1.0), (1, 4.0))
    ]
    assert feedback.mean(torch.stack(codes), like).tolist() == pytest.approx([2.5] * 3)
    assert set(feedback._kept) == {0, 1}


def test_a_bucket_that_is_arranged_anew_starts_without_what_was_kept() -> None:
    feedback = ErrorFeedback(FORMS["onebit"])
    feedback.encode(0, torch.linspace(-1, 1, BLOCK))
    feedback.encode(0, torch.ones(2 * BLOCK))
    assert float(feedback._kept[0].abs().max()) == 0


def test_an_exchange_under_way_does_not_keep_its_group_alive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thread of the group frees what follows the exchange; it cannot end the group as well."""

    class Group: ...

    pending, given = torch.futures.Future[Any](), torch.ones(BLOCK)
    monkeypatch.setattr(dist, "get_world_size", lambda group: 1)
    monkeypatch.setattr(
        dist,
        "all_gather_into_tensor",
        lambda *tensors, **options: SimpleNamespace(get_future=lambda: pending),
    )
    bucket: Any = SimpleNamespace(buffer=lambda: given, index=lambda: 0)
    group: Any = Group()
    future = quantised_hook(QuantisedState(ErrorFeedback(FORMS["int8"]), group), bucket)
    mention = weakref.ref(group)
    del group
    assert mention() is None
    assert not future.done()
