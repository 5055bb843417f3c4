import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { defined } from '../../client/api-client.ts';
import type { Call } from '../../client/api-client.ts';
import { createBranch, deleteBranch } from '../../client/history.ts';
import { mergeRows } from '../../client/rows.ts';
import type { Part } from '../../formats/parts.ts';
import { formatPath } from '../../model/identifier.ts';
import { formatBytes } from '../../plans/format-figure.ts';
import { defineTableCommand } from '../client-command.ts';
import { EXIT, UsageError } from '../command.ts';
import { readOneOf } from '../options.ts';
import type { Given } from '../options.ts';
import { BRANCH_OPTION, YES_OPTION, confirm, readBranch, showPath } from '../session.ts';
import type { TableSession } from '../session.ts';
import { countOf } from '../show/text.ts';
import { findFiles } from './local-files.ts';
import type { InputFile } from './local-files.ts';
import { Progress } from './progress.ts';
import { FILE_OPTIONS, readFileOptions, readTableTypes, withRetries } from './read-options.ts';

export const upsertCommand = defineTableCommand({
  words: ['upsert'],
  names: 'FILE|FOLDER...',
  summary: 'update matching rows from files and insert the others',
  about: `Merges the rows of files into a table. A row of a file matches the row of the table with the same values in the columns of --on. By default, matching rows are updated, other rows of the files are inserted, and other rows of the table stay as they are.

Large files are sent in parts of about 24 MiB, each of them one version. If the command stops halfway, run it again: rows that were already merged match. --preview merges into a temporary branch and shows how many rows would change.`,
  options: [
    { name: 'on', value: 'COLUMN', repeats: true, help: 'column that rows are matched on; may be repeated' },
    { name: 'when-matched', value: 'ACTION', help: 'update (default) or skip' },
    { name: 'update-where', value: 'SQL', help: 'update only if this is true of target.COLUMN and source.COLUMN' },
    { name: 'when-not-matched', value: 'ACTION', help: 'insert (default) or skip' },
    {
      name: 'when-not-in-file',
      value: 'ACTION',
      help: 'what to do with other rows of the table: keep (default) or delete',
    },
    { name: 'delete-where', value: 'SQL', help: 'delete only rows of the table that match this condition' },
    { name: 'preview', help: 'show how many rows would change, then ask for confirmation' },
    YES_OPTION,
    BRANCH_OPTION,
    ...FILE_OPTIONS,
  ],
  examples: [
    'upsert orders changes.csv --on id',
    'upsert orders changes.parquet --on id --preview',
    "upsert stock today/ --on shop --on item --update-where 'source.counted > target.counted'",
    'upsert cities cities.ndjson --on name --when-not-in-file delete',
  ],
  async run(session) {
    const { table, given, terminal } = session;
    refuseTableLast(given.names);
    const merge = readMerge(session);
    const files = await findFiles(given.names.slice(1));
    if (!(await isApproved(session, files, merge))) return EXIT.done;
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    const progress = new Progress(terminal, `merging into ${showPath(table)}`, bytes);
    const counts = await mergeFiles(session, files, { ...merge, progress });
    progress.end();
    const { seconds } = progress;
    const from = `${countOf(files.length, 'file')} (${formatBytes(bytes)})`;
    return {
      reply: { table: formatPath(table), files: files.length, bytes, seconds, ...counts },
      text: `Merged ${from} into ${showPath(table)} in ${seconds.toFixed(1)} s: ${describeCounts(counts)}.\n`,
    };
  },
});

interface Merge {
  readonly on: readonly string[];
  readonly query: NonNullable<Call['query']>;
  readonly deletes: boolean;
}

function readMerge({ given, sqlTexts }: TableSession): Merge {
  const on = given.values('on').flatMap((text) => text.split(',').map((name) => name.trim()));
  if (on.length === 0) throw new UsageError('Give the columns that rows are matched on, such as --on id.');
  const updates = readOneOf(given, 'when-matched', ['update', 'skip']) !== 'skip';
  const inserts = readOneOf(given, 'when-not-matched', ['insert', 'skip']) !== 'skip';
  const deletes = readOneOf(given, 'when-not-in-file', ['keep', 'delete']) === 'delete';
  if (!updates && !inserts && !deletes) throw new UsageError('With these options, nothing would change.');
  requireEffect(given, 'update-where', updates, '--when-matched update');
  requireEffect(given, 'delete-where', deletes, '--when-not-in-file delete');
  const [updateFilter, deleteFilter] = [given.value('update-where'), given.value('delete-where')];
  if (updateFilter !== undefined) sqlTexts.set('when_matched_update_all_filt', updateFilter);
  if (deleteFilter !== undefined) sqlTexts.set('when_not_matched_by_source_delete_filt', deleteFilter);
  const query = {
    when_matched_update_all: updates,
    when_matched_update_all_filt: updateFilter,
    when_not_matched_insert_all: inserts,
    when_not_matched_by_source_delete: deletes,
    when_not_matched_by_source_delete_filt: deleteFilter,
  };
  return { on, query, deletes };
}

function requireEffect(given: Given, option: string, isUsed: boolean, needed: string): void {
  if (given.has(option) && !isUsed) throw new UsageError(`--${option} needs ${needed}.`);
}

function refuseTableLast(names: readonly string[]): void {
  const [first = '', last = ''] = [names[0], names.at(-1)];
  if (!existsSync(first) || existsSync(last)) return;
  throw new UsageError(`${first} is a file. The table comes first: tiltyard upsert ${last} ${first}`);
}

/** Asks before rows are deleted, and always with --preview. */
async function isApproved(session: TableSession, files: readonly InputFile[], merge: Merge): Promise<boolean> {
  const { given, terminal, table, isJson } = session;
  if (!given.has('preview')) {
    if (!merge.deletes) return true;
    return confirm(session, `Delete the rows of ${showPath(table)} that are not in the files?`);
  }
  const counts = await previewMerge(session, files, merge);
  if (isJson && !given.has('yes')) {
    terminal.out(`${JSON.stringify({ preview: counts }, undefined, 2)}\n`);
    return false;
  }
  terminal.err(`In ${showPath(table)}, this would change: ${describeCounts(counts)}.\n`);
  if (given.has('yes') || terminal.ask !== undefined) return confirm(session, 'Merge the files?');
  terminal.err('Nothing was changed: add --yes to merge the files.\n');
  return false;
}

/** Merges into a branch, which is deleted afterwards, so that the table stays unchanged. */
async function previewMerge(session: TableSession, files: readonly InputFile[], merge: Merge): Promise<Counts> {
  const { client, table, given, terminal } = session;
  const name = `tiltyard-preview-${randomUUID()}`;
  await createBranch(client, table, { name, ...defined({ from_branch: given.value('branch') }) });
  try {
    const progress = new Progress(terminal, `previewing ${showPath(table)}`);
    const counts = await mergeFiles(session, files, { ...merge, progress, branch: name });
    progress.end();
    return counts;
  } finally {
    await deleteBranch(client, table, { name });
  }
}

interface Counts {
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  readonly version: number | undefined;
}

interface MergeTarget extends Merge {
  readonly progress: Progress;
  readonly branch?: string;
}

async function mergeFiles(session: TableSession, files: readonly InputFile[], target: MergeTarget): Promise<Counts> {
  const { client, table, given } = session;
  const tableTypes = await readTableTypes(client, table);
  // A missing column may only be noticed at the end of a file, when its rows are already merged.
  const options = { ...readFileOptions(given), tableTypes, mayLackColumns: true };
  const { on, deletes, progress, branch = readBranch(given).branch } = target;
  const query = { ...target.query, branch };
  let counts: Counts = { inserted: 0, updated: 0, deleted: 0, version: undefined };
  const send = async ({ bytes }: Part): Promise<void> => {
    const headers = { 'idempotency-key': randomUUID() };
    const merge = async () => mergeRows(client, table, bytes, { on, query, headers });
    const reply = await withRetries(merge, { onWait: progress.wait });
    counts = {
      inserted: counts.inserted + (reply.num_inserted_rows ?? 0),
      updated: counts.updated + (reply.num_updated_rows ?? 0),
      deleted: counts.deleted + (reply.num_deleted_rows ?? 0),
      version: reply.version,
    };
  };
  const { eachPart } = await import('./import-parts.ts');
  // With several parts, each would delete the rows of the others.
  const kept: Part[] = [];
  let bytesBefore = 0;
  for (const file of files) {
    await eachPart(file, options, async (part) => {
      if (!deletes) await send(part);
      else if (part.rows > 0 || kept.length === 0) kept.push(part);
      if (kept.length > 1) throw new UsageError(DELETE_RULE);
      progress.show(bytesBefore + part.endByte, counts.inserted + counts.updated);
    });
    bytesBefore += file.size;
  }
  for (const part of kept) await send(part);
  return counts;
}

const DELETE_RULE =
  '--when-not-in-file delete needs all rows in one file of at most about 24 MiB. Merge without it, then delete rows with "tiltyard delete".';

function describeCounts({ inserted, updated, deleted }: Counts): string {
  const parts = [`${countOf(inserted, 'row')} inserted`, `${countOf(updated, 'row')} updated`];
  return [...parts, ...(deleted === 0 ? [] : [`${countOf(deleted, 'row')} deleted`])].join(', ');
}
