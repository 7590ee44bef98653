"""The page of a run, made from the files of its folder alone."""

from hiergcn.report.page import write_report as write_report
