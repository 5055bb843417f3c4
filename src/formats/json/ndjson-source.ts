import { ServiceError } from '../../errors/service-error.ts';
import { TypeInference } from '../types/infer-type.ts';
import type { Input } from '../input.ts';
import { parseLongJson } from './exact-json.ts';
import { toBatches } from '../row-batches.ts';
import type { RowPiece } from '../row-batches.ts';
import type { PlannedColumn, Source } from '../format.ts';
import { readText } from '../input.ts';

interface JsonRow {
  readonly line: number;
  readonly value: Readonly<Record<string, unknown>>;
}

const LINE_CHARACTERS_MAX = 64 * 1024 * 1024;

export async function openNdjson(input: Input, options: { readonly sampleRows: number }): Promise<Source> {
  const guesses = new Map<string, TypeInference>();
  let sampled = 0;
  for await (const { rows } of readObjects(input)) {
    for (const { value } of rows.slice(0, options.sampleRows - sampled)) addTo(guesses, value);
    sampled += rows.length;
    if (sampled >= options.sampleRows) break;
  }
  if (guesses.size === 0) {
    throw new ServiceError('InvalidInput', 'The NDJSON file has no columns.', {
      hint: 'Every line is one JSON object.',
    });
  }
  return {
    columns: [...guesses].map(([name, guess]) => ({ name, type: guess.type(), nullable: true, metadata: new Map() })),
    isOpen: true,
    rowCount: undefined,
    metadata: new Map(),
    batches: (planned, bounds) => toBatches(readRows(input, planned, new Set(guesses.keys())), planned, bounds),
  };
}

function addTo(guesses: Map<string, TypeInference>, value: object): void {
  for (const [name, part] of Object.entries(value)) {
    let guess = guesses.get(name);
    if (guess === undefined) guesses.set(name, (guess = new TypeInference(false)));
    guess.add(part);
  }
}

async function* readRows(
  input: Input,
  planned: readonly PlannedColumn[],
  sampled: ReadonlySet<string>,
): AsyncGenerator<RowPiece> {
  const names = planned.map(({ source }) => source.name);
  const known = new Set([...sampled, ...names]);
  for await (const { rows, characters, endByte } of readObjects(input)) {
    yield {
      rows: rows.map(({ line, value }) => {
        requireKnown(value, known, line);
        return { line, cells: names.map((name) => (Object.hasOwn(value, name) ? value[name] : null)) };
      }),
      characters,
      endByte,
    };
  }
}

/** A column that comes later would be lost without a word. */
function requireKnown(value: object, known: ReadonlySet<string>, line: number): void {
  const stranger = Object.keys(value).find((name) => !known.has(name));
  if (stranger === undefined) return;
  throw new ServiceError('InvalidInput', `Line ${line} has a column "${stranger}" that the first lines lack.`, {
    hint: 'Name the column with its type, or say that it is to be skipped.',
  });
}

interface Objects {
  readonly rows: readonly JsonRow[];
  readonly characters: number;
  readonly endByte: number;
}

async function* readObjects(input: Input): AsyncGenerator<Objects> {
  let rest = '';
  let line = 1;
  for await (const { text, endByte } of readText(input)) {
    const isLast = endByte === input.size && text === '';
    const lines = (rest + text).split('\n');
    rest = isLast ? '' : (lines.pop() ?? '');
    if (rest.length > LINE_CHARACTERS_MAX) throw notAnObject(line + lines.length, 'is longer than 64 MiB');
    const first = line;
    const rows = lines
      .map((source, index) => ({ line: first + index, source }))
      .filter(({ source }) => source.trim() !== '')
      .map((each) => ({ line: each.line, value: parseObject(each.source, each.line) }));
    line += lines.length;
    yield { rows, characters: text.length, endByte };
  }
}

function parseObject(text: string, line: number): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = parseLongJson(text);
  } catch (error) {
    throw notAnObject(line, text.trimStart().startsWith('[') ? 'begins a JSON array' : 'is not JSON', error);
  }
  if (!isObject(value)) throw notAnObject(line, 'is not a JSON object');
  return value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function notAnObject(line: number, what: string, cause?: unknown): ServiceError {
  return new ServiceError('InvalidInput', `Line ${line} ${what}.`, {
    hint: 'In NDJSON every line is one JSON object: {"id": 1, "name": "a"}.',
    cause,
  });
}
