import { Field } from 'apache-arrow';
import { invalidInput } from '../../errors/service-error.ts';
import type { PlannedColumn, Source } from '../format.ts';
import { readText } from '../input.ts';
import type { Input } from '../input.ts';
import { SAMPLE_ROWS, toBatches } from '../row-batches.ts';
import type { RowPiece } from '../row-batches.ts';
import { addFields } from '../types/infer-type.ts';
import type { TypeInference } from '../types/infer-type.ts';
import { isJsonObject, parseExactJson } from './exact-json.ts';
import type { JsonObject } from './exact-json.ts';

const LINE_CHARACTERS_MAX = 64 * 1024 * 1024;

export async function openNdjson(input: Input): Promise<Source> {
  const inferred = new Map<string, TypeInference>();
  let sampled = 0;
  for await (const { rows } of readObjects(input)) {
    for (const { value } of rows.slice(0, SAMPLE_ROWS - sampled)) addFields(inferred, value);
    sampled += rows.length;
    if (sampled >= SAMPLE_ROWS) break;
  }
  if (inferred.size === 0) throw invalidInput('The NDJSON file has no columns.', 'Every line is one JSON object.');
  return {
    columns: [...inferred].map(([name, column]) => new Field(name, column.type(), true)),
    isOpen: true,
    batches: (plan) => toBatches(readRows(input, plan.columns, [...inferred.keys()]), plan),
  };
}

async function* readRows(
  input: Input,
  planned: readonly PlannedColumn[],
  sampled: readonly string[],
): AsyncGenerator<RowPiece> {
  const names = planned.map(({ source }) => source.name);
  const known = new Set([...sampled, ...names]);
  for await (const { rows, characters, endByte } of readObjects(input)) {
    const chosen = rows.map(({ line, value }) => {
      requireKnown(value, known, line);
      return { line, cells: names.map((name) => (Object.hasOwn(value, name) ? value[name] : null)) };
    });
    yield { rows: chosen, characters, endByte };
  }
}

/** A column that appears later would be dropped silently. */
function requireKnown(value: object, known: ReadonlySet<string>, line: number): void {
  const unknown = Object.keys(value).find((name) => !known.has(name));
  if (unknown === undefined) return;
  const hint = 'Name the column with its type, or say that it is to be skipped.';
  throw invalidInput(`Line ${line} has a column "${unknown}" that the first lines lack.`, hint);
}

async function* readObjects(input: Input) {
  let rest = '';
  let line = 1;
  for await (const { text, endByte } of readText(input)) {
    const isLast = endByte === input.size && text === '';
    const lines = (rest + text).split('\n');
    rest = isLast ? '' : (lines.pop() ?? '');
    if (rest.length > LINE_CHARACTERS_MAX) refuseLine(line + lines.length, 'is longer than 64 MiB');
    const first = line;
    const rows = lines.flatMap((source, index) => {
      return source.trim() === '' ? [] : [{ line: first + index, value: parseObject(source, first + index) }];
    });
    line += lines.length;
    yield { rows, characters: text.length, endByte };
  }
}

function parseObject(text: string, line: number): JsonObject {
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch (error) {
    refuseLine(line, text.trimStart().startsWith('[') ? 'begins a JSON array' : 'is not JSON', error);
  }
  if (!isJsonObject(value)) refuseLine(line, 'is not a JSON object');
  return value;
}

function refuseLine(line: number, what: string, cause?: unknown): never {
  const hint = 'In NDJSON every line is one JSON object: {"id": 1, "name": "a"}.';
  throw invalidInput(`Line ${line} ${what}.`, hint, cause);
}
