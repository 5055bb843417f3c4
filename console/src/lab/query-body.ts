import type { ApiClient } from '../../../src/client/api-client.ts';
import { queryRows } from '../../../src/client/rows.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { findDimension } from '../../../src/plans/table-facts.ts';
import type { ColumnFact } from '../../../src/plans/table-facts.ts';
import type { QueryTableBody } from '../../../src/wire/data.ts';
import type { LabForm } from './lab-form.ts';
import type { TableFacts } from './table-facts.ts';

/** A form that cannot be sent, with what to change. */
export class FormFault extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** The body of the query that the form describes; a vector by row is looked up. */
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
    ...(hasText(form) ? { full_text_query: toFullText(form) } : {}),
    ...(hasVector(form) ? await toVectorSearch(client, table, form, facts) : {}),
  };
}

export function hasVector({ search }: LabForm): boolean {
  return search === 'vector' || search === 'hybrid';
}

export function hasText({ search }: LabForm): boolean {
  return search === 'text' || search === 'hybrid';
}

export function splitPaths(text: string): string[] {
  return text
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '');
}

/** The column that a form's vector is compared with. */
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
    throw new FormFault('The table has no column of vectors.', 'Search by text, or filter without a search.');
  }
  return {
    vector: { single_vector: await findVector(client, table, form, column) },
    vector_column: column.path,
    ...numbersOf(form, ['nprobes', 'ef']),
    ...(form.refine === '' ? {} : { refine_factor: toNumber('refine_factor', form.refine) }),
    ...(form.distance === '' ? {} : { distance_type: form.distance }),
    ...(form.exact === '' ? {} : { bypass_vector_index: true }),
    ...(form.filter.trim() === '' ? {} : { prefilter: form.prefilter !== '' }),
  };
}

async function findVector(client: ApiClient, table: TablePath, form: LabForm, column: ColumnFact): Promise<number[]> {
  const dimension = findDimension(column.type) ?? 0;
  switch (form.source) {
    case 'random':
      return randomVector(toNumber('The seed', form.seed), dimension, isOfBytes(column));
    case 'paste':
      return parseVector(form.paste, dimension);
    case 'row':
      return vectorOfRow(client, table, form, column);
  }
}

async function vectorOfRow(client: ApiClient, table: TablePath, form: LabForm, column: ColumnFact): Promise<number[]> {
  const body: QueryTableBody = {
    k: 1,
    columns: { column_names: [column.path] },
    ...(form.like.trim() === '' ? {} : { filter: form.like.trim() }),
    ...(form.version === '' ? {} : { version: toNumber('The version', form.version) }),
    ...(form.branch === '' ? {} : { branch: form.branch }),
  };
  const [row] = await queryRows(client, table, body);
  const value = row === undefined ? undefined : Object.values(row)[0];
  const vector = Array.isArray(value) && Array.isArray(value[0]) ? value[0] : value;
  if (Array.isArray(vector)) return vector.map(Number);
  throw new FormFault(
    row === undefined ? 'No row meets the condition.' : 'The row has no vector.',
    'The first row that meets “like the row where” lends its vector.',
  );
}

function parseVector(text: string, dimension: number): number[] {
  const numbers = text
    .replaceAll(/[[\]\s,;]+/g, ' ')
    .trim()
    .split(' ')
    .filter((word) => word !== '')
    .map(Number);
  if (numbers.length === dimension && numbers.every((number) => Number.isFinite(number))) return numbers;
  const seen = numbers.some((number) => Number.isNaN(number))
    ? 'something that is no number'
    : `${numbers.length} numbers`;
  throw new FormFault(`The pasted vector holds ${seen}.`, `The column has vectors of ${dimension} numbers.`);
}

/** The same numbers for the same seed, between −1 and 1; for vectors of bytes, between 0 and 255. */
export function randomVector(seed: number, dimension: number, isBytes: boolean): number[] {
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
  if (form.words.trim() === '') throw new FormFault('There are no words to search for.', 'Type some.');
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
  throw new FormFault(`${name} is not a whole number.`, `It reads “${text}”.`);
}
