import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../client/api-client.ts';
import { ClientError } from '../../client/client-error.ts';
import { openQuery } from '../../client/rows.ts';
import { FORMATS } from '../../formats/format.ts';
import type { ColumnChoice } from '../../formats/open-reader.ts';
import type { TablePath } from '../../model/identifier.ts';
import { UsageError } from '../command.ts';
import { readNumber, readOneOf } from '../options.ts';
import type { Given, Option } from '../options.ts';
import type { PartOptions } from './import-parts.ts';

/** How files are read. */
export const FILE_OPTIONS: readonly Option[] = [
  { name: 'format', value: 'FORMAT', help: `${FORMATS.join(', ')} (default: detected from contents and extension)` },
  { name: 'type', value: 'NAME=TYPE', repeats: true, help: 'type of a column, such as price=float64' },
  {
    name: 'vector',
    value: 'NAME[:LENGTH]',
    repeats: true,
    help: 'read lists as vectors, even if they are not detected as such',
  },
  { name: 'no-vector', value: 'NAME', repeats: true, help: 'keep lists that are detected as vectors' },
  { name: 'rename', value: 'NAME=NEW', repeats: true, help: 'load a column under another name' },
  { name: 'skip', value: 'NAME', repeats: true, help: 'skip a column' },
  { name: 'column', value: 'NAME=TYPE', repeats: true, help: 'the same as --type' },
  { name: 'delimiter', value: 'CHARACTER', help: 'delimiter of CSV files (default: detected)' },
  { name: 'no-header', help: 'the first row of a CSV file is data' },
  { name: 'batch-rows', value: 'N', help: 'send at most this many rows per request' },
];

const ATTEMPTS_MAX = 6;
const PAUSE_SECONDS_MAX = 30;

interface Retries {
  readonly onWait: (seconds: number, reason: string) => void;
  readonly signal?: AbortSignal;
}

/** Retries a request after the pause that the server asks for. */
export async function withRetries<Reply>(send: () => Promise<Reply>, { onWait, signal }: Retries): Promise<Reply> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof ClientError) || error.retryAfterSeconds === undefined) throw error;
      if (attempt === ATTEMPTS_MAX) throw error;
      const seconds = Math.min(error.retryAfterSeconds, PAUSE_SECONDS_MAX);
      onWait(seconds, error.message);
      await sleep(seconds * 1000, undefined, { signal });
    }
  }
}

/** The types of the table's columns, which its CSV and NDJSON files follow. */
export async function readTableTypes(client: ApiClient, table: TablePath): Promise<ReadonlyMap<string, string>> {
  const response = await openQuery(client, table, { k: 1 });
  const [{ readPlainSchema }, { formatType }] = await Promise.all([
    import('../../formats/arrow/arrow-source.ts'),
    import('../../formats/types/type-text.ts'),
  ]);
  const { fields } = await readPlainSchema(await response.arrayBuffer());
  return new Map(fields.map(({ name, type }) => [name, formatType(type)]));
}

export function readFileOptions(given: Given): Omit<PartOptions, 'tableTypes'> {
  return {
    format: readOneOf(given, 'format', FORMATS),
    columns: readChoices(given),
    partRows: readNumber(given, 'batch-rows', 1) ?? Number.MAX_SAFE_INTEGER,
    csv: { delimiter: readDelimiter(given), header: !given.has('no-header') },
  };
}

/** A tab is hard to type. */
export function readDelimiter(given: Given): string | undefined {
  return given.value('delimiter')?.replace(/^\\t$/, '\t');
}

function readChoices(given: Given): readonly ColumnChoice[] {
  const choices = new Map<string, ColumnChoice>();
  const add = (source: string, choice: Partial<ColumnChoice>): void =>
    void choices.set(source, { ...choices.get(source), ...choice, source });
  for (const option of ['type', 'column']) {
    for (const text of given.values(option)) {
      const [source, type] = splitPair(option, text);
      add(source, { type });
    }
  }
  for (const text of given.values('vector')) {
    const [, source = text, length] = /^(.+):(\d{1,6})$/.exec(text) ?? [];
    add(source, { vector: length === undefined ? true : Number(length) });
  }
  for (const source of given.values('no-vector')) add(source, { vector: false });
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
