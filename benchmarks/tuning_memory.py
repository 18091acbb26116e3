"""The memory and the disk of tuning a model of SmolLM2-135M's shape (random weights), beside peft doing the same steps.

Each run is a process of its own; its peak is the most memory that was resident (`ru_maxrss`), mapped files included.
Ours is `cutaway tune` with its evaluations, checkpoints, weights and report; peft's is a bare loop: the same texts,
batches of the same size padded to their longest, LoRA of the same rank on the same layers and a head, AdamW, then the
adapter is saved.

`python benchmarks/run.py tuning_memory`; needs the data, transformers and peft, and about ten minutes of one thread.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

DATA = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data")) / "text"
TEXTS, BATCH, STEPS, RANK = 320, 16, 16, 8

_END = """
import resource
print("PEAK", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
OURS = """
import sys, cutaway as cut
base, data, out, how = sys.argv[1:5]
settings = eval(how)
report = settings.pop("report", True)
if not report:
    from cutaway.runs import execution
    execution._report = lambda run: None
cut.tune(base, data=data, out=out, show="quiet", **settings)
"""
PEFT = """
import sys, csv, torch, transformers, peft
base, data, out, how = sys.argv[1:5]
settings = eval(how)
torch.manual_seed(0)
rows = list(csv.reader(open(data, encoding="utf-8")))[1:]
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=base + "/tokenizer.json", pad_token="<pad>")
model = transformers.AutoModelForSequenceClassification.from_pretrained(base, num_labels=2, pad_token_id=0)
if not settings.get("full"):
    rank = settings["lora"]
    wanted = peft.LoraConfig(task_type="SEQ_CLS", r=rank, lora_alpha=rank, target_modules="all-linear")
    model = peft.get_peft_model(model, wanted)
rate = 1e-4 if settings.get("full") else 2e-3
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], rate)
model.train()
for step in range(settings["steps"]):
    batch = [rows[(step * settings["batch"] + i) % len(rows)] for i in range(settings["batch"])]
    inputs = tokenizer([text for text, _ in batch], padding=True, truncation=True, max_length=256, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    labels = torch.tensor([int(label == "pos") for _, label in batch])
    model(**inputs, labels=labels).loss.backward()
    optimizer.step(); optimizer.zero_grad()
model.save_pretrained(out)
"""


def write_base(folder: Path, texts: list[str]) -> None:
    """A Llama of SmolLM2-135M's shape with random weights, and a tokenizer of bytes and their frequent pairs."""
    import tokenizers
    import torch
    import transformers

    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    config = transformers.LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=8000, special_tokens=["<pad>", "<s>", "</s>"], show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    made.save(str(folder / "tokenizer.json"))


def write_data(path: Path, count: int) -> list[str]:
    """Sentences of reviews (Pang and Lee 2005) with their labels, turn by turn; returns all sentences."""
    with zipfile.ZipFile(DATA / "sentence_polarity.zip") as archive:
        found = {}
        for label in ("pos", "neg"):
            name = next(n for n in archive.namelist() if n.endswith(label) or n.endswith(f"{label}.txt"))
            found[label] = archive.read(name).decode("latin-1").splitlines()
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for i in range(count):
            label = "pos" if i % 2 else "neg"
            writer.writerow([found[label][i // 2], label])
    return found["pos"] + found["neg"]


def measure(code: str, *arguments: object) -> float:
    """The peak of a process in MB."""
    done = subprocess.run(
        [sys.executable, "-c", code + _END, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    return float(done.stdout.rsplit("PEAK", 1)[1])


def size_of(folder: Path) -> float:
    """Megabytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main() -> None:
    with tempfile.TemporaryDirectory() as room:
        place = Path(room)
        texts = write_data(place / "texts.csv", TEXTS)
        write_data(place / "few.csv", 32)
        write_base(place / "base", texts)
        print(f"base: {size_of(place / 'base'):,.0f} MB", flush=True)
        common = {"task": "classify", "steps": STEPS, "batch": BATCH}
        ways = {
            "lora": ("texts.csv", common | {"lora": RANK}),
            "lora, no report": ("texts.csv", common | {"lora": RANK, "report": False}),
            "head only": ("texts.csv", common | {"head_only": True}),
            "full, 32 texts": ("few.csv", common | {"full": True, "steps": 3}),
        }
        chosen = sys.argv[1:] or list(ways)
        for number, name in enumerate(chosen):
            data, settings = ways[name]
            out = place / f"run-{number}"
            peak = measure(OURS, place / "base", place / data, out, settings)
            print(
                json.dumps({"way": name, "who": "cutaway", "peak MB": round(peak), "disk MB": round(size_of(out), 1)}),
                flush=True,
            )
            if name in ("lora", "full, 32 texts"):
                out = place / f"peft-{number}"
                peak = measure(PEFT, place / "base", place / data, out, settings)
                print(
                    json.dumps(
                        {
                            "way": name,
                            "who": "peft" if name == "lora" else "transformers",
                            "peak MB": round(peak),
                            "disk MB": round(size_of(out), 1),
                        }
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main()
