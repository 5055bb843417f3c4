import type { TablePath } from '../../../../src/model/identifier.ts';

/** A query of the lab, as in its address. Stored in this browser; never contains credentials. */
export interface KeptQuery {
  readonly database: string;
  readonly table: TablePath;
  readonly parameters: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface SavedQuery extends KeptQuery {
  readonly name: string;
}

interface Kept {
  readonly recent: readonly KeptQuery[];
  readonly saved: readonly SavedQuery[];
}

const STORED_AS = 'tiltyard-queries';
const RECENT_OF_TABLE_MAX = 15;
const RECENT_MAX = 150;
const SAVED_MAX = 200;
/** A longer query, with many pasted vectors, is run but not stored. */
const CHARACTERS_MAX = 20_000;
export const NAME_CHARACTERS_MAX = 80;

type Where = Pick<KeptQuery, 'database' | 'table'>;

/** Newest first. */
export function listRecent(where: Where): readonly KeptQuery[] {
  return load().recent.filter((each) => isAt(each, where));
}

/** Sorted by name; of all tables of a database if none is given. */
export function listSaved({ database, table }: Pick<Where, 'database'> & Partial<Where>): readonly SavedQuery[] {
  return load()
    .saved.filter((each) => each.database === database && (table === undefined || isAt(each, { database, table })))
    .toSorted((one, other) => one.name.localeCompare(other.name));
}

export function rememberRecent(query: KeptQuery): void {
  if (JSON.stringify(query.parameters).length > CHARACTERS_MAX) return;
  const { recent, saved } = load();
  const others = recent.filter((each) => !isSame(each, query));
  const ofTable = [query, ...others.filter((each) => isAt(each, query))].slice(0, RECENT_OF_TABLE_MAX);
  const ofOthers = others.filter((each) => !isAt(each, query));
  store({ recent: [...ofTable, ...ofOthers].slice(0, RECENT_MAX), saved });
}

/** Replaces a query with the same name. Returns what is wrong if it cannot be saved. */
export function saveQuery(query: SavedQuery): string | undefined {
  if (query.name === '') return 'Enter a name.';
  if (query.name.length > NAME_CHARACTERS_MAX) return `Use at most ${NAME_CHARACTERS_MAX} characters.`;
  if (JSON.stringify(query.parameters).length > CHARACTERS_MAX) {
    return 'The query is too long to save: use “Like a row” instead of pasted vectors.';
  }
  const { recent, saved } = load();
  const others = saved.filter((each) => !(isAt(each, query) && each.name === query.name));
  if (others.length >= SAVED_MAX) return `There are ${SAVED_MAX} saved queries: delete one first.`;
  store({ recent, saved: [...others, query] });
  return undefined;
}

export function deleteSaved(query: SavedQuery): void {
  const { recent, saved } = load();
  store({ recent, saved: saved.filter((each) => !(isAt(each, query) && each.name === query.name)) });
}

export function clearRecent(where: Where): void {
  const { recent, saved } = load();
  store({ recent: recent.filter((each) => !isAt(each, where)), saved });
}

/** On sign-out: the next user of the browser must not see the queries. */
export function forgetRecent(): void {
  store({ ...load(), recent: [] });
}

function isAt(query: KeptQuery, { database, table }: Where): boolean {
  return query.database === database && query.table.join('/') === table.join('/');
}

function isSame(one: KeptQuery, other: KeptQuery): boolean {
  return isAt(one, other) && keyOf(one) === keyOf(other);
}

function keyOf({ parameters }: KeptQuery): string {
  return new URLSearchParams(parameters).toString();
}

function load(): Kept {
  const value = parse(localStorage.getItem(STORED_AS) ?? '{}');
  return { recent: readList(value, 'recent').filter(isKept), saved: readList(value, 'saved').filter(isSaved) };
}

function readList(value: unknown, name: string): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  const list: unknown = Object.entries(value).find(([each]) => each === name)?.[1];
  return Array.isArray(list) ? list : [];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isKept(value: unknown): value is KeptQuery {
  if (typeof value !== 'object' || value === null) return false;
  if (!('database' in value && 'table' in value && 'parameters' in value && 'at' in value)) return false;
  const { database, table, parameters, at } = value;
  return (
    typeof database === 'string' &&
    typeof at === 'number' &&
    Array.isArray(table) &&
    table.length > 0 &&
    table.every((name) => typeof name === 'string') &&
    typeof parameters === 'object' &&
    parameters !== null &&
    Object.values(parameters).every((text) => typeof text === 'string')
  );
}

function isSaved(value: unknown): value is SavedQuery {
  return isKept(value) && 'name' in value && typeof value.name === 'string';
}

/** A full or blocked storage must not stop the lab. */
function store(kept: Kept): void {
  try {
    localStorage.setItem(STORED_AS, JSON.stringify(kept));
  } catch {
    localStorage.removeItem(STORED_AS);
  }
}
