import { formatBytes, formatCount, formatTime } from '../../plans/format-figure.ts';
import { drawTable } from '../show/draw-table.ts';
import type { Canvas } from '../show/draw-table.ts';
import type { Measured } from './run-work.ts';

/** Together they fit into 80 columns. */
const HEADS = [
  { title: 'what' },
  { title: 'count', align: 'right' },
  { title: 'rate', align: 'right' },
  { title: 'median', align: 'right' },
  { title: 'p95', align: 'right' },
  { title: 'p99', align: 'right' },
  { title: 'errors', align: 'right' },
  { title: 'sent', align: 'right' },
  { title: 'received', align: 'right' },
] as const;

export function drawFigures(all: readonly Measured[], canvas: Canvas): string {
  const rows = all.map(({ kind, latencies, rate, errors, bytesSent, bytesReceived }) => [
    kind,
    formatCount(latencies.count),
    `${rate < 100 ? rate.toFixed(1) : formatCount(rate)}/s`,
    ...[0.5, 0.95, 0.99].map((share) => milliseconds(latencies.quantile(share))),
    formatCount(errors),
    formatBytes(bytesSent),
    formatBytes(bytesReceived),
  ]);
  return drawTable(HEADS, rows, canvas);
}

function milliseconds(value: number | undefined): string {
  return value === undefined ? '–' : formatTime(value * 1e6);
}

export function figuresToJson({
  kind,
  latencies,
  rate,
  errors,
  firstError,
  bytesSent,
  bytesReceived,
}: Measured): object {
  return {
    what: kind,
    operations: latencies.count,
    rate_per_second: rounded(rate),
    median_ms: rounded(latencies.quantile(0.5)),
    p95_ms: rounded(latencies.quantile(0.95)),
    p99_ms: rounded(latencies.quantile(0.99)),
    max_ms: rounded(latencies.quantile(1)),
    errors,
    ...(firstError === undefined ? {} : { first_error: firstError }),
    bytes_sent: bytesSent,
    bytes_received: bytesReceived,
  };
}

function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.toPrecision(4));
}
