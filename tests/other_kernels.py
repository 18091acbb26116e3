"""The numeric tests with other kernels than this machine's own: `make kernels`.

A kernel decides in which order a product is summed, and so how it is rounded: torch, oneDNN, OpenBLAS and MKL each
choose one by the processor. A test that holds for one order alone fails on the next machine. Here the tests marked
`kernels` run once with each of three families of kernels, and each setting is first seen to be in effect.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import NamedTuple

# The numeric tests: those of these folders and modules are marked `kernels`.
NUMERIC = (
    *("blocks", "models", "inside", "data/graphs/spectra", "training/optimizers", "training/attacks"),
    *("test_battery.py", "test_depth.py", "test_equivalences.py"),
)


class Family(NamedTuple):
    """One family of kernels: what the libraries are told, and what they say of themselves when it is in effect."""

    needs: str  # the least that the processor must have, as torch spells it
    threads: int
    told: dict[str, str]
    expected: dict[str, str]


FAMILIES = {
    "plain": Family(
        "DEFAULT",
        1,
        {
            "ATEN_CPU_CAPABILITY": "default",
            "ONEDNN_MAX_CPU_ISA": "SSE41",
            "OPENBLAS_CORETYPE": "Nehalem",
            "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
            "MKL_CBWR": "COMPATIBLE",  # heeded by MKL on any processor; the line above by Intel's alone
        },
        {"torch": "DEFAULT", "onednn": "SSE4.1", "openblas": "Nehalem", "mkl": "COMPATIBLE"},
    ),
    "avx2": Family(
        "AVX2",
        2,
        {
            "ATEN_CPU_CAPABILITY": "avx2",
            "ONEDNN_MAX_CPU_ISA": "AVX2",
            "OPENBLAS_CORETYPE": "Haswell",
            "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        },
        {"torch": "AVX2", "onednn": "AVX2", "openblas": "Haswell", "mkl": "OFF"},
    ),
    "avx512": Family(
        "AVX512",
        1,
        {
            "ATEN_CPU_CAPABILITY": "avx512",
            "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
            "OPENBLAS_CORETYPE": "SkylakeX",
            "MKL_ENABLE_INSTRUCTIONS": "AVX512",
        },
        {"torch": "AVX512", "onednn": "AVX-512", "openblas": "SkylakeX", "mkl": "OFF"},
    ),
}
LEVELS = ["DEFAULT", "AVX2", "AVX512"]

# Asked of a process of its own: the libraries read their settings once, when they are loaded.
_QUESTION = """
import json, numpy, scipy.linalg, threadpoolctl, torch
libraries = threadpoolctl.threadpool_info()
blas = sorted({library["architecture"] for library in libraries if library["internal_api"] == "openblas"})
torch.ones(64, 64) @ torch.ones(64, 64)
torch.nn.functional.conv2d(torch.ones(8, 32, 32, 32), torch.ones(64, 32, 3, 3))
capability, threads = torch.backends.cpu.get_cpu_capability(), str(torch.get_num_threads())
print("said", json.dumps({"torch": capability, "openblas": " ".join(blas), "threads": threads}))
"""


def environment(family: Family) -> dict[str, str]:
    """The variables of a process that computes with this family's kernels."""
    threads = str(family.threads)
    # Threads of two processes that spin while they wait would slow each other down.
    own = {"OMP_NUM_THREADS": threads, "CUTAWAY_TEST_THREADS": threads, "OMP_WAIT_POLICY": "passive"}
    return {**os.environ, **family.told, **own}


def kernels_in_effect(variables: Mapping[str, str]) -> dict[str, str]:
    """What torch, oneDNN, OpenBLAS and MKL say of themselves in a process with these variables."""
    asked = {**variables, "ONEDNN_VERBOSE": "1", "MKL_VERBOSE": "1"}
    answer = subprocess.run([sys.executable, "-c", _QUESTION], env=asked, capture_output=True, text=True, check=True)
    said = json.loads(next(line for line in answer.stdout.splitlines() if line.startswith("said "))[5:])
    for library, pattern in {"onednn": r"info,cpu,isa:(.*)", "mkl": r"CNR:(\w+)"}.items():
        match = re.search(pattern, answer.stdout)
        said[library] = match[1] if match else "not used by this build of torch"
    return said


def not_in_effect(family: Family, said: Mapping[str, str]) -> list[str]:
    """One sentence for each library that computes otherwise than it was told. A library that is not used has none."""
    expected = {**family.expected, "threads": str(family.threads)}
    return [
        f"{library} should say {words!r}, it says {said[library]!r}"
        for library, words in expected.items()
        if words not in said[library] and not said[library].startswith("not used")
    ]


def possible(family: Family, processor: str) -> bool:
    """Whether a processor with these instructions can run the kernels of this family."""
    return LEVELS.index(family.needs) <= LEVELS.index(processor)


def main(jobs: str = "2") -> int:
    own = {name: value for name, value in os.environ.items() if name not in FAMILIES["plain"].told}
    processor = kernels_in_effect(own)["torch"]
    failed = []
    for name, family in FAMILIES.items():
        if not possible(family, processor):
            print(f"{name}: left out, this processor has {processor} at most", flush=True)
            continue
        began, variables = time.monotonic(), environment(family)
        said = kernels_in_effect(variables)
        wrong = not_in_effect(family, said)
        print(f"{name}: {', '.join(f'{library} {words}' for library, words in said.items())}", flush=True)
        if wrong:
            print("\n".join(wrong), flush=True)
            failed.append(name)
            continue
        tests = [sys.executable, "-m", "pytest", "-n", jobs, "-m", "kernels and not slow and not long and not untyped"]
        # Types are checked by `make test`; without them the same numbers are computed in half of the time.
        if subprocess.run(tests, env={**variables, "CUTAWAY_TYPECHECK": "0"}).returncode:
            failed.append(name)
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    if failed:
        print(f"failed with the kernels of {', '.join(failed)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
