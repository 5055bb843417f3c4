import { createHash, randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CommandFault } from '../command.ts';
import type { InputFile } from './local-files.ts';

/** How far an import came, in a file beside its input, so that it can go on. */
export interface ImportState {
  readonly id: string;
  /** Of everything that decides what a part holds. */
  readonly digest: string;
  /** Parts that the server has confirmed. */
  readonly parts: number;
  readonly rows: number;
  /** Rows of the table before the first part. */
  readonly rowsBefore: number;
  /** A part that was sent and not yet confirmed. */
  readonly pendingRows?: number;
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

/** The state to begin with: a new one, or that of the import that is to go on. */
export async function openState(
  path: string,
  { digest, resume }: { readonly digest: string; readonly resume: boolean },
): Promise<ImportState | undefined> {
  const found = await readState(path);
  if (found === undefined) return undefined;
  if (!resume) {
    throw new CommandFault([
      `An import of this did not finish. Go on with --resume, or delete ${path} and start again.`,
    ]);
  }
  if (found.digest === digest) return found;
  throw new CommandFault([
    `The files or options are not those of the import that did not finish. Delete ${path} to start again.`,
  ]);
}

export function newState(digest: string, rowsBefore: number): ImportState {
  return { id: randomUUID(), digest, parts: 0, rows: 0, rowsBefore };
}

export async function saveState(path: string, state: ImportState): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(state));
  await rename(`${path}.new`, path);
}

export async function forgetState(path: string): Promise<void> {
  await rm(path, { force: true });
}

async function readState(path: string): Promise<ImportState | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The file is our own; its digest is compared next.
    return JSON.parse(text) as ImportState;
  } catch {
    throw new CommandFault([`${path} is damaged. Delete it, and look at the table before you start again.`]);
  }
}
