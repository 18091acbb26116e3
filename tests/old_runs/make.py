"""Makes the archives of this folder: of every recipe, a small finished run and the same run stopped at a checkpoint.

    python tests/old_runs/make.py                  all of them, into this folder
    python tests/old_runs/make.py gpt mlp-number   some

The archives here are of Cutaway 0.1.0 at commit 72e7b53 (they name 8568e62, the last commit then that changed the
library), before the recipes were divided into settings, tasks and learners. They are there so that later versions read
what earlier ones wrote: when the folders of runs change, make new ones beside them, under names of their own, and leave
these as they are. An archive that is there is not made again.

Paths in a run folder are absolute. Here they are cut to what they are beside the runs, so that an archive holds
wherever it is unpacked, seen from there; the checksums of the files that name them are made anew.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent.resolve()
sys.path.insert(0, str(HERE.parent))

import networkx as nx
import numpy as np
import pandas as pd
import tiny_bases
import torch
import trained
from tabular import INPUTS, little_frame, little_table
from test_old_runs import ask, course, last_rows, told, verbs_offered, views_that_suit

import cutaway as cut
from cutaway.checksums import FILE as CHECKSUMS
from cutaway.checksums import crc32_of_json, list_checksums
from cutaway.data.graphs.graph_set import open_graphs
from cutaway.data.graphs.raw_graph_sets import write_graph_set
from cutaway.models import HeadSpec
from cutaway.recipes.index import IMPORTED, RECIPES, TUNED
from cutaway.runs import execution
from cutaway.runs.checkpoints_in_and_out import import_checkpoint
from cutaway.training import Stopped
from cutaway.training.callbacks import Callback

PLACE = Path(".")  # every archive is made in a working folder of its own
LITTLE: dict[str, Any] = dict(steps=12, evaluate_every=4, checkpoint_every=4, log_every=2, keep=1)
LONGER: dict[str, Any] = dict(LITTLE, steps=60, evaluate_every=20, checkpoint_every=20, log_every=10)
METHODS = ("generate", "predict", "embed", "sample", "encode", "decode", "nearest", "forecast", "backtest", "test")


@dataclass(frozen=True)
class Case:
    """An archive: the recipe and its settings, what is written first, and what is asked in the end."""

    recipe: str
    settings: dict[str, Any]
    questions: list[dict[str, Any]]
    write: Callable[[], Any] = lambda: None
    memory: Callable[[], Any] | None = None  # data that is given as it is, not by a path
    stop: int = 9
    test: bool = True


def q(name: str, *given: Any, **how: Any) -> dict[str, Any]:
    """A question: a method of the run, and what it is given."""
    return {"ask": name, "given": list(given), "how": how}


class StopAt(Callback):
    """Ctrl-C in a step: the run stops after it, with a checkpoint."""

    def __init__(self, at: int) -> None:
        self.at = at

    def step(self, loop: Any, metrics: dict[str, float]) -> None:
        if loop.step == self.at:
            signal.raise_signal(signal.SIGINT)


# Data.


def texts() -> None:
    trained.little_text(PLACE)


def pairs() -> None:
    trained.little_pairs(PLACE)


def treebank() -> None:
    trained.little_treebank(PLACE, 60)
    (PLACE / "asked.conllu").write_text("1\tThe\t_\t_" + "\t_" * 6 + "\n2\tdogs\t_\t_" + "\t_" * 6 + "\n\n")


def tagged_files() -> None:
    treebank()
    for name in ("test.conllu", "validation.conllu"):
        shutil.copy("little.conllu", name)
    some_vectors()


def labelled_files() -> None:
    labelled()
    shutil.copy("labelled.tsv", "test.tsv")
    some_vectors()


def some_vectors() -> None:
    rows = [f"{word} {i} 1 {-i}\n" for i, word in enumerate(["the", "dogs", "film", "good", "bad"])]
    (PLACE / "vectors.txt").write_text("".join(rows))


def labelled() -> None:
    trained.little_labelled(PLACE)
    pd.DataFrame({"text": ["a good film", "a bad film number 7", "so it is"]}).to_csv("asked.csv", index=False)


def circles() -> None:
    """Animals and numbers: two circles of words that never meet."""
    rng = np.random.default_rng(0)
    words = (["cat", "dog", "horse", "eats", "sleeps"], ["one", "two", "three", "plus", "counts"])
    lines = [" ".join(rng.choice(words[i % 2], 12)) for i in range(200)]
    (PLACE / "circles.txt").write_text("\n".join(lines), encoding="utf-8")


def table(*targets: str) -> Callable[[], None]:
    def write() -> None:
        little_table(PLACE, *targets)
        little_frame(6, 1)[INPUTS].to_csv("asked.csv", index=False)

    return write


def one_input() -> None:
    little_frame()[["size", "price"]].to_csv("table.csv", index=False)
    little_frame(6, 1)[["size"]].to_csv("asked.csv", index=False)


def two_inputs() -> None:
    little_frame()[["size", "weight", "sold"]].to_csv("table.csv", index=False)
    little_frame(6, 1)[["size", "weight"]].to_csv("asked.csv", index=False)


def table_and_test() -> None:
    table("cheap")()
    little_table(PLACE, "cheap", rows=30, name="test.csv", seed=3)


def table_with_gaps() -> None:
    table("sold")()
    little_frame(6, 2).assign(sold=None)[[*INPUTS, "sold"]].to_csv("gaps.csv", index=False)


def gaps() -> None:
    little_frame(6, 2)[INPUTS].assign(weight=None).to_csv("asked.csv", index=False)


def irises() -> None:
    from sklearn.datasets import load_iris

    load_iris(as_frame=True).data.iloc[::30].to_csv("asked.csv", index=False)


def corners(count: int = 80, side: int = 8, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Images with a bright corner; which one it is, is their class."""
    draw = np.random.default_rng(0)
    labels = np.arange(count) % classes
    images = draw.integers(0, 60, (count, side, side)).astype(np.uint8)
    half = side // 2
    for image, label in zip(images, labels, strict=True):
        image[half * (label // 2) :][:half, half * (label % 2) :][:, :half] += 150
    return images, np.array(["north", "east", "south", "west"])[labels]


def images(labels: bool = True) -> Callable[[], None]:
    def write() -> None:
        pixels, names = corners()
        np.savez_compressed("images.npz", images=pixels, **({"labels": names} if labels else {}))
        np.savez_compressed("asked.npz", images=pixels[:5])

    return write


def corners_in_colour() -> dict[str, Any]:
    pixels, names = corners()
    return {"images": pixels, "labels": names}


def photos() -> None:
    from pictures import make_classes

    make_classes(PLACE / "photos", each=12, size=(8, 8))


def kinds() -> None:
    """Images of twelve classes, a pattern each with a little noise: some classes are held out."""
    draw = np.random.default_rng(0)
    patterns = draw.integers(0, 2, (12, 8, 8)) * 200
    labels = np.arange(72) % 12
    pixels = np.clip(patterns[labels] + draw.integers(0, 50, (72, 8, 8)), 0, 255).astype(np.uint8)
    np.savez_compressed("images.npz", images=pixels, labels=np.array([f"kind{i:02}" for i in labels]))
    np.savez_compressed("asked.npz", images=pixels[:5])


def series() -> None:
    """Three daily series with a gap, and one that training never sees."""
    rng, t = np.random.default_rng(0), np.arange(70)
    frame = pd.DataFrame({"date": pd.date_range("2024-01-01", periods=70)})
    for i, name in enumerate("abc"):
        frame[name] = (5 * (i + 1) + np.sin(2 * np.pi * t / 7) + 0.2 * rng.standard_normal(70)).round(4)
    frame.loc[30:32, "b"] = np.nan
    frame.to_csv("series.csv", index=False)
    pd.DataFrame({"date": pd.date_range("2030-01-01", periods=20), "z": np.arange(20.0) + 3}).to_csv(
        "asked.csv", index=False
    )


def shop() -> None:
    """Counts of four shops, with promotions that are known ahead and a region each."""
    rng, frames = np.random.default_rng(0), []
    for i in range(4):
        promotion = (rng.random(90) < 0.2).astype(int)
        sold = rng.poisson(4 + 2 * i + 5 * promotion)
        days = pd.date_range("2024-01-01", periods=90)
        frames.append(pd.DataFrame({"shop": f"s{i}", "date": days, "sold": sold, "promotion": promotion}))
        frames[-1]["region"] = ["north", "south"][i % 2]
    future = [
        pd.DataFrame({"shop": frame["shop"][0], "date": pd.date_range("2024-03-31", periods=4)}) for frame in frames
    ]
    ahead = [part.assign(promotion=[0, 1, 0, 0], region=frames[i]["region"][0]) for i, part in enumerate(future)]
    pd.concat([each for pair in zip(frames, ahead, strict=True) for each in pair]).to_csv("shop.csv", index=False)


def waves() -> None:
    path = trained.little_waves(PLACE)
    frame = pd.read_csv(path)
    frame.drop(columns="kind").head(4).to_csv("asked.csv", index=False)


def sensor() -> None:
    path = trained.little_sensor(PLACE)
    frame = pd.read_csv(path).round(4)
    frame.to_csv(path, index=False)
    asked = frame.tail(200).copy()
    asked.iloc[100:104, 1] += 8
    asked.to_csv("asked.csv", index=False)


def towns() -> None:
    """Two towns of 20 people who mostly know their own, and the same graph with one more person."""
    rng = np.random.default_rng(0)
    town = np.repeat([0, 1], 20)
    known = [(i, j) for i in range(40) for j in range(i) if rng.random() < (0.25 if town[i] == town[j] else 0.02)]
    names = [f"p{i}" for i in range(40)]
    edges = pd.DataFrame([(names[i], names[j]) for i, j in known], columns=["source", "target"])
    people = pd.DataFrame({"id": names, "age": (30 + 5 * town + rng.normal(size=40)).round(3)})
    people["height"] = rng.normal(170, 10, 40).round(1)
    people["town"] = np.where(town, "Ulm", "Bonn")
    people.loc[3, "town"] = None
    people["income"] = (1000 + 200 * town + 10 * rng.normal(size=40)).round(2)
    people[["id", "town"]].to_csv("names.csv", index=False)
    people[["id", "age", "height"]].to_csv("features.csv", index=False)
    edges.sample(frac=1, random_state=1).to_csv("mixed.csv", index=False)
    more = pd.DataFrame([("new", f"p{i}") for i in range(20, 26)], columns=edges.columns)
    edges.to_csv("edges.csv", index=False)
    people.drop(columns="income").to_csv("people.csv", index=False)
    people.drop(columns="town").to_csv("incomes.csv", index=False)
    pd.concat([edges, more]).to_csv("edges2.csv", index=False)
    newcomer = pd.DataFrame([{"id": "new", "age": 36.0, "height": 170.0}])
    pd.concat([people[["id", "age", "height"]], newcomer]).to_csv("people2.csv", index=False)


INCOMES: dict[str, Any] = dict(data="edges.csv", vertices="incomes.csv", target="income")
TOWNS: dict[str, Any] = dict(data="edges.csv", vertices="people.csv", target="town")
ELSEWHERE: dict[str, Any] = dict(data="edges2.csv", vertices="people2.csv")


def club() -> nx.Graph:
    graph = nx.planted_partition_graph(2, 15, 0.4, 0.03, seed=0)
    rng = np.random.default_rng(0)
    for v in graph:
        side = graph.nodes[v].pop("block")
        graph.nodes[v].update(label="ab"[side], height=float(side + rng.normal(0, 0.5)), job="xy"[v % 2])
    return graph


ALKANES = ["C" * n for n in range(1, 19)] + ["C" * n + "O" for n in range(1, 19)]


def molecules(value: bool = False) -> Callable[[], None]:
    def write() -> None:
        target = [float(text.count("C")) + 0.5 if value else int("O" in text) for text in ALKANES]
        pd.DataFrame({"smiles": ALKANES, "target": target}).to_csv("molecules.csv", index=False)

    return write


def chains() -> None:
    """Chains with alternating tags; those of class 1 hold one vertex with the tag 2."""
    for name, count in (("chains.txt", 48), ("asked.txt", 4)):
        lines = [str(count)]
        for g in range(count):
            n = 6 + g % 5
            lines.append(f"{n} {g % 2}")
            for v in range(n):
                around = [u for u in (v - 1, v + 1) if 0 <= u < n]
                tag = 2 if g % 2 and v == g // 2 % n else (v + g) % 2
                lines.append(" ".join(map(str, [tag, len(around), *around])))
        (PLACE / name).write_text("\n".join(lines) + "\n")


def rings_and_paths() -> list[nx.Graph]:
    graphs = []
    for i in range(24):
        graph = nx.cycle_graph(4 + i % 5) if i % 2 else nx.path_graph(4 + i % 5)
        graph.graph["label"] = "ring" if i % 2 else "path"
        for v in graph:
            graph.nodes[v]["element"] = "C" if v else ["N", "O", "S"][i % 3]
        graphs.append(graph)
    return graphs


def rings() -> list[nx.Graph]:
    return [nx.cycle_graph(5 + i % 4) for i in range(24)]


def some_rings() -> None:
    (PLACE / "asked.npz").write_bytes(write_graph_set(open_graphs(rings()[:4])))


def labelled_edges() -> None:
    """Two clans with friends inside and foes between; people who give stars to films."""
    rng = np.random.default_rng(0)
    known = [(i, j) for i in range(30) for j in range(i) if rng.random() < 0.3]
    frame = pd.DataFrame([(f"p{i}", f"p{j}") for i, j in known], columns=["source", "target"])
    frame["kind"] = ["friend" if i // 15 == j // 15 else "foe" for i, j in known]
    frame.to_csv("kinds.csv", index=False)
    mild, good = rng.normal(0, 1, 20), rng.normal(0, 1, 15)
    seen = [(i, j) for i in range(20) for j in range(15) if rng.random() < 0.5]
    stars = [round(3 + mild[i] + good[j] + rng.normal(0, 0.2), 2) for i, j in seen]
    people, films = [f"person {i}" for i, _ in seen], [f"film {j}" for _, j in seen]
    pd.DataFrame({"source": people, "target": films, "stars": stars}).to_csv("stars.csv", index=False)


# Bases of tuned runs, all at `base`.


def bert_run() -> None:
    """Texts to tune to, and a run of `bert` on the same words."""
    tiny_bases.reviews(PLACE / "reviews.csv")
    words = pd.read_csv("reviews.csv")["text"]
    (PLACE / "words.txt").write_text("\n".join([*words] * 6) + "\n", encoding="utf-8")
    settings = dict(LITTLE, width=8, depth=2, heads=2, context=16, batch=8, tokenizer="bpe-280", warmup=2)
    base("bert", data="words.txt", **settings)
    tagged_words()
    text_pairs()


def gpt_run() -> None:
    texts()
    base("gpt", data="little.txt", **GPT | dict(design="gpt2"))


def gpt_run_on_reviews() -> None:
    tiny_bases.reviews(PLACE / "reviews.csv")
    words = pd.read_csv("reviews.csv")["text"]
    (PLACE / "words.txt").write_text("\n".join([*words] * 6) + "\n", encoding="utf-8")
    base("gpt", data="words.txt", **GPT | dict(width=8))


def gpt_checkpoint() -> None:
    tiny_bases.tiny_gpt(PLACE / "base")
    tiny_bases.chats(PLACE / "chats.jsonl")


def tuned_run() -> None:
    """A tuned run whose base was tuned itself."""
    bert_run()
    Path("base").rename("first")
    cut.tune("first", data="reviews.csv", adapter=3, out="base", show="quiet", **TUNING)


def bert_checkpoint(**changes: Any) -> Callable[[], None]:
    def write() -> None:
        tiny_bases.tiny_bert(PLACE / "base", **changes)
        tiny_bases.reviews(PLACE / "reviews.csv")
        text_pairs()
        (PLACE / "words.txt").write_text(" ".join([*tiny_bases.OTHERS, *tiny_bases.GOOD] * 40))

    return write


def tagged_words() -> None:
    draw = np.random.default_rng(0)
    adjectives = tiny_bases.GOOD + tiny_bases.BAD
    with (PLACE / "words.conll").open("w", encoding="utf-8") as file:
        for _ in range(40):
            for word in draw.choice([*tiny_bases.OTHERS, *adjectives], draw.integers(2, 9)):
                file.write(f"{word}\t{'ADJ' if word in adjectives else 'X'}\n")
            file.write("\n")


def text_pairs() -> None:
    rng, words = np.random.default_rng(0), tiny_bases.OTHERS[:8]
    alike, scored = ["anchor,positive"], ["sentence1,sentence2,score"]
    for i in range(80):
        a, b = rng.choice(8, 2, replace=False)
        alike.append(f"{words[a]} {words[b]} {i},{words[b]} {words[a]} {i}")
        second = f"{words[b]} {words[a]}" if i % 2 else f"{words[rng.integers(8)]} {words[(a + b + 1) % 8]}"
        scored.append(f"{words[a]} {words[b]},{second},{i % 2}")
    (PLACE / "texts.txt").write_text("\n".join(line.split(",")[0] for line in alike[1:]) + "\n", encoding="utf-8")
    (PLACE / "pairs.csv").write_text("\n".join(alike) + "\n", encoding="utf-8")
    (PLACE / "scored.csv").write_text("\n".join(scored) + "\n", encoding="utf-8")


def cnn_run() -> None:
    images()()
    pixels, names = corners(classes=2)
    np.savez_compressed("two.npz", images=pixels, labels=names)
    base("cnn", data="two.npz", **CNN | dict(ema=0.0))


def vit_run() -> None:
    images()()
    base("vit", data="images.npz", **VIT | dict(ema=0.0))


def contrastive_run() -> None:
    images()()
    settings = dict(LITTLE, width=8, depth=1, batch=16, hidden=16, projected=8, augment="shift:1", warmup=2)
    base("contrastive", data="images.npz", **settings)


def gin_run() -> None:
    molecules(value=True)()
    base("gin", data="molecules.csv", **LITTLE, width=8, depth=2, batch=16)


def vertices_run() -> None:
    towns()
    base("masked-graph", **TOWNS, **LITTLE, width=8)


def gcn_run() -> None:
    towns()
    base("gcn", **TOWNS, **LITTLE, width=8)


def chains_run() -> None:
    chains()
    base("masked-graph", data="chains.txt", **LITTLE, width=8, depth=2)


def cells_run() -> None:
    table("sold")()
    little_table(PLACE, "price", name="prices.csv")
    base("masked-table", data="table.csv", leave_out="sold", **CELLS)


def base(recipe: str, **settings: Any) -> None:
    cut.train(recipe, out="base", show="quiet", **settings)
    shutil.rmtree("base/state", ignore_errors=True)  # a base is used as it ended


def checkpoint() -> None:
    tiny_bases.tiny_gpt(PLACE / "checkpoint")


def vectors() -> None:
    rows = {"king": "1 1 0", "man": "1 0 0", "woman": "0 0 1", "queen": "0 1 1", "apple": "-1 0.3 0.2"}
    (PLACE / "glove.txt").write_text("".join(f"{word} {row}\n" for word, row in rows.items()))


# What is asked, by what a run is for.

GPT: dict[str, Any] = LITTLE | dict(width=16, depth=1, heads=2, context=16, batch=4, sample_tokens=5)
RECURRENT: dict[str, Any] = LITTLE | dict(width=12, embedding=8, context=16, batch=4, sample_tokens=5)
CNN: dict[str, Any] = LITTLE | dict(width=4, depth=1, batch=16, warmup=2, ema=0.8)
VIT: dict[str, Any] = LITTLE | dict(width=8, depth=1, heads=2, batch=16, warmup=2, ema=0.8)
CELLS: dict[str, Any] = LITTLE | dict(width=16, depth=2, cell=4, batch=32, warmup=2)
FORECASTS: dict[str, Any] = LITTLE | dict(horizon=4, batch=8, width=8, depth=1, context=8, samples=10)
TUNING: dict[str, Any] = LITTLE | dict(batch=8)

DIFFUSION: dict[str, Any] = LITTLE | dict(width=4, stages=1, sampling_steps=3, batch=16, ema=0.5, warmup=2)
VAE: dict[str, Any] = LITTLE | dict(latents=3, width=4, batch=16, ema=0.5, warmup=2)
MLP: dict[str, Any] = LITTLE | dict(width=8, depth=2, embedding=3, pieces=8, batch=32)
CLASSIFIER: dict[str, Any] = LITTLE | dict(batch=16, width=8, vector_width=8)
SIAMESE: dict[str, Any] = LITTLE | dict(size=8, width=4, stages=2, embedding=8, ways=6, average=1, warmup=2)
SIAMESE |= dict(validation=0.25, test=0.25)
SHOP: dict[str, Any] = dict(
    data="shop.csv", series="shop", time="date", target="sold", known="promotion", static="region"
)
WORDS: dict[str, Any] = LITTLE | dict(width=12, passes=4.0, min_count=2, window=3, sample=0.0, batch=32)

WRITES = [q("generate", "the ", tokens=12, temperature=0), q("generate", "the dog", tokens=8, seed=3)]
TOKENS = [q("nearest", "d", k=4)]
TRANSLATES = [
    q("predict", ["I see 5 cats.", "I see 77 cats."]),
    q("generate", "I see 5 cats.", tokens=8),
    q("nearest", "cat", k=3),
]
CLASSES = [
    q("predict", "a good film"),
    q("predict", ["so it is", "bad"]),
    q("predict", "asked.csv"),
    q("nearest", "film", k=3),
]
ROWS = [q("predict", "asked.csv"), q("embed", "asked.csv")]
SORTS = [q("predict", "asked.npz"), q("embed", "asked.npz"), q("inputs to attack"), q("attack", epsilon=0.1)]
ALIKE = [q("predict", "asked.npz"), q("embed", "asked.npz"), q("encode", "asked.npz")]
CODES = [q("embed", "asked.npz"), q("encode", "asked.npz"), q("decode of encode", "asked.npz"), q("sample", 3, seed=2)]
FORESEES = [
    q("forecast", horizon=5, samples=20, seed=3),
    q("forecast", "asked.csv", samples=20),
    q("predict", "asked.csv"),
    q("backtest", 2, samples=20),
]
VERTICES = [
    q("predict", "p3"),
    q("predict", ["p5", "p39"]),
    q("predict", "all"),
    q("predict", "new", **ELSEWHERE),
    q("predict", **ELSEWHERE),
    q("embed", "all"),
    q("nearest", "p25", k=4),
]
GRAPHS = [q("predict", "asked.txt"), q("embed", "asked.txt")]
SMILES = [q("predict", "CCCCCO"), q("predict", ["CCC", "CCCO"]), q("embed", ["CCC", "CCCO"])]
PAIRED = [q("predict", [["p1", "p2"], ["p1", "p39"]]), q("predict", "p3"), q("embed", "all"), q("nearest", "p25", k=4)]
FILLS = [q("predict", "the [MASK] was so"), q("embed", ["the film was so", "a story"]), q("nearest", "film", k=3)]
FEELS = [
    q("predict", "a lovely film"),
    q("predict", ["the plot was dull", "so warm"]),
    q("embed", ["a lovely film", "the plot"]),
    q("nearest", "the", k=3),
]
SORTS_FOLDER = [q("predict", "photos/cat"), q("predict", "photos/dog/1.png"), q("embed", "photos/cat"), *SORTS[2:]]
FORESEES_SHOP = [q("forecast", samples=20, seed=3), q("predict", "shop.csv"), q("backtest", 1, samples=20)]
COMPARES = [
    q("predict", {"anchor": ["the film"], "positive": ["film the"]}),
    q("embed", ["the film", "a story"]),
    q("nearest", "the film", among=["film the", "very so"], k=2),
]
NEAR = [q("nearest", "cat", k=4), q("nearest", "cat - dog + one", k=3), q("embed", ["cat", "two"])]
TAGS = [
    q("predict", "the film was dull"),
    q("predict", ["a warm story"]),
    q("embed", ["the film"]),
    q("nearest", "the", k=3),
]

PLAIN: dict[str, Case] = {
    "gpt": Case("gpt", GPT | dict(data="little.txt"), [*WRITES, *TOKENS, q("embed", ["the dog", "the cake"])], texts),
    "lstm": Case("lstm", RECURRENT | dict(data="little.txt"), [*WRITES, *TOKENS], texts),
    "gru": Case("gru", RECURRENT | dict(data="little.txt"), [*WRITES, *TOKENS], texts),
    "rnn": Case("rnn", RECURRENT | dict(data="little.txt"), [*WRITES, *TOKENS], texts),
    "markov": Case(
        "markov",
        LITTLE | dict(data="little.txt", order=2, context=16, batch=8, sample_tokens=5),
        WRITES,
        texts,
    ),
    "bert": Case(
        "bert",
        LITTLE
        | dict(data="little.txt", width=16, depth=1, heads=2, context=16, batch=4, tokenizer="bpe-280", warmup=2),
        [q("predict", "the [MASK] ate"), q("embed", ["the dog", "the cake was sad"]), q("nearest", "the", k=3)],
        texts,
    ),
    "transformer": Case(
        "transformer",
        LONGER
        | dict(data="pairs.tsv", width=8, depth=1, heads=2, context=24, batch=8, tokenizer="bpe-280", warmup=2)
        | dict(validation=0.1, test=0.1, beams=2),
        [*TRANSLATES, q("embed", ["I see 5 cats.", "cats"])],
        pairs,
        stop=50,
    ),
    "tagger": Case(
        "tagger",
        LITTLE
        | dict(data="little.conllu", width=12, word_width=8, filters=6, affix_width=4, batch=8, warmup=0, ema=0.5),
        [q("predict", "The dogs bark."), q("predict", ["They walks ."]), q("predict", "asked.conllu")],
        treebank,
    ),
    "classifier": Case(
        "classifier",
        CLASSIFIER | dict(data="labelled.tsv"),
        CLASSES,
        labelled,
    ),
    "seq2seq": Case(
        "seq2seq",
        LONGER
        | dict(data="pairs.tsv", width=8, embedding=8, context=24, batch=8, tokenizer="bpe-280", warmup=2)
        | dict(validation=0.1, test=0.1, beams=2),
        TRANSLATES,
        pairs,
        stop=50,
    ),
    "wordvectors": Case(
        "wordvectors",
        WORDS | dict(data="circles.txt"),
        NEAR,
        circles,
    ),
    "linear": Case("linear", LITTLE | dict(data="table.csv", target="price"), ROWS[:1], table("price")),
    "logistic": Case("logistic", LITTLE | dict(data="table.csv", target="sold"), ROWS[:1], table("sold")),
    "softmax": Case("softmax", LITTLE | dict(data="table.csv", target="grade"), ROWS[:1], table("grade")),
    "perceptron": Case("perceptron", LITTLE | dict(data="table.csv", target="sold"), ROWS[:1], table("sold")),
    "mlp": Case(
        "mlp",
        MLP | dict(data="table.csv", target="grade"),
        ROWS,
        table("grade"),
    ),
    "masked-graph": Case(
        "masked-graph",
        LITTLE | TOWNS | dict(width=8),
        [q("predict", "p3"), q("embed", "all"), q("nearest", "p25", k=4)],
        towns,
    ),
    "masked-table": Case(
        "masked-table",
        CELLS | dict(data="table.csv"),
        [q("predict", "gaps.csv"), q("embed", "gaps.csv")],
        table_with_gaps,
    ),
    "cnn": Case("cnn", CNN | dict(data="images.npz"), SORTS, images()),
    "vit": Case("vit", VIT | dict(data="images.npz"), SORTS, images()),
    "siamese": Case(
        "siamese",
        SIAMESE | dict(data="images.npz"),
        [
            q("predict", "asked.npz"),
            q("predict", {"support": "images.npz", "images": "asked.npz"}),
            q("embed", "asked.npz"),
        ],
        kinds,
    ),
    "deepar": Case("deepar", FORECASTS | dict(data="series.csv"), FORESEES, series),
    "forecaster": Case("forecaster", FORECASTS | dict(data="series.csv", heads=2), FORESEES, series),
    "series-classifier": Case(
        "series-classifier",
        LITTLE | dict(data="waves.csv", width=8, depth=2, ema=0.5),
        [q("predict", "asked.csv")],
        waves,
    ),
    "anomaly": Case(
        "anomaly",
        LITTLE | dict(data="sensor.csv", width=8),
        [q("predict", "asked.csv"), q("forecast", horizon=4, samples=20), q("backtest", 2, samples=20)],
        sensor,
    ),
    "gcn": Case("gcn", LITTLE | TOWNS | dict(width=8), VERTICES, towns),
    "gat": Case("gat", LITTLE | TOWNS | dict(width=8, heads=2), VERTICES, towns),
    "spectral": Case("spectral", LITTLE | TOWNS | dict(width=8), VERTICES, towns),
    "grn": Case("grn", LITTLE | TOWNS | dict(width=8), VERTICES, towns),
    "graph-transformer": Case("graph-transformer", LITTLE | TOWNS | dict(width=8, heads=2, depth=1), VERTICES, towns),
    "gin": Case("gin", LITTLE | dict(data="chains.txt", width=8, depth=2, batch=16), GRAPHS, chains),
    "graph-rnn": Case(
        "graph-rnn",
        LITTLE | dict(width=8, edge_width=4, batch=8, validation=0.25, warmup=2),
        [q("sample", 3, seed=1), q("predict", "asked.npz")],
        some_rings,
        memory=rings,
    ),
    "links": Case("links", LITTLE | dict(data="edges.csv", width=8, patience=0), PAIRED, towns),
    "node2vec": Case(
        "node2vec",
        LITTLE | dict(data="edges.csv", width=8, walks=3, length=12, batch=32),
        [q("nearest", "p3", k=4), q("embed", ["p1", "p30"])],
        towns,
    ),
    "masked-image": Case(
        "masked-image",
        LITTLE | dict(data="images.npz", width=16, depth=1, heads=2, decoder_width=12, batch=16, warmup=2),
        ALIKE,
        images(),
    ),
    "contrastive": Case(
        "contrastive",
        LITTLE
        | dict(data="images.npz", width=8, depth=1, batch=16, hidden=16, projected=8, augment="shift:1", warmup=2),
        ALIKE,
        images(),
    ),
    "autoencoder": Case(
        "autoencoder", LITTLE | dict(data="images.npz", codes=3, width=8, batch=16, ema=0.5), CODES, images()
    ),
    "vae": Case("vae", VAE | dict(data="images.npz"), CODES, images(False)),
    "diffusion": Case(
        "diffusion",
        DIFFUSION | dict(data="images.npz"),
        [q("sample", 3, seed=2), q("sample", 2, steps=2)],
        images(False),
    ),
}
VARIANTS: dict[str, Case] = {
    "gpt-bpe": Case(
        "gpt",
        GPT | dict(data="little.txt", design="llama", tokenizer="bpe-280", optimizer="adamw", flow_every=4),
        [q("generate", "the dog", tokens=6, temperature=0), q("nearest", "the", k=3), q("embed", ["the dog"])],
        texts,
    ),
    "lstm-deep": Case(
        "lstm",
        RECURRENT | dict(data="little.txt", width=8, depth=2, tied=True, dropout=0.1, ema=0.5),
        [*WRITES, *TOKENS],
        texts,
    ),
    "markov-additive": Case(
        "markov",
        LITTLE | dict(data="little.txt", order=2, context=16, batch=8, sample_tokens=5, smoothing="additive"),
        WRITES,
        texts,
    ),
    "seq2seq-thought": Case(
        "seq2seq",
        LITTLE
        | dict(data="pairs.tsv", width=8, embedding=8, context=24, batch=8, tokenizer="bpe-280", warmup=2)
        | dict(validation=0.1, test=0.1, beams=2, reads="thought"),
        TRANSLATES[:2],
        pairs,
    ),
    "tagger-files": Case(
        "tagger",
        LITTLE
        | dict(data="little.conllu", width=12, word_width=8, filters=6, affix_width=4, batch=8, warmup=0)
        | dict(test_file="test.conllu", validation_file="validation.conllu", vectors="vectors.txt"),
        [q("predict", "The dogs bark."), q("predict", "asked.conllu")],
        tagged_files,
    ),
    "classifier-files": Case(
        "classifier",
        CLASSIFIER | dict(data="labelled.tsv", test_file="test.tsv", vectors="vectors.txt", model="rnn"),
        CLASSES,
        labelled_files,
    ),
    "classifier-transformer": Case(
        "classifier",
        CLASSIFIER | dict(data="labelled.tsv", model="transformer", heads=2, readers=2),
        CLASSES,
        labelled,
    ),
    "classifier-memory": Case(
        "classifier", CLASSIFIER, CLASSES, labelled, lambda: pd.read_csv("labelled.tsv", sep="\t")
    ),
    "bert-words": Case(
        "bert",
        LITTLE
        | dict(data="little.txt", width=8, depth=1, heads=2, context=16, batch=4, tokenizer="bpe-280", warmup=2)
        | dict(mask="words", accumulate=2, batch_growth=2, ema=0.5),
        [q("predict", "the [MASK] ate"), q("embed", ["the dog"]), q("nearest", "the", k=3)],
        texts,
    ),
    "wordvectors-phrases": Case(
        "wordvectors",
        WORDS | dict(data="circles.txt", phrases=1, phrase_threshold=1.0),
        [q("nearest", "counts_one", k=3), q("embed", ["counts_one"])],
        circles,
    ),
    "wordvectors-subwords": Case("wordvectors", WORDS | dict(data="circles.txt", subwords=60), NEAR, circles),
    "wordvectors-tree": Case(
        "wordvectors",
        WORDS | dict(data="circles.txt", method="skip-gram", output="hierarchical"),
        NEAR,
        circles,
    ),
    "linear-one-input": Case("linear", LITTLE | dict(data="table.csv"), ROWS[:1], one_input),
    "softmax-iris": Case("softmax", LITTLE | dict(data="iris"), ROWS[:1], irises),
    "mlp-number": Case("mlp", MLP | dict(data="table.csv", target="price"), ROWS, table("price")),
    "mlp-two-inputs": Case("mlp", MLP | dict(data="table.csv", norm="layer", residual=True), ROWS, two_inputs),
    "mlp-yes-or-no": Case("mlp", MLP | dict(data="table.csv", test_file="test.csv"), ROWS, table_and_test),
    "mlp-memory": Case(
        "mlp",
        MLP | dict(target="grade"),
        ROWS,
        table("grade"),
        lambda: little_frame()[[*INPUTS, "grade"]],
    ),
    "masked-graph-many": Case(
        "masked-graph",
        LITTLE | dict(data="chains.txt", width=8, depth=2, hide="both", batch=8),
        GRAPHS,
        chains,
    ),
    "masked-table-memory": Case(
        "masked-table",
        CELLS | dict(leave_out="sold"),
        [q("predict", "asked.csv"), q("embed", "asked.csv")],
        gaps,
        lambda: little_frame()[[*INPUTS, "sold"]],
    ),
    "cnn-digits": Case("cnn", CNN | dict(data="digits", design="residual"), SORTS, images()),
    "cnn-robust": Case("cnn", CNN | dict(data="images.npz", adversarial=0.1, adversarial_steps=2), SORTS, images()),
    "cnn-memory": Case("cnn", CNN, SORTS, images(), corners_in_colour),
    "cnn-folder": Case("cnn", CNN | dict(data="photos", size=8), SORTS_FOLDER, photos),
    "vit-mean": Case("vit", VIT | dict(data="images.npz", pooling="mean", patch=4), SORTS, images()),
    "siamese-margin": Case(
        "siamese",
        SIAMESE | dict(data="images.npz", loss="margin"),
        [q("predict", "asked.npz"), q("embed", "asked.npz")],
        kinds,
    ),
    "deepar-counts": Case("deepar", FORECASTS | SHOP, FORESEES_SHOP, shop),
    "forecaster-memory": Case(
        "forecaster",
        FORECASTS | dict(heads=2),
        FORESEES,
        series,
        lambda: pd.read_csv("series.csv", parse_dates=["date"]),
    ),
    "series-classifier-rnn": Case(
        "series-classifier",
        LITTLE | dict(data="waves.csv", width=8, depth=1, design="rnn"),
        [q("predict", "asked.csv")],
        waves,
    ),
    "gcn-values": Case("gcn", LITTLE | INCOMES | dict(width=8), VERTICES, towns),
    "gcn-sampled": Case("gcn", LITTLE | TOWNS | dict(width=8, neighbours="3,2", batch=8), VERTICES, towns),
    "gcn-learned-vectors": Case(
        "gcn",
        LITTLE | dict(data="edges.csv", vertices="names.csv", target="town", width=8),
        [q("predict", "p3"), q("predict", data="mixed.csv"), q("embed", "all"), q("nearest", "p25", k=4)],
        towns,
    ),
    "gcn-memory": Case(
        "gcn", LITTLE | dict(width=8), [q("predict", "3"), q("embed", "all"), q("nearest", "20", k=3)], memory=club
    ),
    "gat-karate": Case(
        "gat",
        LITTLE | dict(data="karate-club", width=8, heads=2),
        [q("predict", "33"), q("predict", "all"), q("embed", "all"), q("nearest", "33", k=4)],
    ),
    "gat-values": Case("gat", LITTLE | INCOMES | dict(width=8, heads=2), VERTICES, towns),
    "spectral-eigenvectors": Case(
        "spectral", LITTLE | TOWNS | dict(width=8, filters="eigenvectors", frequencies=8), VERTICES, towns
    ),
    "grn-fixed-point": Case("grn", LITTLE | TOWNS | dict(width=8, design="fixed-point"), VERTICES, towns),
    "graph-transformer-pairs": Case(
        "graph-transformer",
        LITTLE | TOWNS | dict(width=8, heads=2, depth=1, scope="pairs", frequencies=3),
        VERTICES,
        towns,
    ),
    "gcn-citations": Case(
        "gcn",
        LITTLE | dict(data="citations", width=4),
        [q("predict", "all"), q("embed", "all"), q("nearest", "paper 7", k=4)],
        stop=10,
    ),
    "gin-trees": Case("gin", LITTLE | dict(data="trees", width=8, depth=2, batch=16), [], stop=10),
    "gin-molecules": Case("gin", LITTLE | dict(data="molecules.csv", width=8, depth=2, batch=16), SMILES, molecules()),
    "gin-number": Case(
        "gin", LITTLE | dict(data="molecules.csv", width=8, depth=2, batch=16), SMILES, molecules(value=True)
    ),
    "gin-memory": Case(
        "gin",
        LITTLE | dict(width=8, depth=2, batch=8, validation=0.2, test=0.2),
        [q("predict", "asked.npz"), q("embed", "asked.npz")],
        lambda: (PLACE / "asked.npz").write_bytes(write_graph_set(open_graphs(rings_and_paths()[:6]))),
        rings_and_paths,
    ),
    "gin-clusters": Case(
        "gin",
        LITTLE | dict(data="chains.txt", width=8, depth=2, batch=16, layer="gcn", pooling="clusters", readout="mean"),
        GRAPHS,
        chains,
    ),
    "graph-rnn-independent": Case(
        "graph-rnn",
        LITTLE | dict(width=8, edge_width=4, batch=8, validation=0.25, warmup=2, edges="independent"),
        [q("sample", 3, seed=1), q("predict", "asked.npz")],
        some_rings,
        memory=rings,
    ),
    "links-features": Case(
        "links",
        LITTLE | dict(data="edges.csv", vertices="features.csv", width=8, patience=0, layer="gat"),
        [*PAIRED, q("predict", [["new", "p25"], ["new", "p3"]], **ELSEWHERE), q("predict", "new", **ELSEWHERE)],
        towns,
    ),
    "links-classes": Case(
        "links",
        LITTLE | dict(data="kinds.csv", target="kind", width=8, patience=0),
        [q("predict", [["p1", "p2"], ["p1", "p29"]]), q("embed", "all"), q("nearest", "p25", k=4)],
        labelled_edges,
    ),
    "links-values": Case(
        "links",
        LITTLE | dict(data="stars.csv", target="stars", width=8, patience=0),
        [
            q("predict", [["person 1", "film 2"]]),
            q("predict", "person 3"),
            q("embed", "all"),
            q("nearest", "film 2", k=4),
        ],
        labelled_edges,
    ),
    "node2vec-karate": Case(
        "node2vec",
        LITTLE | dict(data="karate-club", width=8, walks=3, length=12, batch=32, away=2.0),
        [q("nearest", "33", k=4), q("embed", ["0", "33"])],
    ),
    "masked-image-unlabelled": Case(
        "masked-image",
        LITTLE | dict(data="images.npz", width=8, depth=1, heads=2, decoder_width=8, batch=16, warmup=2),
        ALIKE,
        images(False),
    ),
    "contrastive-vit": Case(
        "contrastive",
        LITTLE
        | dict(data="images.npz", encoder="vit", width=8, depth=1, heads=2, batch=16, hidden=16, projected=8)
        | dict(augment="shift:1", warmup=2),
        ALIKE,
        images(),
    ),
    "autoencoder-binary": Case(
        "autoencoder",
        LITTLE | dict(data="images.npz", codes=6, code="binary", design="conv", width=4, depth=1, batch=16, noise=0.1),
        CODES,
        images(),
    ),
    "autoencoder-linear": Case(
        "autoencoder", LITTLE | dict(data="images.npz", codes=2, design="linear", batch=16), CODES, images(False)
    ),
    "vae-labels": Case(
        "vae",
        VAE | dict(data="images.npz", design="dense", width=8),
        [*CODES, q("sample", 2, label="west", seed=1)],
        images(),
    ),
    "vae-gaussian": Case(
        "vae", VAE | dict(data="images.npz", design="dense", width=8, likelihood="gaussian"), CODES, images(False)
    ),
    "diffusion-labels": Case(
        "diffusion",
        DIFFUSION | dict(data="images.npz", optimizer="sgd"),
        [q("sample", 4, seed=2), q("sample", 2, label="west", guidance=2.0, steps=2), q("sample", 2, guidance=0.0)],
        images(),
    ),
    "diffusion-noise": Case(
        "diffusion",
        DIFFUSION
        | dict(
            data="images.npz",
            ema=0.0,
            optimizer="sgd",
            predicts="noise",
            noise_schedule="cosine",
            sampler="ddpm",
            conditional=False,
        ),
        [q("sample", 3, seed=2)],
        images(),
    ),
}
TUNINGS: dict[str, Case] = {
    "tuned-classify": Case("tuned-classify", TUNING | dict(data="reviews.csv", lora=2, rate=3e-3), FEELS, bert_run),
    "tuned-classify-head": Case("tuned-classify", TUNING | dict(data="reviews.csv", head_only=True), FEELS, bert_run),
    "tuned-classify-full": Case(
        "tuned-classify", TUNING | dict(data="reviews.csv", full=True, layer_decay=0.8), FEELS, bert_run
    ),
    "tuned-classify-last": Case("tuned-classify", TUNING | dict(data="reviews.csv", last=1), FEELS, bert_run),
    "tuned-classify-adapter": Case(
        "tuned-classify", TUNING | dict(data="reviews.csv", adapter=3, pooling="mean"), FEELS, bert_run
    ),
    "tuned-classify-dora": Case(
        "tuned-classify",
        TUNING | dict(data="reviews.csv", lora=2, dora=True, self_contained=True),
        FEELS,
        bert_checkpoint(),
    ),
    "tuned-classify-gpt": Case(
        "tuned-classify",
        TUNING | dict(data="reviews.csv", task="classify", lora=2),
        [*FEELS[:3], q("nearest", "f", k=3)],
        gpt_run_on_reviews,
    ),
    "tuned-classify-again": Case("tuned-classify", TUNING | dict(data="reviews.csv", lora=2), FEELS, tuned_run),
    "tuned-classify-memory": Case(
        "tuned-classify", TUNING | dict(lora=2), FEELS, bert_run, lambda: pd.read_csv("reviews.csv")
    ),
    "tuned-tag": Case("tuned-tag", TUNING | dict(data="words.conll", lora=2), TAGS, bert_run),
    "tuned-tag-head": Case("tuned-tag", TUNING | dict(data="words.conll", head_only=True), TAGS, bert_run),
    "tuned-language": Case(
        "tuned-language",
        TUNING | dict(data="little.txt", lora=2, context=16, sample_tokens=4),
        [*WRITES, *TOKENS, q("embed", ["the dog"])],
        gpt_run,
    ),
    "tuned-language-masked": Case(
        "tuned-language", TUNING | dict(data="words.txt", lora=2, context=16), FILLS, bert_run
    ),
    "tuned-language-new-head": Case(
        "tuned-language", TUNING | dict(data="words.txt", lora=2, context=16), FILLS, bert_checkpoint(pooler=True)
    ),
    "tuned-chat": Case(
        "tuned-chat",
        TUNING | dict(data="chats.jsonl", lora=2, context=32, sample_tokens=4),
        [
            q("generate", "the film", tokens=4, temperature=0),
            q("generate", [{"role": "user", "content": "the story"}], tokens=4, temperature=0),
            q("embed", ["the film"]),
            q("nearest", "film", k=3),
        ],
        gpt_checkpoint,
    ),
    "tuned-images": Case("tuned-images", TUNING | dict(data="images.npz", full=True), SORTS, cnn_run),
    "tuned-images-head": Case("tuned-images", TUNING | dict(data="images.npz", head_only=True), SORTS, cnn_run),
    "tuned-images-contrastive": Case("tuned-images", TUNING | dict(data="images.npz", last=1), SORTS, contrastive_run),
    "tuned-images-vit": Case("tuned-images", TUNING | dict(data="images.npz", lora=2), SORTS, vit_run),
    "tuned-pairs": Case("tuned-pairs", TUNING | dict(data="pairs.csv", task="pairs", full=True), COMPARES, bert_run),
    "tuned-pairs-texts": Case(
        "tuned-pairs", TUNING | dict(data="texts.txt", task="pairs", full=True), COMPARES, bert_checkpoint()
    ),
    "tuned-pairs-scored": Case(
        "tuned-pairs", TUNING | dict(data="scored.csv", task="pairs", lora=2), COMPARES, bert_checkpoint()
    ),
    "tuned-vertices": Case("tuned-vertices", TUNING | TOWNS | dict(task="vertices", full=True), VERTICES, vertices_run),
    "tuned-vertices-values": Case(
        "tuned-vertices", TUNING | INCOMES | dict(task="vertices", lora=2), VERTICES, vertices_run
    ),
    "tuned-vertices-gcn": Case("tuned-vertices", TUNING | TOWNS | dict(head_only=True), VERTICES, gcn_run),
    "tuned-graphs": Case("tuned-graphs", TUNING | dict(data="chains.txt", lora=2), GRAPHS, chains_run),
    "tuned-graphs-number": Case("tuned-graphs", TUNING | dict(data="molecules.csv", last=1), SMILES, gin_run),
    "tuned-graphs-head": Case("tuned-graphs", TUNING | dict(data="chains.txt", head_only=True), GRAPHS, chains_run),
    "tuned-table": Case("tuned-table", TUNING | dict(data="table.csv", target="sold", full=True), ROWS, cells_run),
    "tuned-table-number": Case(
        "tuned-table", TUNING | dict(data="prices.csv", target="price", head_only=True), ROWS, cells_run
    ),
}
IMPORTS: dict[str, Case] = {
    "imported": Case(
        "imported",
        dict(data="checkpoint"),
        [q("generate", "the film", tokens=6, temperature=0), q("embed", ["the film"]), q("nearest", "film", k=3)],
        checkpoint,
        test=False,
    ),
    "imported-bert": Case("imported", dict(data="base"), FILLS, bert_checkpoint(head=HeadSpec("masked")), test=False),
    "imported-vectors": Case(
        "imported-vectors",
        dict(data="glove.txt"),
        [q("nearest", "king - man + woman", k=2), q("embed", ["king", "apple"])],
        vectors,
        test=False,
    ),
}
CASES = PLAIN | VARIANTS | TUNINGS | IMPORTS


# Making an archive.


def make(name: str, case: Case) -> Path:
    """Trains, stops, asks, and packs it all."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            os.environ["CUTAWAY_CACHE"] = os.path.join(folder, ".cache")
            torch.manual_seed(0)
            case.write()
            expected = _made(name, case)
            for config in Path(".").glob("*/config.json"):
                _without_places(config.parent, os.path.realpath(folder), folder)
            Path("expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False), encoding="utf-8")
            return _packed(HERE / f"{name}.zip", folder)
        finally:
            os.chdir(before)


def _made(name: str, case: Case) -> dict[str, Any]:
    expected: dict[str, Any] = {"recipe": case.recipe, "cutaway": cut.__version__, "commit": _commit()}
    _train(case, "finished")
    if case.recipe not in IMPORTED:
        try:
            _train(case, "stopped", [StopAt(case.stop)])
            print("    it did not stop", file=sys.stderr)
        except Stopped:
            pass
    run = cut.load("finished")
    questions = [_answered(run, question) for question in case.questions]
    _tell_unasked(run, case)
    expected["finished"] = {
        "metrics": last_rows(run),
        "verbs": [verb for verb in verbs_offered(run) if verb in _methods(case)],  # some are offered and then refused
        "views": views_that_suit(run),
        "methods": _methods(case),
        "files": _files("finished"),
        "questions": questions,
    }
    if case.test:
        expected["finished"]["test"] = told(run.test())
        Path("finished/test.json").unlink()  # the test is to be read again
    if name != "gpt":
        shutil.rmtree("finished/state", ignore_errors=True)  # most of the bytes; one that is kept stands for all
    if Path("stopped").exists():
        run = cut.load("stopped")
        expected["stopped"] = {
            "course": course(run),
            "files": _files("stopped"),
            "question": _answered(run, case.questions[0]) if case.questions else None,
        }
    return expected


def _train(case: Case, out: str, callbacks: Any = ()) -> None:
    settings = dict(case.settings)
    if case.memory is not None:
        settings["data"] = case.memory()
    if case.recipe in IMPORTED:
        import_checkpoint(settings["data"], out)
    elif case.recipe in TUNED:
        cut.tune("base", out=out, show="quiet", callbacks=callbacks, **settings)
    else:
        cut.train(case.recipe, out=out, show="quiet", callbacks=callbacks, **settings)


def _answered(run: Any, question: dict[str, Any]) -> dict[str, Any]:
    return question | {"answer": told(ask(run, question))}


def _tell_unasked(run: Any, case: Case) -> None:
    """Names the methods that the run may have and that nothing was asked of."""
    for name in (name for name in METHODS if name not in (*_methods(case), "test")):
        given: dict[str, Any] = {"embed": ["the"], "nearest": "the", "encode": "asked.npz", "decode": [[0.0]]}
        try:
            getattr(run, name)(*([given.get(name, "the")] if name not in ("sample", "forecast", "backtest") else []))
            print(f"    {name} answers and was not asked", file=sys.stderr)
        except Exception as error:
            if "cannot" not in str(error):
                print(f"    {name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)


def _methods(case: Case) -> list[str]:
    """The methods of a run that answered."""
    asked = {word for question in case.questions for word in question["ask"].split()} & set(METHODS)
    return sorted(asked | {"test"} if case.test else asked)


def _files(folder: str) -> list[str]:
    files = (path.relative_to(folder) for path in Path(folder).rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in files if not path.name.startswith("."))


def _commit() -> str:
    """The last commit that changed the library."""
    command = ["git", "log", "-1", "--format=%h", "--", "cutaway"]
    return subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, check=True).stdout.strip()


def _without_places(run: Path, *places: str) -> None:
    """Cuts absolute paths in the files of a run to what they are in its folder's folder."""
    changed = False
    for path in [path for path in run.rglob("*") if path.suffix in (".json", ".jsonl", ".txt")]:
        text = path.read_text(encoding="utf-8")
        short = text
        for place in places:
            short = short.replace(f"{place}/", "").replace(place, ".")
        if short != text:
            if path != run / "config.json":
                raise SystemExit(f"{path} names its place: say here how its checksum is made anew")
            path.write_text(short, encoding="utf-8")
            changed = True
    if changed and (run / CHECKSUMS).exists():
        listed = json.loads((run / CHECKSUMS).read_text(encoding="utf-8"))
        del listed[CHECKSUMS]
        listed |= list_checksums(run, [run / "config.json"])
        whole = {**listed, CHECKSUMS: {"bytes": 0, "crc32": crc32_of_json(listed)}}
        (run / CHECKSUMS).write_text(json.dumps(whole, indent=2), encoding="utf-8")


def _packed(archive: Path, place: str) -> Path:
    """All files of the working folder in an archive; no date, so that the same files give the same archive."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(Path(".").rglob("*")):
            if path.is_file() and not any(part.startswith(".") for part in path.parts):
                content = path.read_bytes()
                for known in (place, os.path.realpath(place), str(HERE.parents[1]), str(Path.home())):
                    if known.encode() in content:
                        raise SystemExit(f"{path} names {known}")
                entry = zipfile.ZipInfo(path.as_posix())
                entry.compress_type = zipfile.ZIP_DEFLATED
                packed.writestr(entry, content, compresslevel=9)
    return archive


def main(names: list[str]) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    execution.report_run = lambda run: None  # report.html takes long to draw, and is drawn again when it is missing
    if missing := (RECIPES | TUNED | IMPORTED).keys() - {case.recipe for case in CASES.values()}:
        print(f"without an archive: {', '.join(sorted(missing))}", file=sys.stderr)
    failed = []
    for name in names or CASES:
        if (HERE / f"{name}.zip").exists():
            print(f"{name}: is there already, and stays as it is", flush=True)
            continue
        try:
            path = make(name, CASES[name])
            print(f"{name}: {path.stat().st_size:,} bytes", flush=True)
        except Exception as error:
            failed.append(name)
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            if os.environ.get("TRACE"):
                raise
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
