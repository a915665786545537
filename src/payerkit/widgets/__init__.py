"""Widgets for notebooks: each is one model, and a page gets their code once.

The modules:

        page_widget             the base class; in a page, `loader.js` gets the code. All widgets share `dom.js`, which
                                builds elements, `keys.js`, which keeps keys from the notebook, and `kernel.js`, which
                                watches the kernel
        replying_widget         the base class of those that reply to each message
"""
