"""The pages of runs and comparisons, made from the files of their folders alone."""

from hiergcn.report.comparison_page import write_comparison_page as write_comparison_page
from hiergcn.report.run_page import write_report as write_report
