"""Pictures and measurements of what is inside a model, and the pages and reports that hold them.

>>> import cutaway as cut
>>> cut.look.heatmap([[1.0, 2.0], [3.0, 4.0]]).alt
'Heat map of value: 2 × 2 (row × column), from 1 to 4.'
"""

from cutaway.lazy import lazy

# Public names and where they live. Nothing is imported before it is used, and Altair not before a picture is made.
_NAMES = {
    "Edge": "graphs",
    "Facts": "pages.parts",
    "Flow": "flows",
    "Folded": "pages.parts",
    "Graph": "graphs",
    "Layout": "language.layouts",
    "Node": "graphs",
    "Page": "pages.page",
    "Picture": "pages.picture",
    "Sample": "pages.parts",
    "Section": "pages.parts",
    "Table": "pages.parts",
    "Value": "graphs",
    "VectorIndex": "embeddings.vector_index",
    "attention_grid": "attention.maps",
    "attention_map": "attention.maps",
    "attention_rollout": "attention.rollouts",
    "class_tree": "embeddings.class_trees",
    "confusion_matrix": "charts.confusions",
    "contribution_map": "language.logit_attribution",
    "curves": "charts.curves",
    "decision_map": "charts.decisions",
    "embedding_map": "embeddings.tsne",
    "fitted_curve": "charts.fits",
    "flow": "flows",
    "flow_history": "gradient_flow.over_training",
    "flow_picture": "gradient_flow.over_depth",
    "flow_pictures": "gradient_flow.over_training",
    "flow_time_picture": "gradient_flow.over_depth",
    "gradient_times_input": "language.attributions",
    "graph_picture": "graph_drawing.svg",
    "head_scores": "attention.heads",
    "head_summary": "attention.heads",
    "heatmap": "charts.heatmaps",
    "histogram": "charts.histograms",
    "histograms": "charts.small_multiples",
    "image_grid": "images.image_grids",
    "integrated_gradients": "language.attributions",
    "lens_map": "language.logit_lens",
    "logit_contributions": "language.logit_attribution",
    "logit_lens": "language.logit_lens",
    "merged_attention": "attention.rollouts",
    "neighbour_rows": "embeddings.neighbours",
    "neighbours": "embeddings.neighbours",
    "patching_map": "language.activation_patching",
    "position_profile": "embeddings.positions",
    "position_similarity": "embeddings.positions",
    "recall": "embeddings.vector_index",
    "recovery_by_head": "language.activation_patching",
    "recovery_by_position": "language.activation_patching",
    "report_page": "report",
    "rollout_map": "attention.rollouts",
    "saliency": "language.attributions",
    "saliency_map": "language.attributions",
    "scatter": "charts.scatters",
    "token_strip": "language.token_strips",
    "trajectories": "charts.optimizer_paths",
    "tsne": "embeddings.tsne",
    "update_picture": "gradient_flow.over_training",
    "write_report": "report",
}
__all__ = [*_NAMES]
__getattr__, __dir__ = lazy(__name__, _NAMES)
