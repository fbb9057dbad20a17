"""Predictions of a published campaign: written once, and held against what they rest on.

Layer: records. Writes `results/<campaign>/predictions.json`, which also closes the campaign: no
record of it is measured or taken in any more. Reads it and the records that it names.
"""

from pathlib import Path

from commwall.language.translate import tr_later
from commwall.records.bundle import kind_of
from commwall.records.files import content_of, write_atomically
from commwall.records.layout import Layout
from commwall.records.store import read_record
from commwall.records.texts import model_text
from commwall.schema.base import digest
from commwall.schema.errors import CommwallError, ConfigError
from commwall.schema.parsing import parse_json, parse_model
from commwall.schema.predictions import Predictions
from commwall.schema.record import Record


class PredictionError(CommwallError):
    """Predictions that are absent, changed, or rest on other records than are here."""


def is_published(layout: Layout, campaign: str) -> bool:
    """Whether a campaign's predictions are fixed, and with them its records."""
    return layout.predictions_path(campaign).exists()


def write_predictions(layout: Layout, predictions: Predictions) -> Path:
    """Fix what a campaign predicts.

    Raises:
        PredictionError: if it has predictions already.
        OSError: if the file system refuses.
    """
    path = layout.predictions_path(predictions.campaign)
    if path.exists():
        raise PredictionError(
            "the predictions of a campaign are fixed once",
            where=_place(predictions.campaign),
            found="a file that is there already",
            next_step="measure under another name what is to be published beside it",
        )
    write_atomically(path, model_text(predictions.sealed()))
    return path


def read_predictions(layout: Layout, campaign: str) -> Predictions:
    """Read and verify the predictions of a campaign.

    Raises:
        PredictionError: if there are none, or they were changed.
    """
    path = layout.predictions_path(campaign)
    try:
        return parse_predictions(content_of(path), campaign)
    except FileNotFoundError as error:
        raise PredictionError(
            tr_later("a campaign has no predictions to be replicated by"),
            where=_place(campaign),
            found="no such file",
            expected="intervals that its publisher fixed beforehand",
            next_step=f"`commwall predict {campaign}` fixes them, once all of it is measured",
        ) from error


def parse_predictions(text: bytes, campaign: str) -> Predictions:
    """Predictions out of a file's text.

    Raises:
        PredictionError: if they are malformed, edited, or of another campaign.
    """
    try:
        data = parse_json(text, _place(campaign))
        found = parse_model(Predictions, data, _place(campaign))
    except ConfigError as error:
        raise _changed(campaign, error.parts["found"] or error.what) from error
    content = {key: value for key, value in data.items() if key != "digest"}
    if digest(content) != found.digest:
        raise _changed(campaign, "its content does not match its digest: it was edited")
    if found.campaign != campaign:
        raise _changed(campaign, f"it is about {found.campaign}")
    return found


def basis(layout: Layout, predictions: Predictions) -> tuple[Record, ...]:
    """The records that predictions rest on.

    Raises:
        PredictionError: if one is missing, or another than it was.
    """
    return tuple(
        _basis_record(layout, predictions.campaign, name, wanted)
        for name, wanted in predictions.records.items()
    )


def _basis_record(layout: Layout, campaign: str, name: str, wanted: str) -> Record:
    folder = layout.campaign_dir(campaign)
    if kind_of(name) != "record":
        raise _other_basis(campaign, name, "a name that no record has")
    try:
        record = read_record(folder / name)
    except (CommwallError, OSError) as error:
        told = error.parts["found"] if isinstance(error, CommwallError) else error.strerror
        raise _other_basis(campaign, name, str(told)) from error
    if record.digest != wanted:
        raise _other_basis(campaign, name, f"digest {record.digest}")
    return record


def _other_basis(campaign: str, name: str, found: str) -> PredictionError:
    return PredictionError(
        tr_later("predictions rest on another record than is here"),
        where=f"results/{campaign}/{name}",
        found=found,
        expected="the record as it was when the predictions were fixed",
        next_step="restore the published campaign as its publisher gave it",
    )


def _changed(campaign: str, found: str) -> PredictionError:
    return PredictionError(
        tr_later("predictions cannot be trusted"),
        where=_place(campaign),
        found=found,
        expected="predictions as they were fixed",
        next_step="restore the published campaign as its publisher gave it",
    )


def _place(campaign: str) -> str:
    return f"results/{campaign}/predictions.json"
