"""Loading a checkpoint of 538 MB and one of 498 MB, against transformers, each in a process of its own, turn by turn.

CPU seconds of the call alone (imports come before it), and the memory that it leaves: its *own*, to which a mapped file
does not count, and *all* that is resident, where the pages of the file that were touched count too.
Aim: at most 1.5 times the CPU seconds of transformers, and no second copy of the weights in memory.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import transformers
from timing import show

TURNS = 5
SHAPES = {
    "SmolLM2-135M": transformers.LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        tie_word_embeddings=True,
    ),
    "GPT-2-small": transformers.GPT2Config(),
}
ONE_TURN = """
import json, os, sys, time
import torch, cutaway.hub, transformers
torch.set_num_threads(2)

def memory():
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return [int(lines[key].split()[0]) / 1024 for key in ("RssAnon", "VmRSS", "VmHWM")]

load = {"cutaway": cutaway.hub.from_pretrained, "transformers": transformers.AutoModelForCausalLM.from_pretrained}
transformers.logging.disable_progress_bar()
transformers.AutoModelForCausalLM, transformers.GPT2LMHeadModel, transformers.LlamaForCausalLM  # imported now
before, started = memory(), time.process_time()
model = load[sys.argv[1]](sys.argv[2])
seconds, after = time.process_time() - started, memory()
started = time.process_time()
with torch.no_grad():
    model(torch.arange(8)[None])
used = memory()
print(json.dumps({
    "seconds": seconds,
    "own": after[0] - before[0],
    "all": after[1] - before[1],
    "own after a pass": used[0] - before[0],
    "peak": used[2] - before[1],
}))
"""


def measure(library: str, folder: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", ONE_TURN, library, folder], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    for name, config in SHAPES.items():
        with tempfile.TemporaryDirectory() as folder:
            transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
            size = (Path(folder) / "model.safetensors").stat().st_size / 1e6
            turns: dict[str, list[dict[str, float]]] = {"cutaway": [], "transformers": []}
            for _ in range(TURNS):
                for library, rows in turns.items():
                    rows.append(measure(library, folder))
        middle = {
            library: {key: statistics.median(row[key] for row in rows) for key in rows[0]}
            for library, rows in turns.items()
        }
        ratio = middle["cutaway"]["seconds"] / middle["transformers"]["seconds"]
        rows = [
            (
                library,
                f"{found['seconds']:.2f} CPU s; memory of its own +{found['own']:.0f} MiB (after a pass "
                f"+{found['own after a pass']:.0f}), resident +{found['all']:.0f}, peak +{found['peak']:.0f}",
            )
            for library, found in middle.items()
        ]
        show(
            f"Loading {name}, {size:.0f} MB; transformers {transformers.__version__}",
            [*rows, ("CPU seconds, ours / theirs (aim ≤ 1.5)", f"{ratio:.2f}")],
        )


if __name__ == "__main__":
    main()
