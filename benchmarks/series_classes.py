"""`series-classifier` on data of the UEA & UCR archives, beside the published InceptionTime and the nearest series.

The data are those that the package aeon carries; its own results file has InceptionTime's accuracy on the same split.
"""

import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import cutaway as cut

NAMES = ("GunPoint", "ItalyPowerDemand", "ArrowHead", "OSULeaf", "BasicMotions", "JapaneseVowels")
RESULTS = "testing/example_results_files/classification/accuracy/InceptionTime_accuracy.csv"


def main() -> None:
    found = find_spec("aeon")
    if found is None or found.origin is None:
        print("series_classes: needs the data of the package aeon, which is not installed; pip install aeon")
        return
    place = Path(found.origin).parent
    published = {}
    for line in (place / RESULTS).read_text().splitlines()[1:]:
        name, first, *_ = line.split(",")
        published[name] = float(first)
    for name in NAMES:
        folder = place / "datasets" / "data" / name
        with tempfile.TemporaryDirectory() as out:
            start = time.process_time()
            run = cut.train(
                "series-classifier",
                data=str(folder / f"{name}_TRAIN.ts"),
                test_file=str(folder / f"{name}_TEST.ts"),
                validation=0.0,
                out=Path(out) / "run",
                show="quiet",
            )
            seconds, found_here = time.process_time() - start, run.test()
        peer = f"{published[name]:.3f}" if name in published else "none published here"
        print(
            f"series_classes {name}: accuracy {found_here['accuracy']:.3f}, InceptionTime {peer}, nearest training "
            f"series {found_here['baseline_accuracy']:.3f}; {seconds:.0f} s of processor time"
        )


if __name__ == "__main__":
    main()
