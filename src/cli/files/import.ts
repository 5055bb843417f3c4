import { existsSync } from 'node:fs';
import { defined } from '../../client/api-client.ts';
import type { ApiClient } from '../../client/api-client.ts';
import { ClientError, ConnectionError } from '../../client/client-error.ts';
import { restoreTable } from '../../client/history.ts';
import { countRows, findRowCount, insertRows } from '../../client/rows.ts';
import { createTable, describeTable, dropTable } from '../../client/tables.ts';
import { ServiceError } from '../../errors/service-error.ts';
import type { Part } from '../../formats/parts.ts';
import { formatPath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { formatBytes, formatCount } from '../../plans/format-figure.ts';
import { defineClientCommand } from '../client-command.ts';
import { UsageError } from '../command.ts';
import { readOneOf } from '../options.ts';
import { requireTable, showPath } from '../session.ts';
import { countOf } from '../show/text.ts';
import type { PartOptions, PlannedFile } from './import-parts.ts';
import { describeVectors, showPlan } from './import-plan.ts';
import { deleteState, digestOf, newState, openState, saveState, statePath } from './import-state.ts';
import type { ImportState } from './import-state.ts';
import { findFiles } from './local-files.ts';
import type { InputFile } from './local-files.ts';
import { Progress, showSeconds } from './progress.ts';
import { FILE_OPTIONS, readFileOptions, readTableTypes, withRetries } from './read-options.ts';

const MODES = ['create', 'append', 'overwrite'] as const;
export type Mode = (typeof MODES)[number];

export const importCommand = defineClientCommand({
  words: ['import'],
  names: 'FILE|FOLDER... TABLE',
  summary: 'load files (Arrow, Parquet, CSV, JSON) into a table',
  about: `Creates a table from files, or adds their rows to a table. The format is detected from the contents and the extension. The types of CSV and JSON columns are detected from the first rows, and lists of floats that all have one length of at least 8 become vectors; --mode append uses the types of the table. Large files are sent in parts of about 24 MiB, each of them one version. After an interruption, --resume continues without duplicate rows.`,
  options: [
    { name: 'mode', value: 'MODE', help: 'create (default), append or overwrite' },
    ...FILE_OPTIONS,
    { name: 'dry-run', help: 'print the plan: columns, types and why; send nothing' },
    { name: 'resume', help: 'continue an import that did not finish' },
  ],
  examples: [
    'import people.csv people',
    'import products.parquet products --dry-run',
    'import --mode append --type code=utf8 2024/ eu/orders',
    'import items.parquet items --rename embedding=vector --vector embedding:768',
  ],
  advice: ({ status }) =>
    status === 409
      ? 'Use --mode append to add the rows, or --mode overwrite to replace the rows and the schema.'
      : undefined,
  async run(session) {
    const { client, given, terminal } = session;
    refuseTableFirst(given.names);
    const table = requireTable(given, given.names.length - 1);
    const mode = readOneOf(given, 'mode', MODES) ?? 'create';
    const files = await findFiles(given.names.slice(0, -1));
    const options = readFileOptions(given);
    const tableTypes = mode === 'append' ? await readTableTypes(client, table) : new Map<string, string>();
    if (given.has('dry-run')) return showPlan(session, { table, mode, files, options: { ...options, tableTypes } });
    const path = statePath(files, `${client.url} ${client.database ?? ''} ${formatPath(table)}`);
    const digest = digestOf(files, [mode, options]);
    const earlier = await openState(path, { digest, resume: given.has('resume') });
    const state =
      earlier === undefined
        ? newState(digest, await readBase(client, table, mode))
        : await resolvePending(client, table, earlier);
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    const progress = new Progress(terminal, `importing ${showPath(table)}`, bytes);
    const onPlan = (plan: PlannedFile): void => terminal.err(describeVectors(plan));
    const sender = new Sender({ client, table, mode, path, progress, onPlan }, state);
    await sender.sendFiles(files, { ...options, tableTypes });
    progress.end();
    await deleteState(path);
    const { rows, parts } = sender.state;
    const { seconds } = progress;
    const figures = { files: files.length, rows, bytes, parts, seconds, version: sender.version };
    const from = files.length === 1 ? formatBytes(bytes) : `${formatBytes(bytes)} in ${countOf(files.length, 'file')}`;
    const text = `Imported ${countOf(rows, 'row')} (${from}) into ${showPath(table)} in ${showSeconds(seconds)}.\n`;
    return { reply: { table: formatPath(table), ...figures }, text };
  },
});

function refuseTableFirst(names: readonly string[]): void {
  const [first = '', last = ''] = [names[0], names.at(-1)];
  if (existsSync(first) || !existsSync(last)) return;
  throw new UsageError(`${last} is a file. The table comes last: tiltyard import ${last} ${first}`);
}

interface Target {
  readonly client: ApiClient;
  readonly table: TablePath;
  readonly mode: Mode;
  readonly path: string;
  readonly progress: Progress;
  /** Called with the first file, whose columns the others follow. */
  readonly onPlan: (plan: PlannedFile) => void;
}

/** Sends parts one after the other. The state is saved before and after each, so an interrupted import can resume. */
class Sender {
  version: number | undefined;
  state: ImportState;
  readonly #target: Target;
  /** Parts of this run, and those of them that an earlier run has sent. */
  #seen = 0;
  readonly #skipped: number;

  constructor(target: Target, state: ImportState) {
    this.#target = target;
    this.state = state;
    this.#skipped = state.parts;
  }

  async sendFiles(files: readonly InputFile[], options: PartOptions): Promise<void> {
    const { withPlan } = await import('./import-parts.ts');
    const { onPlan, progress } = this.#target;
    let types = options.tableTypes;
    let bytesBefore = 0;
    try {
      for (const [index, file] of files.entries()) {
        const columns = await withPlan(file, { ...options, tableTypes: types }, async (plan) => {
          if (index === 0) onPlan(plan);
          for await (const part of plan.parts()) {
            await this.#send(part, index === 0 && this.#seen === 0);
            progress.show(bytesBefore + part.endByte, this.state.rows);
          }
          return plan.columns;
        });
        // Later files follow the first.
        if (types.size === 0) types = new Map(columns.map(({ name, type }) => [name, type]));
        bytesBefore += file.size;
      }
    } catch (error) {
      // The file is at fault: it would fail again at the same row.
      throw error instanceof ServiceError ? await this.#takeBack(error) : error;
    }
  }

  /** Nothing stays of a file that cannot be read to its end, unless others changed the table meanwhile. */
  async #takeBack(error: ServiceError): Promise<ServiceError> {
    const { client, table, path } = this.#target;
    const { rows, parts, rowsBefore, baseVersion } = this.state;
    await deleteState(path);
    if (parts === 0) return error;
    const isUnchanged = (await findRowCount(client, table)) === rowsBefore + rows;
    const outcome =
      isUnchanged && (await restoreBase(client, table, baseVersion))
        ? 'The rows before it were rolled back: nothing was imported.'
        : `${countOf(rows, 'row')} before it stay in ${showPath(table)}.`;
    return new ServiceError(error.kind, `${error.message} ${outcome}`, { ...hintOf(error), cause: error.cause });
  }

  async #send(part: Part, isFirst: boolean): Promise<void> {
    if (part.rows === 0 && !isFirst) return;
    this.#seen += 1;
    if (this.#seen <= this.#skipped) return;
    const { path } = this.#target;
    await saveState(path, { ...this.state, pendingRows: part.rows });
    try {
      this.version = (await this.#request(part, isFirst)).version ?? this.version;
    } catch (error) {
      // A refused part is not in the table.
      if (error instanceof ClientError) {
        await (this.state.parts === 0 ? deleteState(path) : saveState(path, this.state));
      }
      throw withAdvice(error);
    }
    this.state = { ...this.state, parts: this.state.parts + 1, rows: this.state.rows + part.rows };
    await saveState(path, this.state);
  }

  async #request({ bytes }: Part, isFirst: boolean): Promise<{ readonly version?: number }> {
    const { client, table, mode } = this.#target;
    const headers = { 'idempotency-key': `${this.state.id}-${this.state.parts}` };
    return withRetries(async () => {
      if (isFirst && mode !== 'append') return createTable(client, table, bytes, { mode, headers });
      return insertRows(client, table, bytes, { headers });
    });
  }
}

function hintOf({ hint }: ServiceError): { readonly hint?: string } {
  return hint === undefined ? {} : { hint };
}

function withAdvice(error: unknown): unknown {
  if (error instanceof ConnectionError) error.message = `${error.message} When it answers again, use --resume.`;
  return error;
}

/** Finds out from the row count whether the part that was sent last is in the table. */
async function resolvePending(client: ApiClient, table: TablePath, state: ImportState): Promise<ImportState> {
  const { pendingRows, ...settled } = state;
  if (pendingRows === undefined) return settled;
  const rows = await findRowCount(client, table);
  const before = state.rowsBefore + state.rows;
  if (rows === before + pendingRows) return { ...settled, parts: state.parts + 1, rows: state.rows + pendingRows };
  if (rows === before || (rows === undefined && state.parts === 0)) return settled;
  throw new UsageError(
    `The table has ${formatCount(rows ?? 0)} rows instead of ${formatCount(before)} or ${formatCount(before + pendingRows)}: it was changed in the meantime. Check its rows, and start a new import.`,
  );
}

/** Returns false when the server refuses it, for instance because the caller may not drop tables. */
async function restoreBase(client: ApiClient, table: TablePath, version: number | undefined): Promise<boolean> {
  try {
    if (version === undefined) await dropTable(client, table);
    else await restoreTable(client, table, { version });
    return true;
  } catch {
    return false;
  }
}

/** What the table is before the first part; without a version, there is none. */
async function readBase(
  client: ApiClient,
  table: TablePath,
  mode: Mode,
): Promise<Pick<ImportState, 'rowsBefore' | 'baseVersion'>> {
  if (mode === 'create') return { rowsBefore: 0 };
  const rows = mode === 'append' ? await countRows(client, table) : await findRowCount(client, table);
  if (rows === undefined) return { rowsBefore: 0 };
  const { version } = await describeTable(client, table);
  return { rowsBefore: mode === 'append' ? rows : 0, ...defined({ baseVersion: version }) };
}
