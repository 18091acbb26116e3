r"""Our views of runs, registered in the order of a page: `cut.register(view, suits=…, section=…)`."""

from cutaway.recipes import any_views, attention_views, embedding_views, language_views, table_views
from cutaway.registry import register

register(any_views.losses, suits=any_views.has_metrics, section="Training")
register(any_views.gradient_flow, suits=any_views.has_flow, section="Training")

register(attention_views.attention, suits=attention_views.has_attention, section="Attention")
register(attention_views.heads, suits=attention_views.has_attention, section="Attention")
register(attention_views.telling_heads, suits=attention_views.has_attention, section="Attention")
register(attention_views.rollout, suits=attention_views.has_attention, section="Attention")

register(language_views.lens, suits=language_views.is_gpt, section="From layer to layer")
register(language_views.contributions, suits=language_views.is_gpt, section="From layer to layer")
register(language_views.saliency, suits=language_views.is_gpt, section="What the next token depends on")

register(table_views.results, suits=table_views.is_table, section="Predictions")
register(table_views.decisions, suits=table_views.has_two_inputs, section="The function that was learned")
register(table_views.fit, suits=table_views.has_one_input, section="The function that was learned")
register(table_views.row_saliency, suits=table_views.is_table, section="What a prediction depends on")
register(any_views.report, suits=any_views.is_own, section="From the report")

register(embedding_views.tokens, suits=embedding_views.has_tokens, section="Embeddings")
register(embedding_views.token_neighbours, suits=embedding_views.has_tokens, section="Embeddings")
register(embedding_views.categories, suits=embedding_views.has_categories, section="Embeddings")
register(embedding_views.positions, suits=embedding_views.has_positions, section="Positions")

register(any_views.weights, suits=any_views.has_weights, section="Weights")
register(any_views.graph, suits=any_views.has_inputs, section="Compute graph")
