"""The report of a run: whole, honest and offline, whatever the run did."""

import json
import math
from datetime import UTC, datetime

import pytest
import torch
from look.rendered import expect_self_contained

from cutaway.look import attention_map, report_page, write_report

CONFIG = {
    "version": 1,
    "recipe": "gpt",
    "config": {"data": "my.txt", "steps": 200, "rate": 0.003, "compile": False, "prompt": "", "betas": [0.9, 0.95]},
    "spec": {"width": 128, "norm": {"kind": "rms"}},
    "data": {"summary": "my.txt: 1,000 characters\nparts: train 900", "fingerprint": {"digest": "ab"}},
}
METRICS = [
    {"step": 0, "split": "validation", "loss": 4.17},
    *(
        row
        for i in range(1, 5)
        for row in (
            {
                "step": 50 * i,
                "split": "train",
                "loss": 4 / i,
                "rate": 1 - i / 5,
                "gradient_norm": 0.7,
                "seconds": 1.5 * i,
            },
            {"step": 50 * i, "split": "validation", "loss": [3.5, 2.25, 1.5, 1.625][i - 1]},
        )
    ),
]
SAMPLES = {50: {"text.txt": "early"}, 200: {"text.txt": "late <b>bold</b>"}}


def test_a_whole_report(tmp_path):
    picture = attention_map(torch.eye(3), ["<script>", "b", "c"], title="Head 1.1")
    path = write_report(
        tmp_path, "My run", CONFIG, METRICS, SAMPLES, [picture], parameters=810_000, unit="nats a token"
    )
    assert path == tmp_path / "report.html"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    html = path.read_text(encoding="utf-8")
    found = expect_self_contained(html, charts=5)
    text = " ".join(found.text.split())
    for words in (
        *("A run of the recipe gpt.", "steps 200", "time spent training 6.0 s", "parameters 810,000"),
        *("last training loss 1", "validation loss 1.625", "best validation loss 1.5 (step 150)"),
        *("Loss by step", "Loss by time", "Length of the gradient", "Head 1.1", "late <b>bold</b>"),
        *("parts: train 900", "rate 0.003", "compile no", "prompt none", "betas 0.9, 0.95", "norm.kind rms"),
        "Not read yet.",
    ):
        assert words in text, words
    assert text.index("Step 200") < text.index("Step 50")  # newest first
    assert "loss (nats a token)" in html


def test_the_test_split_once_read():
    page = report_page("x", CONFIG, METRICS, {}, [], test={"loss": 1.75, "token_accuracy": 0.5})
    text = " ".join(expect_self_contained(page.to_html(), charts=4).text.split())
    assert "test loss 1.75" in text
    assert "token accuracy 0.5" in text
    assert "Read once, after training" in text
    assert "Not read yet" not in text


@pytest.mark.parametrize(
    ("metrics", "charts", "words"),
    [
        ([], 0, "Nothing has been logged yet"),
        (METRICS[:1], 1, "steps 0 of 200"),
        (METRICS[1:2], 1, "steps 50 of 200"),
        ([{"step": 5, "split": "train", "loss": None, "seconds": 1.0}], 0, "None of the 1 losses logged is a finite"),
        ([{"step": 5, "split": "train", "loss": math.nan}], 0, "last training loss not a number"),
        (
            [*METRICS, {"step": 250, "split": "train", "loss": None, "seconds": 9}],
            4,
            "first at step 250, loss is not a",
        ),
        ([{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}], 1, "last training loss 1"),
        ([{"step": 1, "split": "validation", "accuracy": 0.5}], 0, "Nothing has been logged yet"),
    ],
    ids=["none", "one evaluation", "one step", "null", "nan", "ends in nan", "bare", "no loss"],
)
def test_runs_that_did_little_or_badly(metrics: list, charts: int, words: str):
    html = report_page("x", CONFIG, metrics, {}, []).to_html()
    assert words in " ".join(expect_self_contained(html, charts).text.split())


def test_many_and_long_samples_are_cut_and_it_says_so():
    samples = {i: {"text.txt": f"sample {i}."} for i in range(30)} | {99: {"a.txt": "x" * 30_000, "b.txt": "short"}}
    text = expect_self_contained(report_page("x", CONFIG, [], samples, []).to_html(), charts=0).text
    assert "10,000 more characters, in the folder samples/" in text
    assert "10 more are in the folder samples/" in text  # 30 earlier, of which 20 are shown
    assert "Step 99, a.txt" in text
    assert "sample 29." in text
    assert "sample 1." not in text


def test_the_newest_sample_is_open_and_the_others_folded():
    html = report_page("x", CONFIG, [], SAMPLES, []).to_html()
    folded = html[html.index("<details>") : html.index("</details>")]
    assert "early" in folded
    assert "late" in html
    assert "late" not in folded
    assert "<details>" not in report_page("x", CONFIG, [], {50: SAMPLES[50]}, []).to_html()


def test_the_whole_validation_split_has_a_name():
    metrics = [*METRICS, {"step": 200, "split": "validation-whole", "loss": 1.6875}]
    text = " ".join(expect_self_contained(report_page("x", CONFIG, metrics, {}, []).to_html(), charts=4).text.split())
    assert "validation loss 1.688" in text


def test_a_tuned_run_says_what_was_tuned_and_what_was_before():
    tuned = {"task": "language", "way": "lora", "what": "LoRA of rank 8", "trained": 10, "parameters": 40}
    data = {"base": {"given": "runs/gpt-1", "model": "GPT"}, "tuning": tuned | {"head": "of the base"}}
    metrics = [*METRICS, {"step": 200, "split": "validation-whole", "loss": 1.5, "weights_of": 150}]
    html = report_page("x", CONFIG | {"data": data}, metrics, {}, []).to_html()
    text = " ".join(expect_self_contained(html, charts=4).text.split())
    assert "Tuned from runs/gpt-1, a GPT; what was trained: LoRA of rank 8." in text
    assert "weights kept of step 150" in text
    assert "trained parameters 10 (25.00%)" in text
    assert "figure validation before tuning loss 1.5 4.17" in text
    assert "Before tuning: the base as it was: a model is worth what it adds to that." in text


def test_the_least_that_a_report_needs():
    html = report_page("x", {"config": {}}, [], {}, []).to_html()
    found = expect_self_contained(html, charts=0)
    assert len(found.all("h2")) == 2  # the loss and the test split: no empty sections


def test_data_without_a_summary_is_a_table():
    html = report_page("x", {"config": {}, "data": {"rows": 5}}, [], {}, []).to_html()
    assert "rows 5" in " ".join(expect_self_contained(html, charts=0).text.split())


def test_the_date_is_the_callers():
    page = report_page("x", CONFIG, [], {}, [], when=datetime(2024, 2, 29, 12, 30, tzinfo=UTC))
    assert page.lead == "A run of the recipe gpt. Report written 2024-02-29 12:30 UTC."


def test_a_metrics_file_as_it_is_on_disk():
    lines = "\n".join(json.dumps(row) for row in METRICS)
    rows = [json.loads(line) for line in lines.splitlines()]
    html = report_page("x", CONFIG, rows, {}, []).to_html()
    expect_self_contained(html, charts=4)


def test_settings_in_the_wrong_place():
    with pytest.raises(ValueError, match="settings under 'config', got the keys steps, rate; wrap settings as"):
        report_page("x", {"steps": 5, "rate": 1.0}, [], {}, [])


def test_figures_that_need_words_have_them():
    rows = [{"step": 200, "split": "validation", "loss": -0.3, "novelty": 0.9}]
    noted = {"baseline": {"rule": "noise", "metrics": {"novelty": 1.5}}, "meanings": {"novelty": "how new they are"}}
    html = report_page("x", CONFIG | {"data": CONFIG["data"] | noted}, rows, {}, []).to_html()
    text = " ".join(expect_self_contained(html, charts=1).text.split())
    assert "Novelty: how new they are." in text
    assert "best validation loss −0.3 (step 200)" in text


def test_figures_come_before_the_loss_with_their_baseline_beside_them():
    rows = [{"step": 200, "split": "validation", "loss": 0.3, "accuracy": 0.9, "baseline_accuracy": 0.6}]
    naive = {"rule": "always spam, the most frequent", "metrics": {"accuracy": 0.6}}
    config = CONFIG | {"data": CONFIG["data"] | {"baseline": naive}}
    html = report_page("x", config, [*METRICS, *rows], {}, [], test={"loss": 0.35, "accuracy": 0.88}).to_html()
    text = " ".join(expect_self_contained(html, charts=4).text.split())
    assert "figure validation test baseline accuracy 0.9 0.88 0.6 loss 0.3 0.35" in text
    assert "The baseline is always spam, the most frequent: a model is worth what it adds to that." in text
    assert text.index("test accuracy 0.88") < text.index("validation accuracy 0.9") < text.index("last training loss")
    assert "validation baseline accuracy" not in text
