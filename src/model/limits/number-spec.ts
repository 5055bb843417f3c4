export const KiB = 1024;
export const MiB = 1024 * KiB;
export const GiB = 1024 * MiB;
export const TiB = 1024 * GiB;

export const HOUR = 3600;
export const DAY = 24 * HOUR;

/** A number that an operator may set. */
export interface NumberSpec {
  readonly type: 'integer' | 'bytes' | 'seconds';
  readonly default: number;
  /** Describes a default that depends on the machine. */
  readonly defaultText: string | undefined;
  readonly range: readonly [min: number, max: number];
  readonly help: string;
}

export const integer = numberSpec('integer');
export const bytes = numberSpec('bytes');
export const seconds = numberSpec('seconds');

function numberSpec(type: NumberSpec['type']) {
  return (fallback: number, range: NumberSpec['range'], help: string, defaultText?: string): NumberSpec => {
    return { type, default: fallback, defaultText, range, help };
  };
}
