"""What pretraining is worth where labels are few: MNIST with 50 to 1,000 labels in all, draws of the labels.

Bases, each pretrained once:

    fashion       `cnn` on Fashion-MNIST's 30,000 images and their classes: another task
    views         `contrastive`, the same network, on 20,000 MNIST images without their labels
    patches       `masked-image`, a vision transformer, on the same images

and ways to tune them to the ten digits: the head alone (logistic regression on frozen vectors), LoRA of rank 8 (on
convolutions, or on linear layers), adapters of width 16 after every block, the last stage or block, all weights, each
beginning with the fitted head; beside the same networks from scratch, and logistic regression on pixels. Rates and
strengths were chosen with 100 labels on 2,000 further training images (``choose``) and are the same for all numbers of
labels; steps are fixed, no epoch is picked; the test set is read once a row (of the transformer's, which are slow,
every second image of it).

``python benchmarks/pretrained_images.py cnn-fashion-full labels=100 seeds=0,1`` adds rows to a file of results, where
they are missing; without names, all rows; ``show`` draws the table. Seconds are processor seconds of one thread, for
tuning alone; memory is that of a step (step_memory.py), of a head that of vectors and fit.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from step_memory import step_memory
from torch import Tensor, nn

import cutaway as cut
from cutaway.tasks.linear_probes import fit_probe

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "images"
FOLDER = Path(os.environ.get("CUTAWAY_RESULTS", "runs/pretrained_images"))
LABELS, SEEDS = (50, 100, 500, 1000), (0, 1, 2)
UNLABELLED, VALIDATION = 20_000, 2_000
STEPS, BATCH = 150, {"cnn": 64, "vit": 32}
DIGITS = [str(k) for k in range(10)]

# row → base, way, rate (of a head: its strength C) unless `choose` found another
ROWS: dict[str, tuple[str, str, float]] = {
    "pixels": ("pixels", "head", 0.01),
    "cnn-scratch": ("fashion", "scratch", 5e-3),
    "cnn-fashion-head": ("fashion", "head", 0.1),
    "cnn-fashion-lora": ("fashion", "lora", 5e-3),
    "cnn-fashion-adapter": ("fashion", "adapter", 5e-3),
    "cnn-fashion-last": ("fashion", "last", 5e-3),
    "cnn-fashion-full": ("fashion", "full", 5e-3),
    "cnn-views-head": ("views", "head", 0.1),
    "cnn-views-lora": ("views", "lora", 5e-3),
    "cnn-views-adapter": ("views", "adapter", 5e-3),
    "cnn-views-last": ("views", "last", 2e-3),
    "cnn-views-full": ("views", "full", 2e-3),
    "vit-scratch": ("patches", "scratch", 1e-3),
    "vit-patches-head": ("patches", "head", 0.1),
    "vit-patches-lora": ("patches", "lora", 5e-3),
    "vit-patches-adapter": ("patches", "adapter", 5e-3),
    "vit-patches-last": ("patches", "last", 1e-3),
    "vit-patches-full": ("patches", "full", 1e-3),
}
RATES = {"head": (0.01, 0.1, 1.0)}
USUAL = (1e-3, 5e-3)


class Digits:
    """MNIST: labelled images by their number and a seed, images to choose by, and test images."""

    def __init__(self) -> None:
        data = cut.data.read_images(DATA / "mnist", labelled=True, validation=0.0)
        self.data, train = data, data.train
        self.train, self.held = train.take(slice(0, 50_000)), train.take(slice(60_000 - VALIDATION, 60_000))

    def labelled(self, count: int, seed: int) -> tuple[Tensor, Tensor]:
        """As many images of each class, drawn from the training part."""
        rng, targets = np.random.default_rng(seed), self.train.targets
        places = [rng.choice(np.flatnonzero(targets == k), count // 10, replace=False) for k in range(10)]
        return pixels(self.train.take(np.concatenate(places)))

    def test(self) -> tuple[Tensor, Tensor]:
        return pixels(self.data.open_test())


def pixels(rows: Any) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(rows.pixels()).float() / 255, torch.from_numpy(rows.targets.astype(np.int64))


def base_of(name: str) -> Any:
    """The pretrained model, trained where it is not there yet."""
    place = FOLDER / name
    if not (place / "model.safetensors").exists():
        start = time.process_time()
        more: dict[str, Any] = dict(out=place, show="quiet", seed=0, test=0.0)
        if name == "fashion":
            cut.train("cnn", data=str(DATA / "fashion-mnist"), width=16, steps=600, evaluate_every=600, **more)
        else:
            images = cut.data.read_images(DATA / "mnist", labelled=True, validation=0.0).train
            unlabelled = images.take(slice(0, UNLABELLED)).pixels()
            if name == "views":
                cut.train("contrastive", data=unlabelled, width=16, steps=300, evaluate_every=300, **more)
            else:
                cut.train("masked-image", data=unlabelled, hidden=0.75, steps=800, evaluate_every=800, **more)
        print(f"pretrained_images: {name} pretrained in {time.process_time() - start:.0f} s", flush=True)
    return cut.load(place).model


def tuned(base: Any, way: str, seed: int) -> nn.Module:
    """A model for the ten digits of which what the way says can be trained."""
    torch.manual_seed(seed)
    model: Any = base.with_labels(DIGITS)
    if way == "scratch":
        fresh: Any = cut.models.from_spec(model.spec)
        fresh.scale.load_state_dict(model.scale.state_dict())
        return fresh
    if way == "last":
        last = f"stages.{len(model.stages) - 1}.**" if hasattr(model, "stages") else f"blocks.{len(model.blocks) - 1}"
        cut.freeze(model, "**", but=(last, "head.**"))
    elif way == "lora":
        cut.lora(model, model.lora_targets, rank=8, train="head.**")
    elif way == "adapter":
        cut.adapter(model, model.layer_order, width=16, train="head.**")
    return model


@torch.no_grad()
def put_head(model: Any, probe: Any) -> None:
    """The head begins as the linear map on frozen vectors, with its scale folded in."""
    layer = model.head.linear if hasattr(model.head, "linear") else model.head.classify
    layer.weight.copy_(probe.weight / probe.spread[:, None])
    layer.bias.copy_(probe.bias - probe.mean / probe.spread @ probe.weight)


def fit(model: nn.Module, x: Tensor, y: Tensor, rate: float, seed: int, batch: int) -> float:
    """150 steps of AdamW, the rate rising for 15 and then falling to 0; the memory of a further one, undone."""
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min((i + 1) / 15, (STEPS - i) / (STEPS - 15)))
    model.train()
    for module in model.modules():
        if not any(p.requires_grad for p in module.parameters()):
            module.eval()  # what is frozen keeps its statistics

    def step() -> None:
        few = torch.from_numpy(rng.choice(len(x), min(batch, len(x)), replace=False))
        loss = nn.functional.cross_entropy(model(x[few]), y[few])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    for _ in range(STEPS):
        step()
        schedule.step()
    optimizer.zero_grad()
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    memory = step_memory(model, optimizer, step)
    model.load_state_dict(kept)
    model.eval()
    return memory


@torch.no_grad()
def outputs(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return torch.cat([function(part) for part in x.split(64)])


def vectors(base: Any, x: Tensor) -> Tensor:
    return x.flatten(1) if base is None else outputs(base.represent, x)


def run_row(
    row: str, digits: Digits, count: int, seed: int, asked: tuple[Tensor, Tensor], rate: float
) -> dict[str, Any]:
    name, way, _ = ROWS[row]
    x, y = digits.labelled(count, seed)
    base = None if name == "pixels" else base_of(name)
    start = time.process_time()
    if way == "head":
        probe = fit_probe(vectors(base, x), y, 10, rate)
        seconds, trained = time.process_time() - start, probe.weight.numel() + probe.bias.numel()
        memory = step_memory(base, None, lambda: fit_probe(vectors(base, x), y, 10, rate))
        right = probe.accuracy(vectors(base, asked[0]), asked[1])
    else:
        model = tuned(base, way, seed)
        if way != "scratch":
            put_head(model, fit_probe(vectors(base, x), y, 10, 0.1))
        memory = fit(model, x, y, rate, seed, BATCH[row[:3]])
        seconds = time.process_time() - start
        trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
        right = (outputs(model, asked[0]).argmax(1) == asked[1]).double().mean().item()
    whole = 0 if base is None else sum(p.numel() for p in base.parameters())
    return {"row": row, "labels": count, "seed": seed, "accuracy": right, "trained": trained, "of": whole,
            "seconds": round(seconds, 2), "memory": round(memory, 1)}  # fmt: skip


def done() -> list[dict[str, Any]]:
    file = FOLDER / "rows.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def add_rows(names: list[str], labels: tuple[int, ...], seeds: tuple[int, ...]) -> None:
    digits = Digits()
    whole = digits.test()
    known = {(found["row"], found["labels"], found["seed"]) for found in done()}
    for row in names:
        asked = (whole[0][::2], whole[1][::2]) if row.startswith("vit") else whole
        for count in labels:
            for seed in seeds:
                if (row, count, seed) in known:
                    continue
                found = run_row(row, digits, count, seed, asked, rates()[row])
                with (FOLDER / "rows.jsonl").open("a") as file:
                    file.write(json.dumps(found) + "\n")
        show([row])


def choose(names: list[str]) -> None:
    """The accuracy on validation images with 100 labels, by rate (of a head: by strength)."""
    digits = Digits()
    asked = pixels(digits.held)
    for row in names:
        tried = {}
        for rate in RATES.get(ROWS[row][1], USUAL):
            found = run_row(row, digits, 100, 0, asked, rate)
            tried[rate] = found["accuracy"]
            print(f"{row} {rate:g}: {found['accuracy']:.3f} ({found['seconds']:.0f} s)", flush=True)
        best = max(tried, key=lambda rate: tried[rate])
        (FOLDER / "rates.json").write_text(json.dumps(rates() | {row: best}))


def rates() -> dict[str, float]:
    file = FOLDER / "rates.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    return {row: rate for row, (_, _, rate) in ROWS.items()} | known


def show(names: list[str]) -> None:
    found = done()
    for row in names:
        mine = [one for one in found if one["row"] == row]
        if not mine:
            continue
        cells = []
        for count in LABELS:
            values = [100 * one["accuracy"] for one in mine if one["labels"] == count]
            spread = f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
            cells.append(f"{count}: {np.mean(values):.1f}{spread} ({len(values)})" if values else f"{count}: –")
        seconds = np.mean([one["seconds"] for one in mine])
        memory = max((one["memory"] for one in mine if one.get("memory")), default=float("nan"))
        print(
            f"{row:20} {'  '.join(cells)}  trained {mine[0]['trained']:,} of {mine[0]['of']:,}, {seconds:.1f} s, "
            f"{memory:.1f} MB",
            flush=True,
        )


def main() -> None:
    torch.set_num_threads(1)
    words = sys.argv[1:]
    asked = [name for name in words if name in ROWS] or list(ROWS)
    numbers = {key: tuple(map(int, text.split(","))) for key, _, text in (w.partition("=") for w in words) if text}
    if not (DATA / "mnist").is_dir():
        print(f"pretrained_images: needs MNIST and Fashion-MNIST as idx files in {DATA}")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    if "choose" in words:
        choose(asked)
    elif "show" in words:
        show(asked)
    else:
        add_rows(asked, numbers.get("labels", LABELS), numbers.get("seeds", SEEDS))


if __name__ == "__main__":
    main()
