import { readFile } from 'node:fs/promises';
import { placeLocation } from '../model/table.ts';
import type { Place } from '../model/table.ts';
import { isRemote } from './connections.ts';

/**
 * What the engine keeps of a tag or a branch, as it stands in its file: the native layer hands back only a part of it.
 * Nothing for tables on an object store, or when the file is not as expected: then the engine is asked in other ways.
 */
export async function readRefFile(
  place: Place,
  kind: 'tags' | 'branches',
  name: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (isRemote(place.root)) return undefined;
  try {
    const text = await readFile(`${placeLocation(place)}/_refs/${kind}/${encodeURIComponent(name)}.json`, 'utf8');
    const content: unknown = JSON.parse(text);
    return isObject(content) ? content : undefined;
  } catch {
    return undefined;
  }
}

/** A tag or a branch that needs a version of another branch; `branch` is absent for the main one. */
export interface Pin {
  readonly kind: 'tag' | 'branch';
  readonly name: string;
  readonly branch: string | undefined;
  readonly version: number;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
