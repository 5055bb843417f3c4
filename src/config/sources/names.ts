import type { SettingName } from '../settings/settings.ts';

/** A value as a file, a variable or a flag gave it. `origin` is how the operator finds it again. */
export interface Given {
  readonly name: SettingName;
  readonly origin: string;
  readonly raw: unknown;
}

export interface Source {
  readonly given: readonly Given[];
  readonly faults: readonly string[];
}

/** What is collected while a source is read. */
export interface OpenSource {
  readonly given: Given[];
  readonly faults: string[];
}

/** One value per setting and source: of two, nobody could say which was meant. */
export function addGiven(source: OpenSource, given: Given): void {
  const earlier = source.given.find((each) => each.name === given.name);
  if (earlier === undefined) {
    source.given.push(given);
    return;
  }
  const both = earlier.origin === given.origin ? 'is given twice' : `and ${earlier.origin} are the same setting`;
  source.faults.push(`${given.origin} ${both}.`);
}

/** The hint at the end of a sentence about an unknown name. */
export function nearNameHint(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return near === undefined ? '' : ` Did you mean ${near}?`;
}

/** The known name that a misspelt one most likely means, if any is near enough. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const limit = Math.max(2, Math.floor(given.length / 4));
  let nearest: string | undefined;
  let least = limit + 1;
  for (const name of known) {
    if (Math.abs(name.length - given.length) >= least) continue;
    const distance = editDistance(given.toLowerCase(), name.toLowerCase());
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

/** Insertions, deletions and replacements that turn one text into the other (Levenshtein). */
export function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 1; line <= from.length; line += 1) {
    const current = [line];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = cell(previous, column - 1) + (from[line - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, cell(previous, column) + 1, cell(current, column - 1) + 1));
    }
    previous = current;
  }
  return cell(previous, to.length);
}

function cell(cells: readonly number[], index: number): number {
  return cells[index] ?? Number.POSITIVE_INFINITY;
}

/** `arrow.columnsMax` is `TILTYARD_ARROW_COLUMNS_MAX` in the environment and `--arrow-columns-max` as a flag. */
export const VARIABLE_PREFIX = 'TILTYARD_';

export function variableOf(settingName: string): string {
  return VARIABLE_PREFIX + wordsOf(settingName).join('_').toUpperCase();
}

export function flagOf(settingName: string): string {
  return `--${wordsOf(settingName).join('-')}`;
}

/** The flag that turns a boolean setting off. */
export function negativeFlagOf(settingName: string): string {
  return `--no-${wordsOf(settingName).join('-')}`;
}

function wordsOf(settingName: string): string[] {
  return settingName.replace(/[A-Z]/g, (letter) => `.${letter.toLowerCase()}`).split('.');
}
