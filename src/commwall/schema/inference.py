"""Suite `inference`: its cases, and the decoders that answer.

Layer: schema. Reads and writes no file.
"""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from commwall.schema.base import Duration, Model, Samples
from commwall.schema.collective import DTYPE_BYTES
from commwall.schema.phrases import Phrase, phrase
from commwall.schema.workload import StepMode


class Decoder(NamedTuple):
    """A decoder of Llama's form."""

    layers: int
    hidden: int
    heads: int
    key_heads: int
    """Heads of keys and values, each shared by several of the queries."""
    widened: int
    """Width of the gated half."""
    vocabulary: int
    parameters: int
    """Embedding and head apart."""

    @property
    def head(self) -> int:
        """Width of a head."""
        return self.hidden // self.heads

    @property
    def cut_parameters(self) -> int:
        """Of the matrices that tensor parallelism cuts: layers and prediction."""
        attention = 2 * self.hidden**2 + 2 * self.hidden * self.key_heads * self.head
        layer = attention + 3 * self.hidden * self.widened
        return self.layers * layer + self.vocabulary * self.hidden

    @property
    def whole_parameters(self) -> int:
        """Of what every rank has: embedding and norms."""
        return self.vocabulary * self.hidden + self.norm_parameters

    @property
    def norm_parameters(self) -> int:
        """Of the norms: two a layer, and one at the end."""
        return (2 * self.layers + 1) * self.hidden


DECODERS = {
    "demo": Decoder(2, 128, 16, 8, 256, 256, parameters=361_088),
    "8b": Decoder(32, 4096, 32, 8, 14_336, 128_256, parameters=8_030_261_248),
    "70b": Decoder(80, 8192, 64, 8, 28_672, 128_256, parameters=70_553_706_496),
}
"""Source: Grattafiori et al., "The Llama 3 Herd of Models", arXiv:2407.21783, table 3, and
config.json of the released models (vocabulary 128,256); parameters counted by the shapes. The
demo's sizes are the project's."""


class InferenceCase(Model):
    """Answers of one decoder, tensor-parallel over all ranks."""

    suite: Literal["inference"] = "inference"
    preset: Literal["demo", "8b", "70b"]
    """Shapes of the decoder; the weights are random."""
    batch: Samples
    """Prompts that are answered at once."""
    prompt_tokens: Samples
    """Length of each prompt."""
    generated_tokens: Annotated[Samples, Field(ge=8)]
    """Length of each answer; the cache is as long as prompt and answer from the start."""
    precision: Literal["float32", "bfloat16"] = "bfloat16"
    """Type of weights, states and cache."""
    step_mode: StepMode = "eager"
    """What is compiled are the halves of a layer; what is recorded, a prompt and a token."""
    window_s: Duration = 2.0
    """About how long prompts, and tokens, are timed [s]."""
    seed: int = Field(default=0, ge=0)
    """Seed of weights and prompts."""

    @property
    def decoder(self) -> Decoder:
        """What answers."""
        return DECODERS[self.preset]

    @property
    def positions(self) -> int:
        """Tokens that the cache holds of each answer."""
        return self.prompt_tokens + self.generated_tokens

    @property
    def batch_text(self) -> Phrase:
        """The work in words."""
        return phrase(
            "{n} x {read} + {generated} tokens",
            n=self.batch,
            read=self.prompt_tokens,
            generated=self.generated_tokens,
        )

    @property
    def text(self) -> str:
        """The decoder in words."""
        return f"Llama, {self.preset}"

    @property
    def points(self) -> int:
        """Windows of a case: prompts, then tokens."""
        return 2


def why_uncuttable(case: InferenceCase, ranks: int) -> str | None:
    """Why so many ranks cannot share the decoder; None if they can."""
    size = case.decoder
    parts = {
        "heads of keys": size.key_heads,
        "heads": size.heads,
        "columns of the gated half": size.widened,
        "words": size.vocabulary,
    }
    odd = [f"{count} {what}" for what, count in parts.items() if count % ranks]
    return f"{odd[0]} cannot be dealt out to {ranks} ranks" if odd else None


def cache_bytes(case: InferenceCase, ranks: int) -> int:
    """Keys and values that a rank keeps [byte]."""
    size = case.decoder
    values = 2 * size.layers * case.batch * case.positions * size.key_heads * size.head
    return values * DTYPE_BYTES[case.precision] // ranks


def read_bytes(case: InferenceCase, ranks: int) -> int:
    """What a rank must read of its memory for each token of the batch [byte].

    Its part of the matrices, the norms and the cache; of the embedding only single rows. The cache
    is read whole, as it is allocated.
    """
    size = case.decoder
    weights = size.cut_parameters // ranks + size.norm_parameters
    return weights * DTYPE_BYTES[case.precision] + cache_bytes(case, ranks)


def needed_bytes(case: InferenceCase, ranks: int) -> int:
    """Memory that a rank needs: weights, cache, and the states of a prompt in one layer [byte]."""
    size, value_bytes = case.decoder, DTYPE_BYTES[case.precision]
    weights = size.cut_parameters // ranks + size.whole_parameters
    states = case.batch * case.prompt_tokens * (6 * size.hidden + 4 * size.widened // ranks)
    drawn = size.vocabulary * size.hidden  # the largest matrix, whole before it is cut
    return (weights + states + drawn) * value_bytes + cache_bytes(case, ranks)
