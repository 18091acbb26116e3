"""`cutaway look` on a model of 135 million parameters: seconds, and how many forward passes that is. Aim: 20 s, 5 MB.

A Llama of 30 layers with random weights and a BPE tokenizer of 49,152 tokens, learned from Python's own library; both
are made anew in a temporary folder. The page is made in a process of its own, as the command line does.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from timing import compare, show

import cutaway as cut
from cutaway.data.text.tokenizers import train_bpe
from cutaway.models import GPT

TOKENS = 49_152
PROMPT = "The cat sat on the"
SOURCE = 30_000_000  # characters of Python's library, enough for that many tokens


def library_text() -> Iterator[str]:
    """Python's own library, file by file."""
    total = 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if total < SOURCE and "site-packages" not in path.parts:
            text = path.read_text(encoding="utf-8", errors="replace")
            total += len(text)
            yield text


def make_run(folder: Path) -> Path:
    """A run folder of the model, as `cutaway import` makes it."""
    torch.manual_seed(0)
    sizes = dict(width=576, depth=30, heads=9, kv_heads=3, hidden=1536, context=2048, tied=True)
    cut.save_pretrained(GPT.llama(vocabulary=TOKENS, **sizes), folder / "checkpoint")
    train_bpe(library_text(), TOKENS).save(folder / "checkpoint")
    return cut.runs.import_checkpoint(str(folder / "checkpoint"), str(folder / "run")).path


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = make_run(Path(folder))
        run = cut.load(path)
        tokens = torch.from_numpy(run.tokenizer.encode(PROMPT))[None]
        with torch.no_grad():
            forward = compare({"forward": lambda: run.model(tokens)})["forward"]
        started = time.perf_counter()
        # an installed cutaway, or the one of this folder
        environment = os.environ | {"PYTHONPATH": str(Path(cut.__file__).parents[1])}
        subprocess.run([sys.executable, "-m", "cutaway", "look", str(path), PROMPT], check=True, env=environment)
        seconds = time.perf_counter() - started
        size = (path / "look.html").stat().st_size / 1e6
    show(
        f"cutaway look: 30 layers, width 576, {run.tokenizer.vocabulary:,} tokens, a prompt of {tokens.shape[1]}",
        [
            ("seconds, start of Python and all (aim ≤ 20)", f"{seconds:.1f}"),
            ("in forward passes of the prompt", f"{seconds / forward:.0f}"),
            ("megabytes of the page (aim ≤ 5)", f"{size:.1f}"),
        ],
    )


if __name__ == "__main__":
    main()
