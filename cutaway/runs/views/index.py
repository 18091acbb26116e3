r"""Our views of runs, registered in the order of a page: `cut.register(view, suits=…, section=…)`.

Those with ``report=True`` also stand in the report of a run.
"""

from cutaway.registry import register
from cutaway.runs.views import (
    anomalies,
    attention,
    augmented_images,
    class_trees,
    embeddings,
    gates,
    general,
    image_classes,
    language,
    latents,
    one_shot_images,
    robustness,
    sample_quality,
    series,
    series_classes,
    table_results,
    tables,
    tags,
    text_classes,
    tuned,
    words,
)
from cutaway.runs.views.graph_views import drawn_graphs, hidden_parts, links, vertices, whole_graphs
from cutaway.runs.views.pretraining import pretrained_images, table_cells

register(general.losses, suits=general.has_metrics, section="Training")
register(general.gradient_flow, suits=general.has_flow, section="Training", report=True)
register(augmented_images.augmented, suits=augmented_images.changes_images, section="Training", report=True)

register(tags.tag_results, suits=tags.tags_words, section="Predictions", report=True)
register(text_classes.text_results, suits=text_classes.classifies_texts, section="Predictions", report=True)
register(image_classes.image_mistakes, suits=image_classes.classifies_images, section="Predictions", report=True)
register(image_classes.hardest_images, suits=image_classes.classifies_images, section="Predictions", report=True)
register(table_cells.tuned_results, suits=table_cells.predicts_cells, section="Predictions", report=True)
register(whole_graphs.graph_answers, suits=whole_graphs.predicts_graphs, section="Predictions", report=True)
register(vertices.vertex_mistakes, suits=vertices.classifies_vertices, section="Predictions", report=True)
register(tuned.flipped_answers, suits=tuned.is_tuned, section="What tuning changed", report=True)
register(tuned.weight_updates, suits=tuned.is_tuned, section="What tuning changed", report=True)
register(tuned.changed_representations, suits=tuned.is_tuned, section="What tuning changed", report=True)

register(attention.attention, suits=attention.has_attention, section="Attention", report=True)
register(attention.heads, suits=attention.has_attention, section="Attention")
register(attention.telling_heads, suits=attention.has_attention, section="Attention", report=True)
register(attention.rollout, suits=attention.has_attention, section="Attention")

register(language.surprise, suits=language.goes_on, section="What the model expects", report=True)
register(language.lens, suits=language.has_residual_stream, section="From layer to layer")
register(language.contributions, suits=language.has_residual_stream, section="From layer to layer")
register(language.saliency, suits=language.has_residual_stream, section="What the next token depends on")

register(gates.gates, suits=gates.continues_text, section="Gates and states", report=True)
register(gates.gates, name="gates_of_others", suits=gates.only_has_gates, section="Gates and states")
register(gates.unit_features, suits=gates.continues_text, section="Gates and states", report=True)
register(gates.reach, suits=gates.continues_text, section="What the next token depends on", report=True)

register(table_results.results, suits=tables.is_table, section="Predictions", report=True)
register(tables.decisions, suits=tables.has_two_inputs, section="The function that was learned")
register(tables.fit, suits=tables.has_one_input, section="The function that was learned")
register(tables.row_saliency, suits=tables.is_table, section="What a prediction depends on")

register(table_cells.restored_columns, suits=table_cells.restores_cells, section="Restored cells", report=True)
register(table_cells.telling_columns, suits=table_cells.restores_cells, section="Restored cells", report=True)

register(
    image_classes.image_evidence,
    suits=image_classes.classifies_images,
    section="What a prediction depends on",
    report=True,
)
register(image_classes.patches_looked_at, suits=image_classes.has_patches, section="Attention", report=True)
register(image_classes.first_filters, suits=image_classes.has_filters, section="From layer to layer", report=True)
register(image_classes.feature_maps, suits=image_classes.has_feature_maps, section="From layer to layer", report=True)
register(
    image_classes.receptive_fields, suits=image_classes.has_feature_maps, section="From layer to layer", report=True
)
register(image_classes.field_at, suits=image_classes.classifies_images, section="From layer to layer", at=True)

register(hidden_parts.restored_parts, suits=hidden_parts.restores_graphs, section="Hidden parts", report=True)
register(hidden_parts.restored_edges, suits=hidden_parts.restores_graphs, section="Hidden parts", report=True)
register(hidden_parts.vector_map, suits=hidden_parts.restores_graphs, section="What was learned", report=True)
register(
    whole_graphs.telling_vertices,
    suits=whole_graphs.predicts_graphs,
    section="What a prediction depends on",
    report=True,
)
register(whole_graphs.graph_map, suits=whole_graphs.predicts_graphs, section="Embeddings", report=True)
register(drawn_graphs.drawn_and_real, suits=drawn_graphs.draws_graphs, section="New graphs", report=True)
register(drawn_graphs.drawn_scores, suits=drawn_graphs.draws_graphs, section="New graphs", report=True)
register(drawn_graphs.expected_edges, suits=drawn_graphs.draws_graphs, section="What the model expects", report=True)
register(links.link_scores, suits=links.finds_links, section="Predictions", report=True)
register(links.best_pairs, suits=links.finds_links, section="Predictions", report=True)
register(links.links_in_the_graph, suits=links.finds_links, section="Predictions", report=True)
register(vertices.predicted_graph, suits=vertices.classifies_vertices, section="Predictions", report=True)
register(
    vertices.neighbours_heard, suits=vertices.classifies_vertices, section="What a prediction depends on", report=True
)
register(vertices.cut_edges, suits=vertices.classifies_vertices, section="What a prediction depends on", report=True)
register(vertices.smoothing, suits=vertices.classifies_vertices, section="From layer to layer", report=True)
register(
    vertices.smoothing,
    name="smoothing_of_graphs",
    suits=whole_graphs.keeps_vertices,
    section="From layer to layer",
    report=True,
)
register(vertices.vertex_map, suits=vertices.classifies_vertices, section="Embeddings", report=True)

register(series_classes.mistakes, suits=series_classes.classifies_series, section="Predictions", report=True)
register(series_classes.speaking_parts, suits=series_classes.classifies_series, section="Predictions", report=True)
register(series_classes.hardest, suits=series_classes.classifies_series, section="Predictions", report=True)

register(pretrained_images.filled_images, suits=pretrained_images.fills_patches, section="Hidden patches", report=True)
register(pretrained_images.contrasted_pairs, suits=pretrained_images.contrasts_views, section="Two views", report=True)
register(
    pretrained_images.alike_images,
    suits=pretrained_images.learns_from_images_alone,
    section="What was learned",
    report=True,
)
register(
    pretrained_images.map_of_vectors,
    suits=pretrained_images.learns_from_images_alone,
    section="What was learned",
    report=True,
)

register(one_shot_images.pairs, suits=one_shot_images.compares_images, section="Predictions", report=True)
register(one_shot_images.one_shot_answers, suits=one_shot_images.compares_images, section="Predictions", report=True)
register(one_shot_images.map_of_kinds, suits=one_shot_images.compares_images, section="Embeddings", report=True)

register(tags.tagged, suits="tagger", section="Predictions", report=True)
register(tags.other_words, suits="tagger", section="What a prediction depends on", report=True)
register(tags.word_parts, suits="tagger", section="What a prediction depends on", report=True)
register(tags.letters_of_unknown_words, suits="tagger", section="What a prediction depends on")
register(text_classes.telling_words, suits=text_classes.has_votes, section="What a prediction depends on", report=True)
register(text_classes.attended_words, suits=text_classes.has_readers, section="What a prediction depends on")
register(text_classes.telling_ngrams, suits=text_classes.has_ngrams, section="Predictions", report=True)

register(embeddings.tokens, suits=embeddings.has_tokens, section="Embeddings")
register(embeddings.token_neighbours, suits=embeddings.has_tokens, section="Embeddings")
register(embeddings.categories, suits=embeddings.has_categories, section="Embeddings")
register(class_trees.class_path, suits=class_trees.has_class_tree, section="Output layer", report=True)

register(words.similar_words, suits=words.has_words, section="Words", report=True)
register(words.nearest_words, suits=words.has_words, section="Words", report=True)
register(words.frequent_words, suits=words.has_words, section="Words", report=True)

register(embeddings.positions, suits=embeddings.has_positions, section="Positions")

register(series.given_series, suits=series.forecasts, section="Forecasts")
register(series.fans, suits=series.forecasts_windows, section="Forecasts", report=True)
register(series.simple_methods, suits=series.forecasts_windows, section="Forecasts", report=True)
register(series.by_horizon, suits=series.forecasts_windows, section="Forecasts", report=True)
register(series.ranks, suits=series.forecasts_windows, section="Forecasts", report=True)
register(anomalies.odd_stretches, suits=anomalies.looks_for_oddities, section="Odd stretches", report=True)

register(robustness.attacked, suits=robustness.trained_without_attacks, section="Robustness")
register(robustness.resistance, suits=robustness.trained_without_attacks, section="Robustness")
register(
    robustness.attacked,
    name="attacked_robust",
    suits=robustness.trained_with_attacks,
    section="Robustness",
    report=True,
)
register(
    robustness.resistance,
    name="resistance_robust",
    suits=robustness.trained_with_attacks,
    section="Robustness",
    report=True,
)
register(latents.samples, suits=latents.makes_images, section="New images", report=True)
register(latents.denoising, suits=latents.denoises_in_steps, section="New images", report=True)
register(latents.guidance_table, suits=latents.denoises_in_steps, section="New images")
register(sample_quality.sampling_scores, suits=latents.denoises_in_steps, section="New images", report=True)
register(latents.nearest_images, suits=latents.makes_images, section="New images", report=True)
register(latents.reconstructions, suits=latents.has_codes, section="Codes", report=True)
register(latents.interpolation, suits=latents.has_codes, section="Codes", report=True)
register(latents.latent_map, suits=latents.has_codes, section="Codes", report=True)
register(latents.latent_walk, suits=latents.has_normal_codes, section="Codes", report=True)
register(latents.code_spread, suits=latents.has_normal_codes, section="Codes", report=True)

register(general.weights, suits=general.has_weights, section="Weights")
register(general.graph, suits=general.has_parameters, section="Compute graph")
