# Sphinx' configuration of the guide; built by the CMake target "doc", which sets the environment.
import os
import shutil

project = 'cpodes'
author = copyright = 'The cpodes authors'
version = release = os.environ.get('CPODES_VERSION', '')

extensions = ['breathe', 'sphinx.ext.mathjax']
master_doc = 'index'
highlight_language = 'c'
primary_domain = 'c'

breathe_projects = {'cpodes': os.environ.get('CPODES_DOXYGEN_XML', '')}
breathe_default_project = 'cpodes'
breathe_domain_by_extension = {'h': 'c'}
breathe_show_include = False
breathe_show_define_initializer = True
breathe_show_enumvalue_initializer = True

html_theme = 'alabaster'
html_theme_options = {
    'description': 'Mechanisms with closed loops, contacts and friction',
    'page_width': 'auto', # as guide.css says
    'body_max_width': 'none',
    'sidebar_width': '230px',
    'fixed_sidebar': True,
    'font_family': 'Georgia, serif',
}
html_static_path = ['static']
html_css_files = ['guide.css']
html_show_search_summary = False  # fetches pages, which browsers refuse for files
html_show_sourcelink = False
html_copy_source = False

# The mathematics is readable without a network: the part of MathJax 2 that the guide needs, SVG output
# from TeX, is copied next to the pages.
mathjax_path = 'mathjax/MathJax.js?config=TeX-AMS_SVG'
mathjax2_config = {
    'displayAlign': 'left',
    'displayIndent': '2em',
    'showMathMenu': False,
    'messageStyle': 'none',
}


def copy_mathjax(app, exception):
    source = os.environ.get('CPODES_MATHJAX')
    if exception or app.builder.format != 'html' or not source:
        return
    target = os.path.join(app.outdir, '_static', 'mathjax')
    for name in ('MathJax.js', 'config/TeX-AMS_SVG.js', 'extensions', 'jax/element', 'jax/input/TeX',
                 'jax/output/SVG/jax.js', 'jax/output/SVG/autoload', 'jax/output/SVG/fonts/TeX'):
        origin, copy = os.path.join(source, name), os.path.join(target, name)
        if os.path.isdir(origin):
            shutil.copytree(origin, copy, dirs_exist_ok=True)
        else:
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copyfile(origin, copy)


def setup(app):
    app.connect('build-finished', copy_mathjax)
