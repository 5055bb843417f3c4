import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RefFile, RefKind } from './storage.ts';

/** What the engine stores for a tag or a branch: the native API returns only a part of it. */
export async function readRefFile(folder: string, kind: RefKind, name: string): Promise<RefFile | undefined> {
  try {
    const text = await readFile(join(folder, '_refs', kind, `${encodeURIComponent(name)}.json`), 'utf8');
    const content: unknown = JSON.parse(text);
    return isObject(content) ? content : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is RefFile {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
