"""The house itself: what importing costs, which way imports point, that no file hides an exported name."""

import ast
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cutaway

ROOT = Path(cutaway.__file__).parent
MODULES = sorted(
    ".".join(["cutaway", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if path.name != "__main__.py"
)


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported_by(code: str) -> set[str]:
    out = run_python(f"import sys\n{code}\nprint(' '.join(sys.modules))")
    return {name.split(".")[0] for name in out.splitlines()[-1].split()}


def test_importing_cutaway_imports_nothing_heavy():
    assert not imported_by("import cutaway") & {"torch", "numpy", "pandas", "altair", "tyro", "rich"}


def test_help_imports_nothing_heavy():
    code = "from cutaway.cli import run\nimport contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()): run([])"
    assert not imported_by(code) & {"torch", "numpy", "pandas", "altair", "tyro", "rich"}


def test_recipe_settings_import_without_torch():
    code = "from cutaway.recipes.index import RECIPES, find_recipe\nfor name in RECIPES: find_recipe(name)"
    assert not imported_by(code) & {"torch", "pandas", "altair", "transformers"}


@pytest.mark.parametrize("seed", range(3))
def test_public_names_survive_any_order_of_imports(seed: int):
    """A sub-module that carries an exported name would replace it in its package once imported."""
    names = list(MODULES)
    random.Random(seed).shuffle(names)
    run_python(
        "import importlib, types, cutaway\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "parts = set(cutaway._PARTS)\n"
        "for name in cutaway.__all__:\n"
        "    is_module = isinstance(getattr(cutaway, name), types.ModuleType)\n"
        "    assert is_module == (name in parts), name\n"
        "for part in parts:\n"
        "    package = getattr(cutaway, part)\n"
        "    for name in getattr(package, '__all__', []):\n"
        "        if (part, name) != ('blocks', 'pattern'):  # a namespace: pattern.window(256) | pattern.causal()\n"
        "            assert not isinstance(getattr(package, name), types.ModuleType), (part, name)\n"
    )


def imports_of(path: Path) -> set[str]:
    """Everything that a file imports, inside functions too; only what type checkers alone read is left out."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = node.module == "cutaway"  # `from cutaway import look`
            found.update(f"cutaway.{alias.name}" if whole else node.module for alias in node.names)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


# Which parts a part may import besides itself. `registry` is where families join: it finds the parts inside functions.
TOOLS = {"lazy", "extras", "atomic_files", "checksums", "visible_text", "waiting", "overriding"}
ALLOWED = {
    "inside": {"overriding"},
    "blocks": {"inside", "overriding"},
    "models": {"blocks", "inside", "overriding"},
    "data": TOOLS | {"blocks"},
    "look": TOOLS | {"inside", "blocks"},
    "training": TOOLS | {"inside", "blocks", "models", "data", "look"},
    "hub": TOOLS | {"inside", "blocks", "models", "data", "training"},
    "tasks": TOOLS | {"inside", "blocks", "models", "hub", "data", "training"},
    "recipes": TOOLS | {"inside", "blocks", "models", "hub", "data", "training", "tasks"},
    "tuning": TOOLS | {"inside", "blocks", "models", "hub", "data", "training", "tasks", "recipes"},
    "runs": TOOLS
    | {"inside", "blocks", "models", "hub", "data", "training", "look", "registry", "tasks", "recipes", "tuning"},
    "catalogue": {"inside", "blocks", "models", "registry"},
    "commands": TOOLS | {"models", "hub", "data", "training", "look", "registry", "tasks", "recipes", "tuning", "runs"},
    "registry": {"look", "recipes", "tasks"},
    "cli": {"__version__", "training", "commands", "tasks", "registry", "visible_text"},
    "__main__": {"cli"},
    "__init__": set(),
    **{tool: {"atomic_files", "overriding"} if tool == "checksums" else {"overriding"} for tool in sorted(TOOLS)},
}


def test_every_part_has_its_directions():
    assert {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()} == set(
        ALLOWED
    )


@pytest.mark.parametrize("part", ALLOWED)
def test_imports_point_one_way(part: str):
    for path in [ROOT / f"{part}.py"] if (ROOT / f"{part}.py").exists() else sorted((ROOT / part).rglob("*.py")):
        own = {name.split(".")[1] for name in imports_of(path) if name.startswith("cutaway.")} - {part}
        assert own <= ALLOWED[part], f"{path.relative_to(ROOT)} imports {own - ALLOWED[part]}"


def test_blocks_import_only_torch_and_shapes():
    allowed = {"torch", "einops", "jaxtyping", "cutaway"} | set(sys.stdlib_module_names)
    for path in (ROOT / "blocks").rglob("*.py"):
        others = {name.split(".")[0] for name in imports_of(path)} - allowed
        assert not others, f"{path.name} imports {others}"


def test_no_two_names_of_a_folder_are_the_same_words():
    """Two files whose names are each other's words turned round are one file."""
    for folder in {path.parent for path in ROOT.rglob("*.py")}:
        words = [frozenset(word.rstrip("s") for word in path.stem.split("_")) for path in folder.glob("*.py")]
        twice = {tuple(sorted(name)) for name in words if words.count(name) > 1}
        assert not twice, f"{folder.relative_to(ROOT)}: {twice}"


def test_folders_are_rooms():
    """No room holds more than about twenty files, and the folder of a kind has a docstring and no code."""
    for init in ROOT.rglob("__init__.py"):
        assert len(list(init.parent.glob("*.py"))) <= 23, init.parent
        if len(init.relative_to(ROOT).parts) > 2:
            body = ast.parse(init.read_text(encoding="utf-8")).body
            assert len(body) == 1, f"{init.relative_to(ROOT)} holds more than its docstring"


def test_every_folder_is_a_package():
    """A folder without `__init__.py` would be left out of the wheel."""
    assert not {path.parent for path in ROOT.rglob("*.py")} - {path.parent for path in ROOT.rglob("__init__.py")}


def test_git_ignores_no_source():
    """What .gitignore hides would be missing from every clone."""
    command = ["git", "ls-files", "--others", "--ignored", "--exclude-standard", "--", "*.py", "*.pyi", "*.js", "*.css"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git repository")
    assert not done.stdout.split()


# Code files, or folders of them, without a test file of their own: the file that tests them instead, and why.
TESTED_THROUGH = {
    "overriding.py": "test_house.py: it does nothing at run time; mypy holds every use of it",
    "tasks/tables/rows.py": "recipes/tables/test_linear_models.py: what statistics solves for, by each learner",
    "tasks/tables/cell_restoring.py": "recipes/tables/test_masked_table.py: the learner of the recipe",
    "tasks/task.py": "recipes/texts/test_classifier.py: a task is read, kept in a run and opened again",
    "tasks/learner.py": "recipes/texts/test_classifier.py: a learner is trained, resumed and asked",
    "tasks/classes.py": "tasks/texts/test_bag_of_words.py: metrics by hand; rows are a doctest",
    "tasks/abilities/dispatch.py": "runs/test_run.py: what a run does, and what it cannot do",
    "tuning/learner.py": "tuning/tasks/test_classify.py: tried through a task on top of it",
    "tuning/learners/classify.py": "tuning/tasks/test_classify.py: what the recipe learns from and answers",
    "blocks/attention/shapes.py": "blocks/attention/test_dot_product.py: its checks speak where attention is called",
    "blocks/attention_masks/algebra.py": "blocks/attention_masks/test_patterns.py: its laws hold for whole patterns",
    "blocks/attention_masks/by_example.py": "blocks/attention_masks/test_patterns.py: its patterns are two of many",
    "blocks/dense/curves.py": "blocks/dense/test_activations.py: it draws activations and nothing else",
    "blocks/norms/shared.py": "blocks/norms/test_layer.py: what the norms share, seen through one",
    "blocks/recurrence/gru_kernel.py": "blocks/recurrence/test_kernels.py: every kernel against its equation",
    "blocks/recurrence/loops.py": "blocks/recurrence/test_kernels.py: the written-out pass is one of the two compared",
    "blocks/recurrence/lstm_kernel.py": "blocks/recurrence/test_kernels.py: every kernel against its equation",
    "blocks/recurrence/rnn_kernel.py": "blocks/recurrence/test_kernels.py: every kernel against its equation",
    "catalogue/": "test_battery.py: every entry goes through the battery",
    "commands/flag_types.py": "commands/test_help_pages.py: it is what a help page is made of",
    "commands/abilities.py": "tasks/abilities/test_index.py: a verb of yours at the command line",
    "tasks/abilities/flag.py": "commands/test_flags.py: how a flag is spelled and read",
    "tasks/abilities/ability.py": "tasks/abilities/test_index.py: every ability of the table is one",
    "tasks/abilities/verbs/": "tasks/abilities/test_index.py: every verb, by the same tests",
    "runs/attacked.py": "commands/test_attack.py: what the command prints",
    "runs/testing.py": "commands/test_test.py: the test split is read once",
    "data/graphs/graph_sources.py": "data/graphs/test_graph_data.py: each form of a graph is read as a whole",
    "data/graphs/raw_graph_sets.py": "data/graphs/test_graph_set.py: what every reader of many graphs makes",
    "data/images/image_sources.py": "data/images/test_image_data.py: each form of data is read as a whole",
    "models/forecasting/series_windows.py": "models/forecasting/test_likelihood_model.py: forecasters read windows",
    "data/readers.py": "data/samples/test_embedded.py: it opens every sample by its name",
    "data/tables/endings.py": "data/test_kinds.py: by these endings data is known",
    "data/series/covariates.py": "data/series/test_series_reading.py: covariates are read with their series",
    "data/series/regular_steps.py": "data/series/test_series_reading.py: gaps and duplicates are found while reading",
    "data/series/series_layouts.py": "data/series/test_series_reading.py: every layout is read there",
    "data/tables/encoding.py": "data/tables/test_reading.py: a table is read, encoded and decoded in one pass",
    "data/tables/targets.py": "data/tables/test_reading.py: the target is found while reading",
    "data/text/token_rows.py": "data/text/test_pairs.py: pairs are rows of tokens",
    "hub/families/": "hub/test_families.py: every family against transformers, by the same tests",
    "look/graph_drawing/shapes.py": "look/graph_drawing/test_graph_page.py: shapes are seen on the page",
    "look/graph_recording/": "look/test_graphs.py: the recorded graph is the result of all of them together; its "
    "δ, writes and odd cases are in test_deltas.py, test_writes.py and test_edges.py of the folder",
    "look/pages/parts.py": "look/pages/test_page.py: a page is made of its parts",
    "look/style/stylesheet.py": "look/pages/test_page.py: the style of a page in light, dark and print",
    "look/style/theme.py": "look/style/test_colours.py: a theme is a set of colours",
    "models/count_tables.py": "models/test_markov_chain.py: a chain is its counts",
    "models/recurrent/carried_state.py": "models/recurrent/test_language_model.py: a state is what a model carries",
    "recipes/graphs/gat.py": "recipes/graphs/test_vertex_settings.py: what it shares with gcn, and its attention",
    "recipes/graphs/gcn.py": "recipes/graphs/test_vertex_settings.py: tried there as the first of its kind",
    "recipes/graphs/graph_settings.py": "recipes/graphs/test_vertex_settings.py: tried through a recipe on top of it",
    "tasks/graphs/whole_graph_baselines.py": "recipes/graphs/test_gin.py: what stands beside the recipe",
    "tasks/graphs/outcomes.py": "recipes/graphs/test_gin.py: its metrics by hand",
    "tasks/graphs/whole_graphs.py": "recipes/graphs/test_gin.py: the parts and answers of a run",
    "tasks/graphs/graph_networks.py": "recipes/graphs/test_gin.py: batches and outputs of the learner",
    "tasks/graphs/generate.py": "recipes/graphs/test_graph_rnn.py: parts, figures and answers of a run",
    "tasks/graphs/generation/autoregressive.py": "recipes/graphs/test_graph_rnn.py: how it learns and draws",
    "runs/sampled_graphs.py": "runs/views/graph_views/test_drawn_graphs.py: files of drawn graphs beside their views",
    "runs/sampled_images.py": "commands/test_sample.py: what the command writes",
    "tasks/graphs/pairs.py": "recipes/graphs/test_links.py: what `predict` of the recipe answers",
    "tasks/graphs/learners/pairs.py": "recipes/graphs/test_links.py: what learns, by which messages",
    "tasks/graphs/links.py": "recipes/graphs/test_links.py: what the recipe learns from and answers",
    "tasks/graphs/transfer.py": "recipes/graphs/test_vertex_settings.py: a graph that has grown since",
    "tasks/graphs/vertices.py": "recipes/graphs/test_vertex_settings.py: metrics and answers of a run",
    "tasks/graphs/learners/vertices.py": "recipes/graphs/test_vertex_settings.py: what learns, whole or by samples",
    "tasks/graphs/learners/one_graph.py": "recipes/graphs/test_vertex_settings.py: vectors of vertices, samples",
    "tasks/graphs/one_graph.py": "recipes/graphs/test_vertex_settings.py: a graph is read, noted and read again",
    "tasks/graphs/vertex_names.py": "recipes/graphs/test_vertex_settings.py: vertices are asked for by name",
    "recipes/images/image_settings.py": "recipes/images/test_classifier_settings.py: seen through what is on top of it",
    "tasks/graphs/masking/parts.py": "recipes/graphs/test_masked_graph.py: the parts of its data",
    "tuning/learners/graphs.py": "tuning/tasks/test_graphs.py: every method, and a head alone",
    "tuning/graph_bases.py": "tuning/tasks/test_vertices.py: as the base read it",
    "tasks/graphs/masked.py": "recipes/graphs/test_masked_graph.py: what `predict` tells",
    "tasks/graphs/masking/restorer.py": "recipes/graphs/test_masked_graph.py: how it learns, and its vectors",
    "recipes/images/pretraining.py": "recipes/images/test_masked_image.py: seen through what is on top",
    "recipes/images/generative.py": "recipes/images/test_diffusion.py: seen through what is on top of it",
    "tasks/images/autoencoder.py": "recipes/images/test_autoencoder.py: how the recipe learns, and its baselines",
    "tasks/images/denoising.py": "recipes/images/test_diffusion.py: how the recipe learns, and makes images",
    "tasks/images/generate.py": "recipes/images/test_diffusion.py: samples are judged at the end of a run",
    "tasks/images/image_task.py": "recipes/images/test_classifier_settings.py: images are read, kept and shown",
    "tasks/images/reconstruct.py": "recipes/images/test_vae.py: the test of a run, beside its baseline",
    "tasks/images/vae.py": "recipes/images/test_vae.py: how the recipe learns, and its bounds",
    "tasks/images/pixels.py": "recipes/images/test_classifier_settings.py: what goes into a model, seen at its answers",
    "recipes/imported.py": "runs/test_checkpoints_in_and_out.py: the recipe of runs that were imported",
    "recipes/series/forecast_settings.py": "tasks/series/test_forecast.py: seen through the smallest recipe on top",
    "tasks/series/forecast_learner.py": "tasks/series/test_forecast.py: forecasts and backtests of a run",
    "tasks/series/anomalies.py": "recipes/series/test_anomaly.py: alarms and their metrics, seen at a run",
    "tasks/series/density_learner.py": "recipes/series/test_anomaly.py: surprises, answers and forecasts of a run",
    "recipes/texts/translation_settings.py": "recipes/texts/test_seq2seq.py: what it shares, seen through one recipe",
    "recipes/texts/language_settings.py": "recipes/texts/test_recurrent.py: what it shares, seen through one recipe",
    "recipes/trained_models.py": "runs/test_run.py: it is how a run reads its model",
    "tuning/head_learning.py": "tuning/tasks/test_classify.py: a head alone, and one with a body",
    "tasks/frozen_features.py": "tuning/tasks/test_classify.py: kept features give the same head",
    "tuning/image_bases.py": "tuning/tasks/test_images.py: the shape and scale of a base's images",
    "tuning/learners/images.py": "tuning/tasks/test_images.py: kept features give the same head",
    "tuning/tagged_rows.py": "tuning/tasks/test_tag.py: what the recipe learns from and answers",
    "tasks/checkpoint.py": "runs/test_checkpoints_in_and_out.py: what an imported run does",
    "tuning/learners/language.py": "tuning/tasks/test_language.py: the task by its learners",
    "tuning/learners/tag.py": "tuning/tasks/test_tag.py: a tuned tagger learns and tags",
    "tuning/masked_heads.py": "tuning/tasks/test_language.py: a new head learns and is kept",
    "tuning/label_heads.py": "tuning/tasks/test_classify.py: heads are made, or kept, for labels",
    "tuning/labelled_rows.py": "tuning/tasks/test_classify.py: what the recipe learns from and answers",
    "tuning/settings.py": "tuning/tasks/test_classify.py: tried through a task on top of it",
    "tuning/tuned_subjects.py": "tuning/tasks/test_classify.py: what a look at a run is given",
    "tuning/methods.py": "tuning/tasks/test_classify.py: what learns is seen at what changed",
    "tasks/words/vector_table.py": "recipes/words/test_imported_vectors.py: what both kinds of runs can do",
    "tasks/words/word_rows.py": "recipes/words/test_imported_vectors.py: rows are what a run searches",
    "runs/views/": "runs/test_pages.py: the pages of every kind of run hold every view that suits them",
    "training/jobs.py": "training/test_loop.py: a job is fields that the loop reads",
}


def test_every_code_file_has_its_test_or_a_reason():
    """`cutaway/x/y.py` is tested by `tests/x/test_y.py`."""
    tests = Path(__file__).parent
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        if path.name in ("__init__.py", "__main__.py") or (tests / name).with_name(f"test_{path.name}").exists():
            continue
        known = name in TESTED_THROUGH or any(name.startswith(part) for part in TESTED_THROUGH if part.endswith("/"))
        assert known, f"cutaway/{name} needs tests/{Path(name).parent}/test_{path.name}, or a line in TESTED_THROUGH"


@pytest.mark.parametrize("name", TESTED_THROUGH)
def test_reasons_name_what_is_there(name: str):
    tests = Path(__file__).parent
    assert (ROOT / name).exists()
    assert not (tests / name).with_name(f"test_{Path(name).name}").exists(), "it has a test now: strike it off the list"
    assert (tests / TESTED_THROUGH[name].split(":")[0]).exists()


def test_every_slow_test_is_listed():
    """tests/README.md says what `make test` leaves out: each file that marks a test `slow`."""
    tests = Path(__file__).parent
    listed = (tests / "README.md").read_text(encoding="utf-8")
    for path in tests.rglob("test_*.py"):
        marks = re.search(r"mark\.slow\b|slow_but\(", path.read_text(encoding="utf-8"))
        if marks and path != Path(__file__):
            assert f"{path.name}`" in listed, f"{path.relative_to(tests)} marks tests `slow`: say so in tests/README.md"


def test_every_lazy_name_has_a_type():
    """`__init__.pyi` lists the lazy names, for editors and mypy."""
    for package in [ROOT, *(ROOT / part for part in ("data", "look", "recipes", "runs", "training"))]:
        stub = ast.parse((package / "__init__.pyi").read_text(encoding="utf-8"))
        typed = {
            (alias.asname or alias.name)
            for node in stub.body
            if isinstance(node, ast.ImportFrom | ast.Import)
            for alias in node.names
        } | {n.target.id for n in stub.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        module = ".".join(["cutaway", *package.relative_to(ROOT).parts])
        public = set(__import__(module, fromlist=["*"]).__all__)
        assert public <= typed, f"{module}: {public - typed} are not in __init__.pyi"
