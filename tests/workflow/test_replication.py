"""A published campaign is closed, and measured again under another name through the workflow."""

from tests.workflow.checkout import Checkout


def _said(checkout: Checkout, *words: str, code: int = 0) -> str:
    done = checkout.commwall(*words)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def _replica_of(published: str) -> str:
    return f'campaigns=["{published}-replica"]'


def test_publish_replicate_judge(warm: Checkout) -> None:
    published = warm.campaign
    assert "The campaign is closed" in _said(warm, "predict", published)
    before = warm.results()

    # Closed: nothing is owed and nothing may write, even where a record goes missing.
    warm.path("slow", 2).rename(warm.root / "kept.json")
    run = warm.measure()
    assert run.code == 0, run.output
    assert "measure_suite" not in run.started
    assert not warm.path("slow", 2).exists()
    told = _said(warm, "measure", published, "training", code=1)
    assert "is published" in told
    assert "rest on another record" in _said(warm, "replicate", published, code=2)
    (warm.root / "kept.json").rename(warm.path("slow", 2))

    said = _said(warm, "replicate", published, "--rounds", "2")
    assert f"commwall replicate {published} --judge {published}-replica-" in said
    own = said.split("--judge ")[1].strip()
    _said(warm, "replicate", published, "--rounds", "2")  # once more changes nothing
    run = warm.snakemake("--cores", "2", "--config", _replica_of(published), "--", "measure")
    assert run.code == 0, run.output
    assert "measure_suite" in run.started
    folder = warm.root / "results" / own / "records"
    assert {path.parts[-4] for path in folder.rglob("r*.json")} == {"fast", "slow"}

    judged = _said(warm, "replicate", published, "--judge", own)
    assert "agrees with" in judged and "1 of 1 ratios (100%)" in judged
    kept = {name: text for name, text in warm.results().items() if f"/{published}/" in name}
    assert kept == before, "the published campaign is as it was"


def test_a_replica_file_that_says_something_else_stays(warm: Checkout) -> None:
    published = warm.campaign
    _said(warm, "predict", published)
    _said(warm, "replicate", published)
    path = warm.root / f"config/campaigns/{published}-replica.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("batch_per_gpu: 4", "batch_per_gpu: 8"), encoding="utf-8")
    assert "differs in more than its rounds" in _said(warm, "replicate", published, code=2)
    path.write_text(text, encoding="utf-8")
    assert "3 rounds of 2 platforms" in _said(warm, "replicate", published, "--rounds", "3")
    assert "does not measure what is to be replicated" in _said(
        warm, "replicate", published, "--suite", "memory", code=2
    )
