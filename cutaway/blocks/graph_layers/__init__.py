"""Graph layers: what each vertex makes of itself and of the messages of its neighbours."""
