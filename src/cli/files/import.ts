import { existsSync } from 'node:fs';
import type { ApiClient } from '../../client/api-client.ts';
import { ClientError, ConnectionError } from '../../client/client-error.ts';
import { abortUpload, completeUpload, createUpload, insertRows, isUploadGone } from '../../client/rows.ts';
import type { Upload } from '../../client/rows.ts';
import { createTable, describeTable, dropTable } from '../../client/tables.ts';
import { ServiceError } from '../../errors/service-error.ts';
import type { Part } from '../../formats/parts.ts';
import { formatPath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { formatBytes } from '../../plans/format-figure.ts';
import { defineClientCommand } from '../client-command.ts';
import { EXIT, UsageError } from '../command.ts';
import type { Terminal } from '../command.ts';
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
  about: `Creates a table from files, or adds their rows to a table. The format is detected from the contents and the extension. The types of CSV and JSON columns are detected from the first rows, and lists of floats that all have the same length, 8 or more, become vectors; --mode append uses the types of the table. Large files are sent in parts of about 24 MiB. All rows become visible at once, when the last part has arrived; if anything fails before, none are added. A new table that takes several parts exists without rows until then. After a lost connection, --resume continues and sends only the missing parts; if you do not resume, drop the empty table.`,
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
  advice({ status, message }) {
    if (status === 409)
      return 'Use --mode append to add the rows, or --mode overwrite to replace the rows and the schema.';
    const [, column] = /^The column name "(.+?)" (?:contains|is) /.exec(message) ?? [];
    return column === undefined ? undefined : `Give it another name: --rename '${column}=NAME'.`;
  },
  async run(session) {
    const { client, given, terminal } = session;
    refuseTableFirst(given.names);
    const table = requireTable(given, given.names.length - 1);
    const mode = readOneOf(given, 'mode', MODES) ?? 'create';
    const files = await findFiles(given.names.slice(0, -1));
    const options = { ...readFileOptions(given), mayLackColumns: files.length > 1 };
    const tableTypes = mode === 'append' ? await readTableTypes(client, table) : new Map<string, string>();
    if (given.has('dry-run')) return showPlan(session, { table, mode, files, options: { ...options, tableTypes } });
    const path = statePath(files, `${client.url} ${client.database ?? ''} ${formatPath(table)}`);
    const digest = digestOf(files, [mode, options]);
    const earlier = await openState(path, { digest, resume: given.has('resume') });
    const state =
      earlier === undefined
        ? newState(digest, mode === 'create' ? undefined : await findVersion(client, table))
        : await requireResendable(client, table, earlier);
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    const progress = new Progress(terminal, `importing ${showPath(table)}`, bytes);
    const onPlan = (plan: PlannedFile): void => terminal.err(describeVectors(plan));
    const onForgotten = (): void =>
      terminal.err('The server no longer has the parts of the interrupted import: they are sent again.\n');
    const { onInterrupt } = terminal;
    const sender = new Sender({ client, table, mode, path, progress, onInterrupt, onPlan, onForgotten }, state);
    const isDone = await sender.run(files, { ...options, tableTypes });
    progress.end();
    if (!isDone) {
      terminal.err('Interrupted. Nothing was imported.\n');
      return EXIT.interrupted;
    }
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
  readonly onInterrupt: Terminal['onInterrupt'];
  /** Called with the first file, whose columns the others follow. */
  readonly onPlan: (plan: PlannedFile) => void;
  readonly onForgotten: () => void;
}

/**
 * Readers see no rows before all have arrived: one part is one request; several are an upload that is completed at the
 * end. What the server has is saved, so an interrupted import can be resumed.
 */
class Sender {
  version: number | undefined;
  state: ImportState;
  readonly #target: Target;
  readonly #interrupt = new AbortController();
  /** The last part that was read: only the next one shows that an upload is needed. */
  #held: Part | undefined;
  /** Parts of this run, and those that the server already had. */
  #seen = 0;
  #skipped = 0;
  #isPlanned = false;
  /** Whether a failed attempt of the last request may have been applied. */
  #isInDoubt: boolean;

  constructor(target: Target, state: ImportState) {
    this.#target = target;
    this.state = state;
    this.#isInDoubt = state.pendingRows !== undefined;
  }

  /** Returns false if a signal ended it and nothing was imported. */
  async run(files: readonly InputFile[], options: PartOptions): Promise<boolean> {
    // Rows that may have been added cannot be cancelled.
    const unlisten = this.#isInDoubt ? undefined : this.#target.onInterrupt?.(() => this.#interrupt.abort());
    try {
      await this.#sendFiles(files, options).catch(async (error: unknown) => {
        if (!isUploadGone(error)) throw error;
        const { uploadId: _gone, ...rest } = this.state;
        this.state = { ...rest, parts: 0, rows: 0 };
        this.#target.onForgotten();
        await this.#sendFiles(files, options);
      });
      // From here on, after a signal it would be unknown whether the rows are added.
      unlisten?.();
      this.#interrupt.signal.throwIfAborted();
      await this.#commit();
      return true;
    } catch (error) {
      if (!this.#interrupt.signal.aborted) throw await this.#explain(error);
      await this.#cancel();
      return false;
    } finally {
      unlisten?.();
    }
  }

  async #sendFiles(files: readonly InputFile[], options: PartOptions): Promise<void> {
    const { withPlan } = await import('./import-parts.ts');
    const { onPlan, progress } = this.#target;
    this.#held = undefined;
    this.#seen = 0;
    this.#skipped = this.state.parts;
    let types = options.tableTypes;
    let bytesBefore = 0;
    for (const [index, file] of files.entries()) {
      const areDetected = types !== options.tableTypes;
      const columns = await withPlan(file, { ...options, tableTypes: types, areDetected }, async (plan) => {
        if (index === 0 && !this.#isPlanned) onPlan(plan);
        this.#isPlanned = true;
        for await (const part of plan.parts()) {
          await this.#take(part);
          progress.show(bytesBefore + part.endByte, this.state.rows);
        }
        return plan.columns;
      });
      // Later files use the types of the first.
      if (types.size === 0) types = new Map(columns.map(({ name, type }) => [name, type]));
      bytesBefore += file.size;
    }
    if (this.state.uploadId !== undefined && this.#held !== undefined) await this.#upload(this.#held);
  }

  async #take(part: Part): Promise<void> {
    this.#interrupt.signal.throwIfAborted();
    if (this.#held === undefined) this.#held = part;
    else if (part.rows > 0) {
      await this.#upload(this.#held);
      this.#held = part;
    }
  }

  async #upload({ bytes, rows, toEmpty }: Part): Promise<void> {
    this.#seen += 1;
    if (this.#seen <= this.#skipped) return;
    const { client, table, mode } = this.#target;
    const { signal } = this.#interrupt;
    const { id } = await this.#requireUpload(toEmpty);
    const isOverwrite = mode === 'overwrite' && this.state.isCreated !== true;
    // A part that is sent again replaces the one with the same name.
    const query = { upload_id: id, upload_part_id: String(this.#seen), mode: isOverwrite ? mode : 'append' };
    await this.#retry(async () => insertRows(client, table, bytes, { query, signal }));
    await this.#save({ parts: this.#seen, rows: this.state.rows + rows });
  }

  async #requireUpload(toEmpty: Part['toEmpty']): Promise<Upload> {
    const { client, table, mode } = this.#target;
    const { id, uploadId, baseVersion } = this.state;
    if (uploadId !== undefined) return { table, id: uploadId };
    await this.#save({});
    if (baseVersion === undefined) {
      const headers = { 'idempotency-key': `${id}-create` };
      const { version } = await this.#send(async () =>
        createTable(client, table, toEmpty(), { mode: mode === 'overwrite' ? mode : 'create', headers }),
      );
      await this.#save({ baseVersion: version, isCreated: true });
    }
    const upload = await this.#retry(async () => createUpload(client, table));
    await this.#save({ uploadId: upload.id });
    return upload;
  }

  async #commit(): Promise<void> {
    const { client, table, mode, progress } = this.#target;
    const { id, uploadId } = this.state;
    const headers = { 'idempotency-key': id };
    const { bytes, rows } = this.#held ?? NO_PART;
    const pendingRows = uploadId === undefined ? rows : this.state.rows;
    await this.#save({ pendingRows, pendingSince: this.state.pendingSince ?? Date.now() });
    progress.note(`adding ${countOf(pendingRows, 'row')} …`);
    const { version } = await this.#send(async () => {
      if (uploadId !== undefined) return completeUpload(client, { table, id: uploadId }, headers);
      if (mode === 'append') return insertRows(client, table, bytes, { headers });
      return createTable(client, table, bytes, { mode, headers });
    });
    this.version = version;
    if (uploadId === undefined) this.state = { ...this.state, parts: 1, rows };
  }

  async #send<Reply>(send: () => Promise<Reply>): Promise<Reply> {
    const reply = await this.#retry(async () =>
      send().catch((error: unknown) => {
        this.#isInDoubt ||= error instanceof ClientError ? error.status >= 500 : !isUnsent(error);
        throw error;
      }),
    );
    this.#isInDoubt = false;
    return reply;
  }

  async #retry<Reply>(send: () => Promise<Reply>): Promise<Reply> {
    return withRetries(send, { onWait: this.#target.progress.wait, signal: this.#interrupt.signal });
  }

  async #save(change: Partial<ImportState>): Promise<void> {
    this.state = { ...this.state, ...change };
    await saveState(this.#target.path, this.state);
  }

  /** The same error, extended by whether rows were added. */
  async #explain(error: unknown): Promise<unknown> {
    if (isUnsent(error) && !this.#isInDoubt) {
      const { pendingRows: _unsent, pendingSince: _never, ...state } = this.state;
      this.state = state;
      if (state.uploadId === undefined && state.isCreated !== true) {
        await deleteState(this.#target.path);
        return error;
      }
      await this.#save({});
    }
    const { uploadId, pendingRows, isCreated } = this.state;
    if (error instanceof ConnectionError || (error instanceof ClientError && mayResume(error))) {
      const outcome = pendingRows === undefined ? 'Nothing was imported so far' : 'The rows may have been added';
      const isEmpty = isCreated === true && pendingRows === undefined;
      const table = isEmpty ? ` Until then, the table ${showPath(this.#target.table)} exists without rows.` : '';
      error.message = `${error.message} ${outcome}: when the server responds again, use --resume.${table}`;
      return error;
    }
    if (this.#isInDoubt && error instanceof ClientError && !isUploadGone(error)) {
      error.message = `${error.message} An earlier attempt may have added the rows: check ${showPath(this.#target.table)}.`;
      return error;
    }
    const outcome = await this.#cancel();
    if (error instanceof ClientError && uploadId !== undefined) error.message = `${error.message} ${outcome}`;
    if (!(error instanceof ServiceError)) return error;
    return new ServiceError(error.kind, `${error.message} ${outcome}`, { ...hintOf(error), cause: error.cause });
  }

  /** Removes everything that the server has of this import. */
  async #cancel(): Promise<string> {
    const { client, table, path } = this.#target;
    const { uploadId, isCreated, baseVersion } = this.state;
    // An upload that is not aborted expires.
    if (uploadId !== undefined) await abortUpload(client, { table, id: uploadId }).catch(() => undefined);
    const isLeft = isCreated === true && !(await dropUnchanged(client, table, baseVersion));
    await deleteState(path);
    return isLeft
      ? `Nothing was imported. The table ${showPath(table)}, which the import created, still exists without rows.`
      : 'Nothing was imported.';
  }
}

const NO_PART = { bytes: new Uint8Array(), rows: 0 };

/** No connection was made, so the request cannot have changed anything. */
function isUnsent(error: unknown): boolean {
  const codes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'];
  return error instanceof ConnectionError && codes.includes(error.code ?? '');
}

function mayResume({ status, retryAfterSeconds }: ClientError): boolean {
  return status >= 500 || retryAfterSeconds !== undefined;
}

function hintOf({ hint }: ServiceError): { readonly hint?: string } {
  return hint === undefined ? {} : { hint };
}

/** Returns false if the table was changed meanwhile, or the caller may not drop it. */
async function dropUnchanged(client: ApiClient, table: TablePath, baseVersion: number | undefined): Promise<boolean> {
  try {
    if ((await describeTable(client, table)).version !== baseVersion) return false;
    await dropTable(client, table);
    return true;
  } catch {
    return false;
  }
}

/** Servers keep the results of keys for a day, unless configured otherwise. */
const RESEND_MILLISECONDS_MAX = 12 * 3600 * 1000;

/** Allows the last request to be sent again: while the server has its key, it is not applied twice. */
async function requireResendable(client: ApiClient, table: TablePath, earlier: ImportState): Promise<ImportState> {
  const { pendingSince = 0, ...state } = earlier;
  if (state.pendingRows === undefined || Date.now() - pendingSince < RESEND_MILLISECONDS_MAX) return earlier;
  if ((await findVersion(client, table)) === state.baseVersion) return state;
  throw new UsageError(
    `${showPath(table)} was changed in the meantime, so it is not known whether the rows were added. Check its rows, and start a new import.`,
  );
}

/** `undefined` if there is no such table. */
async function findVersion(client: ApiClient, table: TablePath): Promise<number | undefined> {
  try {
    return (await describeTable(client, table)).version;
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return undefined;
    throw error;
  }
}
