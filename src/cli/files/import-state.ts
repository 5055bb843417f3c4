import { createHash, randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { defined } from '../../client/api-client.ts';
import { parseJson } from '../../model/strict-json.ts';
import { UsageError } from '../command.ts';
import { replaceFile } from './local-files.ts';
import type { InputFile } from './local-files.ts';

/** The progress of an import, kept in a file next to its input for --resume. */
export interface ImportState {
  readonly id: string;
  /** Of the files and options that determine the contents of each part. */
  readonly digest: string;
  /** Parts that the server has, and their rows. */
  readonly parts: number;
  readonly rows: number;
  /** For several parts, which wait on the server until the last one has arrived. */
  readonly uploadId?: string;
  /** The version of the table before the rows are added; absent if it does not exist. */
  readonly baseVersion?: number;
  /** Whether the import has created the table, without rows. */
  readonly isCreated?: boolean;
  /** Present while the request that adds all rows is being sent. */
  readonly pendingRows?: number;
  /** When that was first sent, in milliseconds since 1970. */
  readonly pendingSince?: number;
}

export function statePath(files: readonly InputFile[], table: string): string {
  const first = files[0]?.path ?? '';
  const name = `.${basename(first)}.${createHash('sha256').update(table).digest('hex').slice(0, 8)}.tiltyard-import`;
  return join(dirname(first), name);
}

export function digestOf(files: readonly InputFile[], choices: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([files, choices]))
    .digest('hex');
}

/** The state of the import to resume; `undefined` to start a new one. */
export async function openState(
  path: string,
  { digest, resume }: { readonly digest: string; readonly resume: boolean },
): Promise<ImportState | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined && resume) {
    throw new UsageError(
      `There is no unfinished import of these files to resume: it has finished, or nothing was sent. Check the table, then start the import without --resume.`,
    );
  }
  if (text === undefined) return undefined;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The file is our own; its digest is compared below.
  const found = parseJson(text) as ImportState | undefined;
  if (found === undefined) {
    throw new UsageError(`${path} is damaged. Check the rows of the table, then delete the file and start again.`);
  }
  if (!resume) {
    throw new UsageError(
      `An earlier import of these files was interrupted. Continue it with --resume, or delete ${path} to start again.`,
    );
  }
  if (found.digest === digest) return found;
  throw new UsageError(
    `The files or options differ from those of the unfinished import. Delete ${path} to start again.`,
  );
}

export function newState(digest: string, baseVersion: number | undefined): ImportState {
  return { id: randomUUID(), digest, parts: 0, rows: 0, ...defined({ baseVersion }) };
}

export async function saveState(path: string, state: ImportState): Promise<void> {
  await replaceFile(path, JSON.stringify(state));
}

export async function deleteState(path: string): Promise<void> {
  await rm(path, { force: true });
}
