r"""The recipes by name, found without importing any of them."""

import difflib
from importlib import import_module

from cutaway.recipes.base import Recipe

RECIPES = {
    "gpt": "cutaway.recipes.texts.gpt:GPTRecipe",
    "lstm": "cutaway.recipes.texts.recurrent:LSTMRecipe",
    "gru": "cutaway.recipes.texts.recurrent:GRURecipe",
    "rnn": "cutaway.recipes.texts.recurrent:RNNRecipe",
    "markov": "cutaway.recipes.texts.markov:MarkovRecipe",
    "bert": "cutaway.recipes.texts.bert:BERTRecipe",
    "transformer": "cutaway.recipes.texts.transformer:TransformerRecipe",
    "tagger": "cutaway.recipes.texts.tagger:TaggerRecipe",
    "classifier": "cutaway.recipes.texts.classifier:ClassifierRecipe",
    "seq2seq": "cutaway.recipes.texts.seq2seq:Seq2SeqRecipe",
    "wordvectors": "cutaway.recipes.words.wordvectors:WordVectorsRecipe",
    "linear": "cutaway.recipes.tables.linear_models:LinearRecipe",
    "logistic": "cutaway.recipes.tables.linear_models:LogisticRecipe",
    "softmax": "cutaway.recipes.tables.linear_models:SoftmaxRecipe",
    "perceptron": "cutaway.recipes.tables.linear_models:PerceptronRecipe",
    "mlp": "cutaway.recipes.tables.mlp:MLPRecipe",
    "masked-graph": "cutaway.recipes.graphs.masked_graph:MaskedGraphRecipe",
    "masked-table": "cutaway.recipes.tables.masked_table:MaskedTableRecipe",
    "cnn": "cutaway.recipes.images.cnn:CNNRecipe",
    "vit": "cutaway.recipes.images.vit:ViTRecipe",
    "siamese": "cutaway.recipes.images.siamese:SiameseRecipe",
    "deepar": "cutaway.recipes.series.deepar:DeepARRecipe",
    "forecaster": "cutaway.recipes.series.forecaster:ForecasterRecipe",
    "series-classifier": "cutaway.recipes.series.series_classifier:SeriesClassifierRecipe",
    "anomaly": "cutaway.recipes.series.anomaly:AnomalyRecipe",
    "gcn": "cutaway.recipes.graphs.gcn:GCNRecipe",
    "gat": "cutaway.recipes.graphs.gat:GATRecipe",
    "spectral": "cutaway.recipes.graphs.spectral:SpectralRecipe",
    "grn": "cutaway.recipes.graphs.grn:GRNRecipe",
    "graph-transformer": "cutaway.recipes.graphs.graph_transformer:GraphTransformerRecipe",
    "gin": "cutaway.recipes.graphs.gin:GINRecipe",
    "graph-rnn": "cutaway.recipes.graphs.graph_rnn:GraphRNNRecipe",
    "links": "cutaway.recipes.graphs.links:LinksRecipe",
    "node2vec": "cutaway.recipes.graphs.node2vec:Node2VecRecipe",
    "masked-image": "cutaway.recipes.images.masked_image:MaskedImageRecipe",
    "contrastive": "cutaway.recipes.images.contrastive:ContrastiveRecipe",
    "autoencoder": "cutaway.recipes.images.autoencoder:AutoencoderRecipe",
    "vae": "cutaway.recipes.images.vae:VAERecipe",
    "diffusion": "cutaway.recipes.images.diffusion:DiffusionRecipe",
}
TUNED = {  # runs that `cutaway tune` makes, by their task: see tuning/settings.py
    "tuned-tag": "cutaway.tuning.tasks.tag:TunedTagsRecipe",
    "tuned-language": "cutaway.tuning.tasks.language:TunedLanguageRecipe",
    "tuned-chat": "cutaway.tuning.tasks.chat:TunedChatRecipe",
    "tuned-images": "cutaway.tuning.tasks.images:TunedImagesRecipe",
    "tuned-classify": "cutaway.tuning.tasks.classify:TunedClassesRecipe",
    "tuned-pairs": "cutaway.tuning.tasks.pairs:TunedPairsRecipe",
    "tuned-vertices": "cutaway.tuning.tasks.vertices:TunedVerticesRecipe",
    "tuned-graphs": "cutaway.tuning.tasks.graphs:TunedGraphsRecipe",
    "tuned-table": "cutaway.tuning.tasks.table:TunedTableRecipe",
}
IMPORTED = {  # runs that `cutaway import` makes
    "imported": "cutaway.recipes.imported:ImportedRecipe",
    "imported-vectors": "cutaway.recipes.words.imported_vectors:ImportedVectorsRecipe",
}
_own: dict[str, type[Recipe]] = {}


def register_recipe(kind: type[Recipe]) -> type[Recipe]:
    """Adds a recipe of your own, so that `cut.train` and `cut.load` know it by its name; returns it."""
    if not kind.name or is_ours(kind.name):
        raise ValueError(f"a recipe needs a name of its own, got {kind.name!r} for {kind.__name__}; set its `name`")
    _own[kind.name] = kind
    return kind


def is_ours(name: str) -> bool:
    """Whether a recipe is one of Cutaway's."""
    return name in RECIPES | TUNED | IMPORTED


def is_known(name: str) -> bool:
    """Whether there is a recipe of that name."""
    return name in _own or is_ours(name)


def known_tasks() -> dict[str, type[Recipe]]:
    """The recipes that tune, by their tasks."""
    kinds = [find_recipe(name) for name in TUNED] + [kind for kind in _own.values() if getattr(kind, "task", "")]
    return {kind.task: kind for kind in kinds}  # type: ignore[attr-defined]


def known_recipes() -> list[str]:
    """The names of all recipes, ours first."""
    return [*RECIPES, *_own]


def find_recipe(name: str) -> type[Recipe]:
    """The recipe of that name."""
    if name in _own:
        return _own[name]
    places = RECIPES | TUNED | IMPORTED
    if name not in places:
        known = known_recipes()
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else "`cutaway list recipes` tells what each does"
        raise ValueError(f"a recipe must be one of {', '.join(known)}, got {name!r}; {hint}")
    module, kind = places[name].split(":")
    return getattr(import_module(module), kind)
