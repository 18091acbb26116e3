"""All benchmarks, or those named: python benchmarks/run.py quiet_taps decoding"""

import sys
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def main() -> None:
    known = sorted(
        p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in ("run", "step_memory", "timing", "trials")
    )
    asked = sys.argv[1:] or known
    for name in asked:
        if name not in known:
            sys.exit(f"a benchmark must be one of {', '.join(known)}, got {name!r}")
        import_module(name).main()


if __name__ == "__main__":
    main()
