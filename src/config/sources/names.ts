import { nearestName } from '../../model/field-path.ts';

/** A value from a file, a variable or a flag. `origin` tells the operator where to find it. */
export interface Given {
  readonly name: string;
  readonly origin: string;
  readonly raw: unknown;
}

/** The values of one source, and sentences about its faults. */
export interface Source {
  readonly given: Given[];
  readonly faults: string[];
}

/** One value per setting and source: two are refused, even if they are equal. */
export function addGiven({ given, faults }: Source, value: Given): void {
  const earlier = given.find(({ name }) => name === value.name);
  if (earlier === undefined) given.push(value);
  else if (earlier.origin === value.origin) faults.push(`${value.origin} is given twice.`);
  else faults.push(`${value.origin} and ${earlier.origin} are the same setting.`);
}

/** The hint at the end of a sentence about an unknown name; empty if no known name is similar. */
export function nearNameHint(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? '' : ` Did you mean ${nearest}?`;
}

/** `arrow.columnsMax` is `TILTYARD_ARROW_COLUMNS_MAX` in the environment and `--arrow-columns-max` as a flag. */
export const VARIABLE_PREFIX = 'TILTYARD_';

export function variableOf(settingName: string): string {
  return VARIABLE_PREFIX + wordsOf(settingName).join('_').toUpperCase();
}

export function flagOf(settingName: string): string {
  return `--${wordsOf(settingName).join('-')}`;
}

/** The flag that disables a boolean setting. */
export function negativeFlagOf(settingName: string): string {
  return `--no-${wordsOf(settingName).join('-')}`;
}

function wordsOf(settingName: string): string[] {
  return settingName.replace(/[A-Z]/g, (letter) => `.${letter.toLowerCase()}`).split('.');
}
