"""Tests in headless Chromium: the sandbox's pages, and notebooks in a real JupyterLab
or Notebook 7.
"""
