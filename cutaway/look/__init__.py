"""The microscope: pictures of what is inside a model, and the pages and reports that hold them.

>>> import cutaway as cut
>>> cut.look.heatmap([[1.0, 2.0], [3.0, 4.0]]).alt
'Heat map of value: 2 × 2 (row × column), from 1 to 4.'
"""

from cutaway.lazy import lazy

# Public names and where they live. Nothing is imported before it is used, and Altair not before a picture is made.
_NAMES = {
    "Facts": "parts",
    "Folded": "parts",
    "Page": "page",
    "Picture": "picture",
    "Sample": "parts",
    "Section": "parts",
    "Table": "parts",
    "attention_grid": "views.attention",
    "attention_map": "views.attention",
    "curves": "views.losses",
    "head_scores": "heads",
    "head_summary": "views.roles",
    "heatmap": "views.matrices",
    "histogram": "views.distributions",
    "report_page": "report",
    "scatter": "views.maps",
    "write_report": "report",
}
__all__ = [*_NAMES]
__getattr__, __dir__ = lazy(__name__, _NAMES)
