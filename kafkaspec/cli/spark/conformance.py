"""``kafkaspec spark conformance``: compare several codecs on the same segments."""

from __future__ import annotations

import click

from kafkaspec.cli.console import count_text, say
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.options import CodecName, format_option
from kafkaspec.cli.report import Output, ReportCommand, Reporter, Tally, line
from kafkaspec.cli.spark.options import output_option, paths_argument, split_option, tasks_option
from kafkaspec.cli.spark.session import check_outputs, save, session

_SHOWN = 100

OUTPUT = Output(
    difference=line("kafkaspec.spark.jobs.conformance:DIFFERENCES"),
    summary={
        **dict.fromkeys(("batches", "records", "refused", "differences", "segments"), int),
        "codecs": list[str],
    },
)


@click.command("conformance", cls=ReportCommand, output=OUTPUT)
@paths_argument
@click.option(
    "--codec",
    "codecs",
    type=CodecName(),
    multiple=True,
    help="Codec; give two or more. All installed ones by default.",
)
@split_option
@tasks_option
@output_option("Differences and parts as Parquet: OUT/differences, OUT/parts.")
@format_option
@click.pass_context
def conformance_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    codecs: tuple[str, ...],
    split_bytes: int,
    tasks: int | None,
    output: str | None,
    output_format: str,
) -> None:
    """Compare what several codecs read from the same batches.

    Codecs must agree on every field, every record and every refusal.

    Exit codes: 0 they agree, 1 they do not, 2 wrong usage or something cannot be read.
    """
    from kafkaspec.spark.jobs.conformance import conformance

    if len(codecs) == 1:
        raise click.UsageError("--codec: give at least two")
    check_outputs(paths, output)
    with session(ctx) as spark:
        found = conformance(
            spark, paths, codecs=codecs or None, split_bytes=split_bytes, tasks=tasks
        )
        save(output, differences=found.differences, parts=found.parts)
        parts = [row.asDict() for row in found.parts.collect()]
        rows = [row.asDict() for row in found.differences.limit(_SHOWN).collect()]
    total = {
        name: sum(part[name] for part in parts)
        for name in ("batches", "records", "refused", "differences")
    }
    total["segments"] = len({part["file"] for part in parts})
    report = Reporter(ctx, output_format)
    if report.as_json:
        for row in rows:
            report.line("difference", row)
    else:
        for row in rows:
            say(
                f"{row['file']} at byte {row['position']}: {row['path'] or '(batch)'}: "
                f"{row['codec']} {row['value']}, {row['other_codec']} {row['other_value']}"
            )
        if total["differences"] > len(rows):
            say(f"... {total['differences'] - len(rows):,} more")
        verdict = "do not agree" if total["differences"] else "agree"
        parts_of_line = [
            count_text(total["segments"], "segment"),
            count_text(total["batches"], "batch", "batches"),
            count_text(total["records"], "record"),
            count_text(total["differences"], "difference")
            if total["differences"]
            else count_text(total["refused"], "batch", "batches") + " refused by all alike",
        ]
        say(f"codecs {', '.join(found.codecs)} {verdict}: {', '.join(parts_of_line)}")
    tally = Tally(
        FINDINGS if total["differences"] else CLEAN,
        logs=total["segments"],
        findings=total["differences"],
    )
    report.finish(tally, codecs=found.codecs, **total)
