import { nearestName } from './nearest-name.ts';
import type { SettingName } from './settings.ts';

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
