"""A report as the bytes of a file, in each format that is one."""

from typing import Final

from tachograph.adapters.exporters.report_csv import report_csv
from tachograph.adapters.reports.report import Report, Section, json_line

FORMS: Final = ("csv", "json", "html", "pdf", "parquet")
OF_ONE_SECTION: Final = ("csv", "parquet")


def written(report: Report, form: str, section: Section | None = None) -> bytes:
    """
    Return a report as the bytes of a file.

    Args:
        form: One of FORMS.
        section: For csv and parquet: that one. Of Parquet, which holds one table, the last one otherwise.
    Raises:
        ExtraMissing: What the format needs isn't installed.
    """
    if form == "html":
        from tachograph.adapters.exporters.report_html import report_html

        return report_html(report).encode()
    if form == "pdf":
        from tachograph.adapters.exporters.report_pdf import report_pdf

        return report_pdf(report)
    if form == "parquet":
        from tachograph.adapters.exporters.report_parquet import report_parquet

        return report_parquet(report, section or report.sections[-1])
    if form == "csv":
        lines = report_csv(report, section)
    else:
        lines = iter([*report.lines(), json_line({"digest": report.digest})])
    return "".join(f"{line}\n" for line in lines).encode()
