"""The page of `hiergcn reproduce`, made from the store of results alone.

README.md, index.html     the page
figures/                  every figure as SVG and PNG
results.json              every run that the page rests on; the page can be made from it again
runs.csv, cells.csv       the same as tables: a row for each run, a row for each mean
verdicts.json             what became of each statement of the paper
"""

from hiergcn.report.paper.page import write_paper_page as write_paper_page
