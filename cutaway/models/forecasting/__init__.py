"""Probabilistic forecasters of series: a recurrent one and a decoder-only transformer, behind one interface."""
