"""Answers by tuning: a small `gpt` that read summaries of Wikipedia learns to say what a title is.

Each conversation asks "What is TITLE?" and is answered by the first sentence of the summary. What is asked about is not
among the summaries that the base read. −log p a token of the answers, one seed, on 500 test conversations read once:

    before      the base as it is
    LoRA        rank 8 on all linear layers
    full        every weight
    untrained   every weight, from a base that read nothing: what pretraining is worth

`python benchmarks/run.py chat_answers`; needs the data, and takes about four minutes of one thread.
"""

import json
import lzma
import os
import random
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from text_pairs import no_page

import cutaway as cut
from cutaway.runs import execution

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "text"
BASE: dict[str, Any] = dict(tokenizer="bpe-4000", context=64, evaluate_every=1000, checkpoint_every=3000)
TUNE: dict[str, Any] = dict(task="chat", epochs=2, context=64, evaluate_every=10_000, sample_tokens=40, show="quiet")
CHATS, TEST = 3_000, 500


def write_data(folder: Path) -> None:
    """Summaries for the base, and conversations about others."""
    rows = lzma.decompress((DATA / "wiki_vital_summaries_en.tsv.xz").read_bytes()).decode().splitlines()
    found = [(title, re.split(r"(?<=[a-z)])\. ", text)[0].rstrip(".") + ".", text) for title, _, text in
             (row.split("\t", 2) for row in rows) if title in text]  # fmt: skip
    random.Random(0).shuffle(found)
    chats, read = found[: CHATS + TEST], found[CHATS + TEST :]
    (folder / "wiki.txt").write_text("\n\n".join(text for _, _, text in read), encoding="utf-8")
    for name, part in (("train", chats[:CHATS]), ("test", chats[CHATS:])):
        lines = [json.dumps({"prompt": f"What is {title}?", "response": first}) for title, first, _ in part]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")


def main() -> None:
    if not DATA.is_dir():
        print(f"chat_answers: needs wiki_vital_summaries_en.tsv.xz in {DATA}")
        return
    torch.set_num_threads(1)
    execution.report_run = no_page
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder)
        text = str(folder / "wiki.txt")
        bases = {}
        for kind, steps in (("read", 600), ("untrained", 1)):
            began = time.process_time()
            bases[kind] = cut.train("gpt", data=text, out=folder / kind, steps=steps, show="quiet", **BASE)
            print(f"base {kind}: {steps} steps, {time.process_time() - began:.0f} s", flush=True)
        ways: dict[str, tuple[str, dict[str, Any]]] = {
            "LoRA": ("read", {"lora": 8}),
            "full": ("read", {"full": True, "rate": 1e-3}),
            "untrained": ("untrained", {"full": True, "rate": 3e-3}),
        }
        for row, (base, way) in ways.items():
            began = time.process_time()
            out = folder / f"tuned-{row}"
            run = cut.tune(bases[base], data=folder / "train.jsonl", out=out, validation=0.1, test=0.0, **way, **TUNE)
            if row == "LoRA":
                print(f"before: {held_out(run, bases['read'].model):.3f}")
            shown = run.generate("What is Jupiter?", tokens=30, temperature=0)
            tuning = run.about["data"]["tuning"]
            print(
                f"{row}: {held_out(run, run.model):.3f}, {tuning['trained']:,} of {tuning['parameters']:,} trained, "
                f"{time.process_time() - began:.0f} s, {shown!r}",
                flush=True,
            )


def held_out(run: Any, model: Any) -> float:
    """−log p a token of the test answers, the conversations written as the tuned run writes them."""
    from cutaway.data.text.chat.conversations import encode_conversations, read_conversations
    from cutaway.tuning.learners.chat import answer_loss

    path = run.path.parent / "test.jsonl"
    asked = read_conversations(str(path), 0.0, 0.0, 0, "utf-8").splits.train
    return answer_loss(model.eval(), encode_conversations(run.tokenizer, asked, TUNE["context"]))["loss"]


if __name__ == "__main__":
    main()
