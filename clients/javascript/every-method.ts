import { isDeepStrictEqual } from 'node:util';
import type { Outcome } from '../outcome.ts';
import { CONNECTION } from './methods/connection.ts';
import { BRANCHES, JOB, TAGS } from './methods/history.ts';
import { FULL_TEXT_QUERIES, HEADER_PROVIDERS, QUERY, TAKE_QUERY, VECTOR_QUERY } from './methods/queries.ts';
import { TABLE } from './methods/table.ts';
import { INDEX, MERGE, PERMUTATION } from './methods/writers.ts';
import { explain } from './explained.ts';
import { toPlain } from './plain.ts';
import type { Probe, Probes, Side } from './side.ts';

export interface ClientClass {
  /** As it is called in the docs. */
  readonly title: string;
  readonly probes: Probes;
  /** The public methods of this release, by reflection. */
  methods(side: Side): Promise<readonly string[]>;
}

/** Private in the client's own source; they are there at run time alone. */
const INTERNAL: ReadonlySet<string> = new Set([
  'constructor',
  '_createTableImpl',
  'getStorageOptions',
  'getEmbeddingFunctions',
  'doCall',
  'doVectorCall',
  'getInner',
  'nativeExecute',
  'inner',
]);

export const CLASSES: readonly ClientClass[] = [
  {
    title: 'Connection',
    probes: CONNECTION,
    methods: async ({ db }) => methodsOf(db, 'LocalConnection', 'Connection'),
  },
  { title: 'Table', probes: TABLE, methods: async ({ items }) => methodsOf(items, 'LocalTable', 'Table') },
  {
    title: 'Query',
    probes: QUERY,
    methods: async (side) => methodsOf(side.query(), 'Query', 'StandardQueryBase', 'QueryBase'),
  },
  { title: 'VectorQuery', probes: VECTOR_QUERY, methods: async (side) => methodsOf(side.nearest(), 'VectorQuery') },
  {
    title: 'TakeQuery',
    probes: TAKE_QUERY,
    methods: async ({ items }) => methodsOf(items.takeOffsets([0]), 'TakeQuery', 'QueryBase'),
  },
  {
    title: 'Full-text queries',
    probes: FULL_TEXT_QUERIES,
    methods: async ({ lancedb }) => classesOf(lancedb, /^(?!Vector|Take|Auto).+Query$/),
  },
  {
    title: 'MergeInsertBuilder',
    probes: MERGE,
    methods: async ({ items }) => methodsOf(items.mergeInsert('id'), 'MergeInsertBuilder'),
  },
  { title: 'Tags', probes: TAGS, methods: async ({ items }) => methodsOf(await items.tags(), 'Tags') },
  { title: 'Branches', probes: BRANCHES, methods: async ({ items }) => branchMethods(items) },
  { title: 'Job', probes: JOB, methods: async ({ lancedb }) => instanceMethods(lancedb, 'Job') },
  {
    title: 'Header providers',
    probes: HEADER_PROVIDERS,
    methods: async ({ lancedb }) => classesOf(lancedb, /^(?!Native).+HeaderProvider$/),
  },
  { title: 'Index', probes: INDEX, methods: async ({ lancedb }) => staticMethods(lancedb, 'Index') },
  {
    title: 'PermutationBuilder',
    probes: PERMUTATION,
    methods: async ({ lancedb }) => instanceMethods(lancedb, 'PermutationBuilder'),
  },
];

/** Classes without methods that could reach a service. */
const NOT_TRIED: ReadonlySet<string> = new Set([
  'BlobFile',
  'BranchContents',
  'HeaderProvider',
  'MakeArrowTableOptions',
  'MaterializedView',
  'NativeJsHeaderProvider',
  'QueryBase',
  'AutoQuery',
  'RecordBatchIterator',
  'Scannable',
  'Session',
  'TagContents',
  'VectorColumnOptions',
]);

export interface Trial {
  readonly remote: Side;
  readonly local: Side;
}

/** Calls every method over the service and on a folder; a method or class that nothing tries is a failure. */
export async function* tryEveryMethod(trial: Trial): AsyncGenerator<Outcome> {
  for (const each of CLASSES) {
    for (const name of await each.methods(trial.remote)) yield tryMethod(each, name, trial);
  }
  for (const method of findOtherClasses(trial.remote.lancedb)) {
    yield { method, outcome: 'fails', detail: 'nothing tries this class' };
  }
}

export async function tryMethod({ title, probes }: ClientClass, name: string, trial: Trial): Promise<Outcome> {
  const method = `${title}.${name}`;
  const probe = probes[name];
  if (probe === undefined) return { method, outcome: 'fails', detail: 'nothing tries this method' };
  const { remote, local } = trial;
  const [there, here] = await Promise.all([observe(method, probe, remote), observe(method, probe, local)]);
  return explain({ method, ...compare(there, here) });
}

function compare(there: Observed, here: Observed): Omit<Outcome, 'method'> {
  if ('error' in there) return toRefusal(there.error, here);
  if ('error' in here) {
    // Jobs, for example, are of services alone.
    if (REFUSED_BY_CLIENT.test(here.error)) return { outcome: 'works' };
    return { outcome: 'differs', detail: `local tables refuse it: ${here.error}` };
  }
  if (isDeepStrictEqual(there.seen, here.seen)) return { outcome: 'works' };
  return { outcome: 'differs', detail: firstDifference(there.seen, here.seen) };
}

type Observed = { readonly seen: unknown } | { readonly error: string };

const METHOD_MILLISECONDS_MAX = 120_000;

async function observe(method: string, probe: Probe, side: Side): Promise<Observed> {
  side.begin(method);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), METHOD_MILLISECONDS_MAX);
  });
  try {
    return { seen: toPlain(await Promise.race([probe(side), late])) };
  } catch (error) {
    return { error: String(error) };
  } finally {
    clearTimeout(timer);
  }
}

const NOT_OFFERED = /not offered by this server/;
const REFUSED_BY_CLIENT =
  /not supported|not implemented|not yet supported|not available|cannot be run on a remote table|unsupported/i;

function toRefusal(error: string, local: Observed): Omit<Outcome, 'method'> {
  const detail = error.slice(0, 500);
  if (NOT_OFFERED.test(error)) return { outcome: 'not offered', detail };
  if (REFUSED_BY_CLIENT.test(error)) return { outcome: 'refused by the client', detail };
  return { outcome: 'fails', detail: 'error' in local ? `${detail}; on local tables: ${local.error}` : detail };
}

function firstDifference(there: unknown, here: unknown, at = ''): string {
  if (isObject(there) && isObject(here)) {
    for (const key of new Set([...Object.keys(there), ...Object.keys(here)])) {
      if (!isDeepStrictEqual(there[key], here[key])) return firstDifference(there[key], here[key], `${at}/${key}`);
    }
  }
  return `${at}: ${JSON.stringify(there)?.slice(0, 300)}; on local tables: ${JSON.stringify(here)?.slice(0, 300)}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Of an object of the class, with what it inherits from the classes named in `from`. */
function methodsOf(subject: object, ...from: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (let each: object | null = Object.getPrototypeOf(subject); each !== null; each = Object.getPrototypeOf(each)) {
    if (from.includes(each.constructor.name)) found.push(...Object.getOwnPropertyNames(each));
  }
  return toPublic(found);
}

async function branchMethods(table: Side['items']): Promise<readonly string[]> {
  return 'branches' in table ? methodsOf(await table.branches(), 'Branches') : [];
}

function findOtherClasses(lancedb: Side['lancedb']): readonly string[] {
  const titles = new Set(CLASSES.map(({ title }) => title));
  const tried = new Set(CLASSES.flatMap(({ probes }) => Object.keys(probes)));
  return classesOf(lancedb, /^[A-Z]/).filter((name) => !titles.has(name) && !tried.has(name) && !NOT_TRIED.has(name));
}

function classesOf(lancedb: Side['lancedb'], names: RegExp): readonly string[] {
  return Object.entries(lancedb)
    .filter(([name, value]) => names.test(name) && typeof value === 'function')
    .map(([name]) => name);
}

type Named = Readonly<Record<string, { readonly prototype: object } | undefined>>;

function instanceMethods(lancedb: Side['lancedb'], name: string): readonly string[] {
  return toPublic(Object.getOwnPropertyNames((lancedb as unknown as Named)[name]?.prototype ?? {}));
}

function staticMethods(lancedb: Side['lancedb'], name: string): readonly string[] {
  const names = Object.getOwnPropertyNames((lancedb as unknown as Named)[name] ?? {});
  return toPublic(names.filter((each) => !['length', 'name', 'prototype'].includes(each)));
}

function toPublic(names: readonly string[]): readonly string[] {
  return names.filter((name) => !INTERNAL.has(name)).toSorted();
}
