import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../client/api-client.ts';
import { ClientError, ConnectionError } from '../../client/client-error.ts';
import { countRows, findRowCount, insertRows, openQuery } from '../../client/rows.ts';
import { createTable } from '../../client/tables.ts';
import { readStream } from '../../formats/arrow/arrow-source.ts';
import { FORMATS } from '../../formats/format.ts';
import type { ColumnChoice } from '../../formats/open-reader.ts';
import type { Part } from '../../formats/parts.ts';
import { formatType } from '../../formats/types/type-text.ts';
import { formatPath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { formatBytes, formatCount } from '../../plans/format-figure.ts';
import { defineClientCommand } from '../client-command.ts';
import { UsageError } from '../command.ts';
import { readNumber, readOneOf } from '../options.ts';
import type { Given } from '../options.ts';
import { requireTable, showPath } from '../session.ts';
import { countIs, countOf } from '../show/text.ts';
import { eachPart } from './import-parts.ts';
import type { PartOptions } from './import-parts.ts';
import { deleteState, digestOf, newState, openState, saveState, statePath } from './import-state.ts';
import type { ImportState } from './import-state.ts';
import { findFiles } from './local-files.ts';
import type { InputFile } from './local-files.ts';
import { Progress } from './progress.ts';

const MODES = ['create', 'append', 'overwrite'] as const;
type Mode = (typeof MODES)[number];

const ATTEMPTS_MAX = 6;
const PAUSE_SECONDS_MAX = 30;

export const importCommand = defineClientCommand({
  words: ['import'],
  names: 'FILE|FOLDER... TABLE',
  summary: 'load files (Arrow, Parquet, CSV, NDJSON) into a table',
  about: `Makes a table of files, or adds their rows. The contents and the extension tell the format; of CSV and NDJSON the types are guessed from the first rows, or are those of the table. Large files are sent in parts of about 24 MiB, each of them one version. When it is interrupted, --resume goes on without doubling rows.`,
  options: [
    { name: 'mode', value: 'MODE', help: 'create (default), append or overwrite' },
    { name: 'format', value: 'FORMAT', help: `${FORMATS.join(', ')}; else by contents and extension` },
    { name: 'column', value: 'NAME=TYPE', repeats: true, help: 'type of a column, such as vec=float32[128]' },
    { name: 'rename', value: 'NAME=NEW', repeats: true, help: 'another name for a column' },
    { name: 'skip', value: 'NAME', repeats: true, help: 'leave a column out' },
    { name: 'delimiter', value: 'CHARACTER', help: 'of CSV; guessed when absent' },
    { name: 'no-header', help: 'the first row of a CSV file is data' },
    { name: 'batch-rows', value: 'N', help: 'rows in a request at most' },
    { name: 'resume', help: 'go on with an import that did not finish' },
  ],
  examples: [
    'import people.csv people',
    'import --mode append --column code=utf8 2024/ eu/orders',
    'import items.parquet items --rename embedding=vector --column embedding=float32[768]',
  ],
  advice: ({ status }) =>
    status === 409 ? '--mode append adds the rows, --mode overwrite replaces rows and schema.' : undefined,
  async run({ client, given, terminal }) {
    refuseTableFirst(given.names);
    const table = requireTable(given, given.names.length - 1);
    const mode = readOneOf(given, 'mode', MODES) ?? 'create';
    const files = await findFiles(given.names.slice(0, -1));
    const options = readOptions(given);
    const tableTypes = mode === 'append' ? await readTypes(client, table) : new Map<string, string>();
    const path = statePath(files, `${client.url} ${client.database ?? ''} ${formatPath(table)}`);
    const digest = digestOf(files, [mode, options]);
    const earlier = await openState(path, { digest, resume: given.has('resume') });
    const state =
      earlier === undefined
        ? newState(digest, mode === 'append' ? await countRows(client, table) : 0)
        : await resolvePending(client, table, earlier);
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    const progress = new Progress(terminal, `importing ${showPath(table)}`, bytes);
    const sender = new Sender({ client, table, mode, path, progress }, state);
    await sender.sendFiles(files, { ...options, tableTypes });
    progress.end();
    await deleteState(path);
    const { rows, parts } = sender.state;
    const { seconds } = progress;
    const figures = { files: files.length, rows, bytes, parts, seconds, version: sender.version };
    const from = `${countOf(files.length, 'file')} (${formatBytes(bytes)})`;
    const text = `${countIs(rows, 'row')} in ${showPath(table)}, of ${from}, after ${seconds} s.\n`;
    return { reply: { table: formatPath(table), ...figures }, text };
  },
});

function refuseTableFirst(names: readonly string[]): void {
  const [first = '', last = ''] = [names[0], names.at(-1)];
  if (existsSync(first) || !existsSync(last)) return;
  throw new UsageError(`${last} is a file; the table comes last: tiltyard import ${last} ${first}`);
}

interface Target {
  readonly client: ApiClient;
  readonly table: TablePath;
  readonly mode: Mode;
  readonly path: string;
  readonly progress: Progress;
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
    let types = options.tableTypes;
    let bytesBefore = 0;
    for (const [index, file] of files.entries()) {
      const columns = await eachPart(file, { ...options, tableTypes: types }, async (part) => {
        await this.#send(part, index === 0 && this.#seen === 0);
        this.#target.progress.show(bytesBefore + part.endByte, this.state.rows);
      });
      // Later files of text follow the first.
      if (types.size === 0) types = new Map(columns.map(({ name, type }) => [name, type]));
      bytesBefore += file.size;
    }
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
      throw error;
    }
    this.state = { ...this.state, parts: this.state.parts + 1, rows: this.state.rows + part.rows };
    await saveState(path, this.state);
  }

  async #request({ bytes }: Part, isFirst: boolean): Promise<{ readonly version?: number }> {
    const { client, table, mode } = this.#target;
    const headers = { 'idempotency-key': `${this.state.id}-${this.state.parts}` };
    for (let attempt = 1; ; attempt += 1) {
      try {
        if (isFirst && mode !== 'append') return await createTable(client, table, bytes, { mode, headers });
        return await insertRows(client, table, bytes, { headers });
      } catch (error) {
        const wait = error instanceof ClientError ? error.retryAfterSeconds : undefined;
        if (wait === undefined || attempt === ATTEMPTS_MAX) throw withAdvice(error);
        await sleep(Math.min(wait, PAUSE_SECONDS_MAX) * 1000);
      }
    }
  }
}

function withAdvice(error: unknown): unknown {
  if (error instanceof ConnectionError) error.message = `${error.message} When it answers again, --resume goes on.`;
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
    `The table has ${formatCount(rows ?? 0)} rows where ${formatCount(before)} or ${formatCount(before + pendingRows)} were expected: others changed it meanwhile, so that the import cannot go on safely.`,
  );
}

async function readTypes(client: ApiClient, table: TablePath): Promise<ReadonlyMap<string, string>> {
  const { body } = await openQuery(client, table, { k: 1 });
  if (body === null) return new Map();
  const { schema, batches } = await readStream(body);
  for await (const batch of batches) void batch;
  return new Map(schema.fields.map(({ name, type }) => [name, formatType(type)]));
}

function readOptions(given: Given): Omit<PartOptions, 'tableTypes'> {
  return {
    format: readOneOf(given, 'format', FORMATS),
    columns: readChoices(given),
    partRows: readNumber(given, 'batch-rows', 1) ?? Number.MAX_SAFE_INTEGER,
    csv: { delimiter: given.value('delimiter')?.replace(/^\\t$/, '\t'), header: !given.has('no-header') },
  };
}

function readChoices(given: Given): readonly ColumnChoice[] {
  const choices = new Map<string, ColumnChoice>();
  const add = (source: string, choice: Partial<ColumnChoice>): void =>
    void choices.set(source, { ...choices.get(source), ...choice, source });
  for (const text of given.values('column')) {
    const [source, type] = splitPair('column', text);
    add(source, { type });
  }
  for (const text of given.values('rename')) {
    const [source, name] = splitPair('rename', text);
    add(source, { name });
  }
  for (const source of given.values('skip')) add(source, { skip: true });
  return [...choices.values()];
}

function splitPair(option: string, text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)];
  throw new UsageError(`--${option} needs a name, an equals sign and a value, not "${text}".`);
}
