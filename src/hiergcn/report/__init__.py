"""HTML pages of runs and comparisons. Each page is one file and works offline."""

from hiergcn.report.comparison import write_comparison_page as write_comparison_page
from hiergcn.report.run_page import write_report as write_report
