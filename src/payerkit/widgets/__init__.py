"""Widgets for notebooks: each is one model, and a page gets their code once."""
