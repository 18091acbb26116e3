"""The microscope: pictures of what is inside a model, and the pages and reports that hold them.

>>> import cutaway as cut
>>> cut.look.heatmap([[1.0, 2.0], [3.0, 4.0]]).alt
'Heat map of value: 2 × 2 (row × column), from 1 to 4.'
"""

from cutaway.lazy import lazy

# Public names and where they live. Nothing is imported before it is used, and Altair not before a picture is made.
_NAMES = {
    "Edge": "graphs",
    "Facts": "parts",
    "Flow": "flows",
    "Folded": "parts",
    "Graph": "graphs",
    "Layout": "layouts",
    "Node": "graphs",
    "Page": "page",
    "Picture": "picture",
    "Sample": "parts",
    "Section": "parts",
    "Table": "parts",
    "Value": "graphs",
    "attention_grid": "views.attention",
    "attention_map": "views.attention",
    "attention_rollout": "rollouts",
    "contribution_map": "views.contributions",
    "curves": "views.losses",
    "decision_map": "views.decisions",
    "embedding_map": "views.embeddings",
    "fitted_curve": "views.fits",
    "flow": "flows",
    "flow_history": "views.flow_looks",
    "flow_picture": "views.flow_views",
    "flow_pictures": "views.flow_looks",
    "flow_time_picture": "views.flow_views",
    "gradient_times_input": "attributions",
    "graph_picture": "drawing.svg",
    "head_scores": "heads",
    "head_summary": "views.roles",
    "heatmap": "views.matrices",
    "histogram": "views.distributions",
    "histograms": "views.multiples",
    "integrated_gradients": "attributions",
    "lens_map": "views.lenses",
    "logit_contributions": "contributions",
    "logit_lens": "lenses",
    "merged_attention": "rollouts",
    "neighbour_rows": "nearest",
    "neighbours": "views.nearby",
    "patching_map": "views.recoveries",
    "position_profile": "views.positions",
    "position_similarity": "views.positions",
    "recovery_by_head": "recoveries",
    "recovery_by_position": "recoveries",
    "report_page": "report",
    "rollout_map": "views.rollouts",
    "saliency": "attributions",
    "saliency_map": "views.attributions",
    "scatter": "views.maps",
    "token_strip": "views.strips",
    "trajectories": "views.paths",
    "tsne": "projections",
    "update_picture": "views.flow_looks",
    "write_report": "report",
}
__all__ = [*_NAMES]
__getattr__, __dir__ = lazy(__name__, _NAMES)
