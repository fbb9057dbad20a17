"""What a run tells of itself, by a clock that the test turns."""

import pytest

from commwall.measure.progress import Part, Progress, left_text


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Run:
    """Two rounds on two platforms, two cases of 20 s each; a start takes 10 s."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.clock = Clock()
        expected_s = {
            Part(round_, platform, case): s
            for round_ in (1, 2)
            for platform in ("fast", "slow")
            for case, s in (("", 10.0), ("a", 20.0), ("b", 20.0))
        }
        self.progress = Progress(self.said.append, 2, expected_s, self.clock)

    def launch(self, round_: int, platform: str, *cases: tuple[str, float], start_s: float) -> None:
        self.progress.begin(round_, platform)
        self.clock.now_s += start_s
        for case, s in cases:
            self.progress.case(case)
            self.progress.case(case)  # its next leg
            self.clock.now_s += s
        self.progress.end()


def test_each_case_is_told_once_with_the_time_left_by_the_plan() -> None:
    run = Run()
    run.launch(1, "fast", ("a", 20), ("b", 20), start_s=10)
    run.launch(1, "slow", ("a", 20), start_s=10)
    assert run.said == [
        "case 1 of 8 (round 1 of 2, fast): a, 3 min of this suite left",
        "case 2 of 8 (round 1 of 2, fast): b, 3 min of this suite left",
        "case 3 of 8 (round 1 of 2, slow): a, 2 min of this suite left",
    ]
    assert run.progress.left_s == 120


def test_what_was_seen_corrects_the_plan() -> None:
    run = Run()
    assert run.progress.left_s == 200
    run.launch(1, "fast", ("a", 40), ("b", 40), start_s=20)
    assert run.progress.left_s == pytest.approx(150 * 2)
    run.launch(1, "slow", ("a", 5), ("b", 5), start_s=5)
    assert run.progress.left_s == pytest.approx(100 * 115 / 100)


def test_a_first_part_that_was_short_corrects_nothing() -> None:
    progress = Progress(lambda line: None, 1, {Part(1, "p"): 5.0, Part(1, "p", "a"): 50.0}, Clock())
    progress.begin(1, "p")
    progress.case("a")
    assert progress.left_s == 50


def test_cases_that_were_lost_do_not_count_any_more() -> None:
    run = Run()
    run.launch(1, "fast", ("a", 20), start_s=10)  # b was lost
    run.launch(1, "slow", start_s=10)  # both were
    run.launch(2, "fast", ("a", 20), start_s=10)
    run.launch(2, "fast", ("b", 20), start_s=10)  # after an accident, once more
    assert run.said[-2:] == [
        "case 5 of 8 (round 2 of 2, fast): a, 2 min of this suite left",
        "case 6 of 8 (round 2 of 2, fast): b, 80 s of this suite left",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "1 s"), (89.4, "89 s"), (240, "4 min"), (9000, "2.5 h")]
)
def test_guesses_are_told_in_whole_units(seconds: float, text: str) -> None:
    assert left_text(seconds) == text
