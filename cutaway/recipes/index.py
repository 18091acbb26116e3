r"""The recipes by name, found without importing any of them."""

import difflib
from importlib import import_module

from cutaway.recipes.base import Recipe

RECIPES = {
    "gpt": "cutaway.recipes.text.gpt:GPTRecipe",
    "lstm": "cutaway.recipes.text.recurrent:LSTMRecipe",
    "gru": "cutaway.recipes.text.recurrent:GRURecipe",
    "rnn": "cutaway.recipes.text.recurrent:RNNRecipe",
    "markov": "cutaway.recipes.text.markov:MarkovRecipe",
    "bert": "cutaway.recipes.text.bert:BERTRecipe",
    "transformer": "cutaway.recipes.text.transformer:TransformerRecipe",
    "tagger": "cutaway.recipes.text.tagger:TaggerRecipe",
    "classifier": "cutaway.recipes.labelled.classifier:ClassifierRecipe",
    "seq2seq": "cutaway.recipes.text.seq2seq:Seq2SeqRecipe",
    "wordvectors": "cutaway.recipes.words.wordvectors:WordVectorsRecipe",
    "linear": "cutaway.recipes.tables.linear_models:LinearRecipe",
    "logistic": "cutaway.recipes.tables.linear_models:LogisticRecipe",
    "softmax": "cutaway.recipes.tables.linear_models:SoftmaxRecipe",
    "perceptron": "cutaway.recipes.tables.linear_models:PerceptronRecipe",
    "mlp": "cutaway.recipes.tables.mlp:MLPRecipe",
    "masked-graph": "cutaway.recipes.pretraining.masked_graph:MaskedGraphRecipe",
    "masked-table": "cutaway.recipes.pretraining.masked_table:MaskedTableRecipe",
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
    "graph-rnn": "cutaway.recipes.graphs.generators.graph_rnn:GraphRNNRecipe",
    "links": "cutaway.recipes.graphs.links:LinksRecipe",
    "node2vec": "cutaway.recipes.graphs.node2vec:Node2VecRecipe",
    "masked-image": "cutaway.recipes.pretraining.masked_image:MaskedImageRecipe",
    "contrastive": "cutaway.recipes.pretraining.contrastive:ContrastiveRecipe",
    "autoencoder": "cutaway.recipes.generative.autoencoder:AutoencoderRecipe",
    "vae": "cutaway.recipes.generative.vae:VAERecipe",
    "diffusion": "cutaway.recipes.generative.diffusion:DiffusionRecipe",
}
TUNED = {  # runs that `cutaway tune` makes, by their task: see recipes/tuned/tuned_base.py
    "tuned-tag": "cutaway.recipes.tuned.tuned_tags:TunedTagsRecipe",
    "tuned-language": "cutaway.recipes.tuned.tuned_language:TunedLanguageRecipe",
    "tuned-chat": "cutaway.recipes.tuned.tuned_chat:TunedChatRecipe",
    "tuned-images": "cutaway.recipes.tuned.tuned_images:TunedImagesRecipe",
    "tuned-classify": "cutaway.recipes.tuned.tuned_classes:TunedClassesRecipe",
    "tuned-pairs": "cutaway.recipes.tuned.tuned_pairs:TunedPairsRecipe",
    "tuned-vertices": "cutaway.recipes.tuned.graph_tasks.tuned_vertices:TunedVerticesRecipe",
    "tuned-graphs": "cutaway.recipes.tuned.graph_tasks.tuned_graphs:TunedGraphsRecipe",
    "tuned-table": "cutaway.recipes.tuned.tuned_tables:TunedTableRecipe",
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
