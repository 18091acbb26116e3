r"""Our views of runs, registered in the order of a page: `cut.register(view, suits=…, section=…)`."""

from cutaway.registry import register
from cutaway.runs.views import attention, embeddings, general, language, tables

register(general.losses, suits=general.has_metrics, section="Training")
register(general.gradient_flow, suits=general.has_flow, section="Training")

register(attention.attention, suits=attention.has_attention, section="Attention")
register(attention.heads, suits=attention.has_attention, section="Attention")
register(attention.telling_heads, suits=attention.has_attention, section="Attention")
register(attention.rollout, suits=attention.has_attention, section="Attention")

register(language.lens, suits=language.is_gpt, section="From layer to layer")
register(language.contributions, suits=language.is_gpt, section="From layer to layer")
register(language.saliency, suits=language.is_gpt, section="What the next token depends on")

register(tables.results, suits=tables.is_table, section="Predictions")
register(tables.decisions, suits=tables.has_two_inputs, section="The function that was learned")
register(tables.fit, suits=tables.has_one_input, section="The function that was learned")
register(tables.row_saliency, suits=tables.is_table, section="What a prediction depends on")
register(general.report, suits=general.is_own, section="From the report")

register(embeddings.tokens, suits=embeddings.has_tokens, section="Embeddings")
register(embeddings.token_neighbours, suits=embeddings.has_tokens, section="Embeddings")
register(embeddings.categories, suits=embeddings.has_categories, section="Embeddings")
register(embeddings.positions, suits=embeddings.has_positions, section="Positions")

register(general.weights, suits=general.has_weights, section="Weights")
register(general.graph, suits=general.has_inputs, section="Compute graph")
