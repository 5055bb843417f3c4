/** Runs in a process of its own, so that what ends the engine ends a test and not the runner. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as Lancedb from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';

export interface EngineQuestion {
  readonly id: number;
  readonly kind: 'rows' | 'values';
  readonly texts: readonly string[];
}

export type EngineAnswer =
  | { readonly kind: 'rows'; readonly rows: readonly number[] }
  | { readonly kind: 'values'; readonly values: readonly string[] }
  | { readonly kind: 'error'; readonly message: string };

export interface EngineReply {
  readonly id: number;
  readonly answers: readonly EngineAnswer[];
}

const require = createRequire(import.meta.url);
// The engine shares its CommonJS copy of apache-arrow, so both are loaded that way; the types are their own.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const lancedb = require('@lancedb/lancedb') as typeof Lancedb;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const arrow = require('apache-arrow') as typeof Arrow;

const ROWS = 50;

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'guard-engine-'));
  const connection = await lancedb.connect(`${folder}/`);
  const table = await connection.createTable('t', rows(), { schema: schema() });
  process.on('message', (question: EngineQuestion) => void reply(table, question));
  process.once('disconnect', () => void leave(folder));
  process.send?.('ready');
}

async function reply(table: Lancedb.Table, question: EngineQuestion): Promise<void> {
  const answers = await Promise.all(question.texts.map((text) => answer(table, question.kind, text)));
  const message: EngineReply = { id: question.id, answers };
  process.send?.(message);
}

async function leave(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  process.exit(0);
}

async function answer(table: Lancedb.Table, kind: EngineQuestion['kind'], text: string): Promise<EngineAnswer> {
  try {
    if (kind === 'rows') {
      const found: readonly { readonly id: number }[] = await table.query().where(text).select(['id']).toArray();
      return { kind, rows: found.map((row) => row.id).sort((left, right) => left - right) };
    }
    const found: readonly { readonly value: unknown }[] = await table
      .query()
      .select({ id: 'id', value: text })
      .toArray();
    return { kind, values: found.map((row) => String(row.value)) };
  } catch (error) {
    return { kind: 'error', message: String(error) };
  }
}

function schema(): Arrow.Schema {
  const { Bool, Field, FixedSizeList, Float32, Float64, Int32, Int64, List, Schema, Struct, Utf8 } = arrow;
  const q = new Struct([new Field('Deep', new Int32(), true)]);
  const p = new Struct([
    new Field('a', new Int32(), true),
    new Field('b', new Utf8(), true),
    new Field('x.y', new Int32(), true),
    new Field('tick`ed', new Int32(), true),
    new Field("it's", new Int32(), true),
    new Field('back\\slash', new Int32(), true),
    new Field(' s ', new Int32(), true),
    new Field('q', q, true),
  ]);
  return new Schema([
    new Field('id', new Int32(), false),
    new Field('big', new Int64(), true),
    new Field('price', new Float64(), true),
    new Field('name', new Utf8(), true),
    new Field('Name', new Utf8(), true),
    new Field('flag', new Bool(), true),
    new Field('p', p, true),
    new Field('tags', new List(new Field('item', new Utf8(), true)), true),
    new Field('vec', new FixedSizeList(3, new Field('item', new Float32(), true)), true),
    new Field('sp ace', new Int32(), true),
    new Field('format', new Utf8(), true),
  ]);
}

const NAMES = [
  "it's",
  'back\\',
  'a`b',
  'say "hi"',
  'naïve',
  '50%',
  'under_score',
  '日本',
  '',
  ') OR (1=1',
  'x -- y',
  '/*z*/',
];

function rows(): Record<string, unknown>[] {
  return Array.from({ length: ROWS }, (_, id) => ({
    id,
    big: id % 11 === 0 ? null : BigInt(id) * 1000n,
    price: id % 7 === 0 ? null : id / 4,
    name: id % 5 === 0 ? null : (NAMES[id] ?? `name${id}`),
    Name: `Upper${id}`,
    flag: id % 3 === 0 ? null : id % 2 === 0,
    p: {
      a: id % 6 === 0 ? null : id,
      b: `b${id % 4}`,
      'x.y': id + 100,
      'tick`ed': id + 200,
      "it's": id + 300,
      'back\\slash': id + 400,
      ' s ': id + 500,
      q: { Deep: id + 600 },
    },
    tags: ['a', `b${id % 3}`],
    vec: [id, id / 2, -id],
    'sp ace': id,
    format: id % 2 === 0 ? 'pdf' : 'txt',
  }));
}

if (process.send !== undefined) await main();
