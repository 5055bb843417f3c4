import { Field } from 'apache-arrow';
import { invalidInput } from '../../errors/service-error.ts';
import { noSuchColumn } from '../format.ts';
import type { ReadPlan, Source } from '../format.ts';
import { readText } from '../input.ts';
import type { Input } from '../input.ts';
import { SAMPLE_ROWS, toBatches } from '../row-batches.ts';
import type { RowPiece } from '../row-batches.ts';
import { addFields } from '../types/infer-type.ts';
import type { TypeInference } from '../types/infer-type.ts';
import { ArrayElements } from './array-elements.ts';
import type { ObjectText } from './array-elements.ts';
import { isJsonObject, parseExactJson } from './exact-json.ts';
import type { JsonObject } from './exact-json.ts';

/** The maximum length of an NDJSON line, or of an array element. */
const OBJECT_CHARACTERS_MAX = 64 * 1024 * 1024;

export async function openNdjson(input: Input): Promise<Source> {
  const inferred = new Map<string, TypeInference>();
  let sampled = 0;
  for await (const { rows } of readObjects(input)) {
    for (const { value } of rows.slice(0, SAMPLE_ROWS - sampled)) addFields(inferred, value);
    sampled += rows.length;
    if (sampled >= SAMPLE_ROWS) break;
  }
  if (inferred.size === 0)
    throw invalidInput('The JSON file has no columns.', 'Write one JSON object per line, or one array of objects.');
  return {
    columns: [...inferred].map(([name, column]) => new Field(name, column.plainType(), true)),
    findings: new Map([...inferred].map(([name, column]) => [name, column.finding()])),
    isOpen: sampled >= SAMPLE_ROWS,
    batches: (plan) => toBatches(readRows(input, plan, [...inferred.keys()]), plan),
  };
}

async function* readRows(
  input: Input,
  { columns, skipped = [], mayLackColumns }: ReadPlan,
  sampled: readonly string[],
): AsyncGenerator<RowPiece> {
  const names = columns.map(({ source }) => source.name);
  const known = new Set([...sampled, ...names, ...skipped]);
  const unseen = new Set([...known].filter((name) => !sampled.includes(name)));
  for await (const { rows, characters, endByte } of readObjects(input)) {
    const chosen = rows.map(({ line, value }) => {
      requireKnown(value, known, line);
      for (const name of unseen) if (Object.hasOwn(value, name)) unseen.delete(name);
      return { line, cells: names.map((name) => (Object.hasOwn(value, name) ? value[name] : null)) };
    });
    yield { rows: chosen, characters, endByte };
  }
  const [missing] = unseen;
  if (missing !== undefined && mayLackColumns !== true) throw noSuchColumn(missing, sampled);
}

/** Refuses a column that appears later: it would be dropped silently. */
function requireKnown(value: object, known: ReadonlySet<string>, line: number): void {
  const unknown = Object.keys(value).find((name) => !known.has(name));
  if (unknown === undefined) return;
  const hint = 'Give the type of the column, or skip it.';
  throw invalidInput(`Line ${line} has a column "${unknown}" that the first lines do not have.`, hint);
}

async function* readObjects(input: Input) {
  const texts = (await isArray(input)) ? readElements(input) : readLines(input);
  for await (const { found, characters, endByte } of texts) {
    const rows = found.map(({ line, source }) => ({ line, value: parseObject(source, line) }));
    yield { rows, characters, endByte };
  }
}

interface TextsPiece {
  readonly found: readonly ObjectText[];
  readonly characters: number;
  readonly endByte: number;
}

/** Whether the file is one array of objects, as is common. */
async function isArray(input: Input): Promise<boolean> {
  for await (const { text } of readText(input)) {
    const start = text.trimStart();
    if (start !== '') return start.startsWith('[');
  }
  return false;
}

async function* readElements(input: Input): AsyncGenerator<TextsPiece> {
  const elements = new ArrayElements(refuseLine);
  for await (const { text, endByte } of readText(input)) {
    const found = elements.add(text);
    const { line, source } = elements.unfinished;
    if (source.length > OBJECT_CHARACTERS_MAX) refuseLine(line, 'begins an object that is longer than 64 MiB');
    yield { found, characters: text.length, endByte };
  }
  elements.end();
}

async function* readLines(input: Input): AsyncGenerator<TextsPiece> {
  let rest = '';
  let line = 1;
  for await (const { text, endByte } of readText(input)) {
    const isLast = endByte === input.size && text === '';
    const lines = (rest + text).split('\n');
    rest = isLast ? '' : (lines.pop() ?? '');
    if (rest.length > OBJECT_CHARACTERS_MAX) refuseLine(line + lines.length, 'is longer than 64 MiB');
    const first = line;
    const found = lines.flatMap((source, index) => (source.trim() === '' ? [] : [{ line: first + index, source }]));
    line += lines.length;
    yield { found, characters: text.length, endByte };
  }
}

function parseObject(text: string, line: number): JsonObject {
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch (error) {
    refuseLine(line, 'is not valid JSON', error);
  }
  if (!isJsonObject(value)) refuseLine(line, 'is not a JSON object');
  return value;
}

function refuseLine(line: number, what: string, cause?: unknown): never {
  const hint = 'Write one JSON object per line, {"id": 1, "name": "a"}, or one array of objects.';
  throw invalidInput(`Line ${line} ${what}.`, hint, cause);
}
