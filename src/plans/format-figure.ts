import type { MetricUnit } from '../model/query.ts';
import { formatCount } from '../model/value-text.ts';
import type { MeasuredSearchContent } from '../wire/indexes.ts';

export { formatCount } from '../model/value-text.ts';

/** Three digits and a unit. */
export function formatFigure(value: number, unit: MetricUnit): string {
  return { nanoseconds: formatTime, bytes: formatBytes, count: formatCount }[unit](value);
}

export function formatTime(nanoseconds: number): string {
  return scaled(nanoseconds, [
    [1e9, ' s'],
    [1e6, ' ms'],
    [1e3, ' µs'],
    [1, ' ns'],
  ]);
}

export function formatBytes(bytes: number): string {
  return scaled(bytes, [
    [2 ** 40, ' TiB'],
    [2 ** 30, ' GiB'],
    [2 ** 20, ' MiB'],
    [2 ** 10, ' KiB'],
    [1, ' B'],
  ]);
}

export function formatShare(share: number): string {
  const percent = share * 100;
  return percent > 0 && percent < 1 ? '< 1%' : `${Math.round(percent)}%`;
}

export function formatRows(count: number): string {
  return `${formatCount(count)} ${Math.round(count) === 1 ? 'row' : 'rows'}`;
}

/** The parameters of a vector index search. */
export function formatSearchSettings({
  nprobes,
  all_partitions: isAll,
  exact,
  refine_factor: refine,
  ef,
}: MeasuredSearchContent): string {
  if (exact === true) return 'an exact search';
  const words = [
    isAll === true ? 'all partitions' : `nprobes ${nprobes ?? 'by default'}`,
    ...(refine === undefined ? [] : [`refine_factor ${refine}`]),
    ...(ef === undefined ? [] : [`ef ${ef}`]),
  ];
  return words.join(', ');
}

function scaled(value: number, scales: readonly (readonly [size: number, unit: string])[]): string {
  const [size, unit] = scales.find(([least]) => value >= least) ?? scales.at(-1) ?? [1, ''];
  const number = value / size;
  return `${number >= 100 || size === 1 ? Math.round(number) : Number(number.toPrecision(3))}${unit}`;
}
