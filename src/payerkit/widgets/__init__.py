"""Widgets for notebooks: each is one model, and a page gets their code once.

The modules:

        page_widget             the base class; in a page, `loader.js` gets the code, and `kernel.js` watches the kernel
        row_browser             the rows of a report or plan, by the page
"""
