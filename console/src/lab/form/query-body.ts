import type { ApiClient } from '../../../../src/client/api-client.ts';
import { queryRows } from '../../../../src/client/rows.ts';
import type { TablePath } from '../../../../src/model/identifier.ts';
import { findDimension } from '../../../../src/plans/table-facts.ts';
import type { ColumnFact } from '../../../../src/plans/table-facts.ts';
import type { QueryTableBody } from '../../../../src/wire/data.ts';
import type { LabForm } from './lab-form.ts';
import type { TableFacts } from '../table-facts.ts';

export class FormError extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** Reads the vector of a row from the table if needed. */
export async function toQueryBody(
  client: ApiClient,
  table: TablePath,
  form: LabForm,
  facts: TableFacts,
): Promise<QueryTableBody> {
  const columns = splitPaths(form.columns);
  return {
    ...numbersOf(form, ['k', 'version']),
    ...(columns.length === 0 ? {} : { columns: { column_names: columns } }),
    ...(form.filter.trim() === '' ? {} : { filter: form.filter.trim() }),
    ...(form.branch === '' ? {} : { branch: form.branch }),
    ...toOrderBy(form.order),
    ...(hasText(form) ? { full_text_query: toFullText(form) } : {}),
    ...(form.fast !== '' && form.search !== 'none' ? { fast_search: true } : {}),
    ...(hasVector(form) ? await toVectorSearch(client, table, form, facts) : {}),
  };
}

export function hasVector({ search }: LabForm): boolean {
  return search === 'vector' || search === 'hybrid';
}

export function hasText({ search }: LabForm): boolean {
  return search === 'text' || search === 'hybrid';
}

export function searchedColumn(form: LabForm, facts: TableFacts): ColumnFact | undefined {
  return facts.vectorColumns.find(({ path }) => path === form.column) ?? facts.vectorColumns[0];
}

async function toVectorSearch(
  client: ApiClient,
  table: TablePath,
  form: LabForm,
  facts: TableFacts,
): Promise<Partial<QueryTableBody>> {
  const column = searchedColumn(form, facts);
  if (column === undefined) {
    throw new FormError('The table has no column of vectors.', 'Search by text, or filter without a search.');
  }
  return {
    vector: toQueryVector(await findVectors(client, table, form, column)),
    vector_column: column.path,
    ...numbersOf(form, ['nprobes', 'ef']),
    ...(form.refine === '' ? {} : { refine_factor: toNumber('refine_factor', form.refine) }),
    ...(form.distance === '' ? {} : { distance_type: form.distance }),
    ...(form.exact === '' ? {} : { bypass_vector_index: true }),
    ...(form.filter.trim() === '' ? {} : { prefilter: form.prefilter !== '' }),
  };
}

function toQueryVector(vectors: readonly number[][]): NonNullable<QueryTableBody['vector']> {
  const [first] = vectors;
  return vectors.length === 1 && first !== undefined ? { single_vector: first } : { multi_vector: [...vectors] };
}

/** Rows of several searches have a `query_index`. */
export function hasManyVectors({ vector }: QueryTableBody): boolean {
  return vector?.multi_vector !== undefined;
}

const VECTORS_MAX = 100;

async function findVectors(
  client: ApiClient,
  table: TablePath,
  form: LabForm,
  column: ColumnFact,
): Promise<readonly number[][]> {
  const dimension = findDimension(column.type) ?? 0;
  if (form.source === 'paste') return parseVectors(form.paste, dimension);
  const count = form.vectors === '' ? 1 : toNumber('The number of vectors', form.vectors);
  if (count < 1 || count > VECTORS_MAX) {
    throw new FormError('So many vectors are not searched for at once.', `Ask for 1 to ${VECTORS_MAX}.`);
  }
  if (form.source === 'row') return vectorsOfRows(client, table, form, { column, count });
  const seed = toNumber('The seed', form.seed);
  return Array.from({ length: count }, (_unused, at) => randomVector(seed + at, dimension, isOfBytes(column)));
}

interface Wanted {
  readonly column: ColumnFact;
  readonly count: number;
}

async function vectorsOfRows(
  client: ApiClient,
  table: TablePath,
  form: LabForm,
  { column, count }: Wanted,
): Promise<readonly number[][]> {
  const body: QueryTableBody = {
    k: count,
    columns: { column_names: [column.path] },
    ...(form.like.trim() === '' ? {} : { filter: form.like.trim() }),
    ...(form.version === '' ? {} : { version: toNumber('The version', form.version) }),
    ...(form.branch === '' ? {} : { branch: form.branch }),
  };
  const rows = await queryRows(client, table, body);
  const vectors = rows.map((row) => {
    const [value] = Object.values(row);
    const vector = Array.isArray(value) && Array.isArray(value[0]) ? value[0] : value;
    return Array.isArray(vector) ? vector.map(Number) : undefined;
  });
  const found = vectors.filter((vector) => vector !== undefined);
  if (found.length > 0) return found;
  throw new FormError(
    rows.length === 0 ? 'No row meets the condition.' : 'The row has no vector.',
    'The first rows that meet “like the row where” lend their vectors.',
  );
}

function parseVectors(text: string, dimension: number): readonly number[][] {
  const numbers = text
    .replaceAll(/[[\]\s,;]+/g, ' ')
    .trim()
    .split(' ')
    .filter((word) => word !== '')
    .map(Number);
  const count = numbers.length / dimension;
  if (Number.isInteger(count) && count > 0 && numbers.every((number) => Number.isFinite(number))) {
    return Array.from({ length: count }, (_unused, at) => numbers.slice(at * dimension, (at + 1) * dimension));
  }
  const seen = numbers.some((number) => Number.isNaN(number))
    ? 'something that is no number'
    : `${numbers.length} numbers`;
  throw new FormError(`The pasted vector holds ${seen}.`, `The column has vectors of ${dimension} numbers.`);
}

/** Deterministic for a seed: from −1 to 1, or bytes from 0 to 255. */
function randomVector(seed: number, dimension: number, isBytes: boolean): number[] {
  let state = (Math.trunc(seed) * 2_654_435_761 + 12_345) % 2_147_483_648;
  return Array.from({ length: dimension }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const part = state / 2_147_483_648;
    return isBytes ? Math.floor(part * 256) : Number((part * 2 - 1).toFixed(4));
  });
}

function isOfBytes({ type }: ColumnFact): boolean {
  return JSON.stringify(type).includes('uint8');
}

function toFullText(form: LabForm): NonNullable<QueryTableBody['full_text_query']> {
  if (form.words.trim() === '') throw new FormError('There are no words to search for.', 'Type some.');
  const columns = form.wordsColumn === '' ? {} : { columns: [form.wordsColumn] };
  return { string_query: { query: form.words, ...columns } };
}

function numbersOf<Name extends 'k' | 'version' | 'nprobes' | 'ef'>(
  form: LabForm,
  names: readonly Name[],
): Partial<Record<Name, number>> {
  const given: Partial<Record<Name, number>> = {};
  for (const name of names) if (form[name] !== '') given[name] = toNumber(name, form[name]);
  return given;
}

function toNumber(name: string, text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 0) return number;
  throw new FormError(`${name} is not a whole number.`, `It reads “${text}”.`);
}

/** Parses `price desc, id`. */
function toOrderBy(text: string): Pick<QueryTableBody, 'order_by'> {
  const orders = splitPaths(text).map((part) => {
    const [, path = part, direction = ''] = /^(.+?)(?:\s+(asc|desc))?$/is.exec(part) ?? [];
    return { column_name: path, ascending: direction.toLowerCase() !== 'desc' };
  });
  return orders.length === 0 ? {} : { order_by: orders };
}

/** Query B: the form with the changes to compare. */
export function toRivalForm(form: LabForm): LabForm {
  switch (form.rival) {
    case 'exact':
      return { ...form, exact: '1', nprobes: '', refine: '', ef: '' };
    case 'settings':
      return {
        ...form,
        nprobes: form.rivalNprobes,
        refine: form.rivalRefine,
        ef: form.rivalEf,
        prefilter: form.rivalPrefilter,
        exact: form.rivalExact,
      };
    case 'version':
      if (form.rivalVersion === '') throw new FormError('No version to compare with.', 'Choose one.');
      return { ...form, version: form.rivalVersion };
  }
}

/** A short title for each side of a comparison. */
export function describeForm(form: LabForm): string {
  const parts = [
    form.exact === '' ? '' : 'exact',
    form.nprobes === '' ? '' : `nprobes ${form.nprobes}`,
    form.refine === '' ? '' : `refine ${form.refine}`,
    form.ef === '' ? '' : `ef ${form.ef}`,
    form.fast === '' ? '' : 'indexed rows only',
    form.filter !== '' && form.prefilter === '' ? 'filter afterwards' : '',
    form.version === '' ? '' : `version ${form.version}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'as it is' : parts.join(', ');
}

/** The same search without an index, to measure recall. */
export function toExactBody(body: QueryTableBody): QueryTableBody {
  const { nprobes: _probes, refine_factor: _refine, ef: _ef, ...rest } = body;
  return { ...rest, bypass_vector_index: true };
}

export function splitPaths(text: string): string[] {
  return text
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '');
}
