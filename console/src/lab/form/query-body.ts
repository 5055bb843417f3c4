import type { ApiClient } from '../../../../src/client/api-client.ts';
import { queryRows } from '../../../../src/client/rows.ts';
import { findEmbeddingModel } from '../../../../src/model/derived/embedding.ts';
import type { TablePath } from '../../../../src/model/identifier.ts';
import { findDimension } from '../../../../src/plans/table-facts.ts';
import type { ColumnFact } from '../../../../src/plans/table-facts.ts';
import { toSingle } from '../../../../src/vectors/packed-numbers.ts';
import type { QueryTableBody } from '../../../../src/wire/data.ts';
import { splitList, splitPaths } from './field-paths.ts';
import { readNumbers } from './lab-form.ts';
import type { LabForm } from './lab-form.ts';
import type { TableFacts } from '../table-facts.ts';

/** Something in the form is missing or wrong; nothing was sent. */
export class FormError extends Error {
  readonly hint: string;
  /** The field to correct, if any. */
  readonly field: keyof LabForm | undefined;

  constructor(message: string, hint: string, field?: keyof LabForm) {
    super(message);
    this.hint = hint;
    this.field = field;
  }
}

export function faultAt(field: keyof LabForm, error: unknown): string | undefined {
  return error instanceof FormError && error.field === field ? error.message : undefined;
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
    throw new FormError('This table has no vector column.', 'Use a text search or a scan with a filter.');
  }
  return {
    ...(form.source === 'meaning'
      ? { vector_text: requireMeaning(form, column, facts) }
      : { vector: toQueryVector(await findVectors(client, table, form, column)) }),
    vector_column: column.path,
    ...numbersOf(form, ['nprobes', 'ef']),
    ...(form.refine === '' ? {} : { refine_factor: toNumber('refine_factor', form.refine, 'refine') }),
    ...(form.distance === '' ? {} : { distance_type: form.distance }),
    ...(form.exact === '' ? {} : { bypass_vector_index: true }),
    ...(form.filter.trim() === '' ? {} : { prefilter: form.prefilter !== '' }),
  };
}

/** The model of a column's vectors. */
export function modelOf({ path: column, metadata }: ColumnFact, { schema }: TableFacts): string | undefined {
  const [own, ofSchema] = [metadata, schema.metadata].map((entries) => new Map(Object.entries(entries ?? {})));
  return findEmbeddingModel({ column, metadata: own ?? new Map(), schemaMetadata: ofSchema ?? new Map() })?.model;
}

function requireMeaning({ meaning }: LabForm, column: ColumnFact, facts: TableFacts): string {
  if (modelOf(column, facts) === undefined) {
    throw new FormError(`No model is recorded for ${column.path}.`, 'Record the model of its vectors first.');
  }
  if (meaning.trim() !== '') return meaning;
  throw new FormError('Enter a text.', 'The search finds rows near its meaning.', 'meaning');
}

function toQueryVector(vectors: readonly number[][]): NonNullable<QueryTableBody['vector']> {
  const [first] = vectors;
  return vectors.length === 1 && first !== undefined ? { single_vector: first } : { multi_vector: [...vectors] };
}

/** Results of several searches have a `query_index`. */
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
  const count = form.vectors === '' ? 1 : toNumber('The number of vectors', form.vectors, 'vectors');
  if (count < 1 || count > VECTORS_MAX) {
    throw new FormError(
      `Search for 1 to ${VECTORS_MAX} vectors at a time.`,
      'Change the number of vectors.',
      'vectors',
    );
  }
  if (form.source === 'row') return vectorsOfRows(client, table, form, { column, count });
  const seed = toNumber('The seed', form.seed, 'seed');
  return Array.from({ length: count }, (_unused, at) => randomVector(seed + at, dimension, isOf('uint8', column)));
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
    const digits = isOf('float64', column) ? Number : (number: unknown) => toSingle(Number(number));
    return Array.isArray(vector) ? vector.map((each) => digits(each)) : undefined;
  });
  const found = vectors.filter((vector) => vector !== undefined);
  if (found.length > 0) return found;
  throw new FormError(
    rows.length === 0 ? 'No row matches the condition.' : 'The matching row has no vector.',
    'The search uses the vectors of the first matching rows.',
    'like',
  );
}

const PASTED_ROUNDED_MIN = 200;

/** Rounds long pasted vectors to the precision of their column, which keeps addresses short. */
export function withRoundedPaste(form: LabForm, facts: TableFacts): LabForm {
  const column = searchedColumn(form, facts);
  if (form.paste.length < PASTED_ROUNDED_MIN || column === undefined || isOf('float64', column)) return form;
  const numbers = readNumbers(form.paste);
  return numbers.every((number) => Number.isFinite(number))
    ? { ...form, paste: `[${numbers.map(toSingle).join(', ')}]` }
    : form;
}

function parseVectors(text: string, dimension: number): readonly number[][] {
  const numbers = readNumbers(text);
  const count = numbers.length / dimension;
  if (Number.isInteger(count) && count > 0 && numbers.every((number) => Number.isFinite(number))) {
    return Array.from({ length: count }, (_unused, at) => numbers.slice(at * dimension, (at + 1) * dimension));
  }
  const hint = `Vectors of this column have ${dimension} numbers.`;
  if (numbers.length === 0) throw new FormError('Paste a vector.', hint, 'paste');
  const seen = numbers.some((number) => Number.isNaN(number))
    ? 'text that is not a number'
    : `${numbers.length} numbers`;
  throw new FormError(`The pasted vector has ${seen}.`, hint, 'paste');
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

function isOf(item: 'uint8' | 'float64', { type }: ColumnFact): boolean {
  return JSON.stringify(type).includes(item);
}

function toFullText(form: LabForm): NonNullable<QueryTableBody['full_text_query']> {
  if (form.words.trim() === '') throw new FormError('Enter search text.', 'One or more words to find.', 'words');
  const columns = form.wordsColumn === '' ? {} : { columns: [form.wordsColumn] };
  return { string_query: { query: form.words, ...columns } };
}

function numbersOf<Name extends 'k' | 'version' | 'nprobes' | 'ef'>(
  form: LabForm,
  names: readonly Name[],
): Partial<Record<Name, number>> {
  const given: Partial<Record<Name, number>> = {};
  for (const name of names) if (form[name] !== '') given[name] = toNumber(name, form[name], name);
  return given;
}

export function toNumber(name: string, text: string, field?: keyof LabForm): number {
  const number = Number(text);
  if (text.trim() !== '' && Number.isInteger(number) && number >= 0) return number;
  throw new FormError(`${name} must be a whole number.`, `You entered “${text}”.`, field);
}

/** Parses `price desc, id`. */
function toOrderBy(text: string): Pick<QueryTableBody, 'order_by'> {
  const orders = splitList(text).map((part) => {
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
      if (form.rivalVersion === '')
        throw new FormError(
          'Choose a version to compare with.',
          'B is the same query on that version.',
          'rivalVersion',
        );
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
  return parts.length === 0 ? 'current settings' : parts.join(', ');
}

/** The same search without an index, to measure recall. */
export function toExactBody(body: QueryTableBody): QueryTableBody {
  const { nprobes: _probes, refine_factor: _refine, ef: _ef, ...rest } = body;
  return { ...rest, bypass_vector_index: true };
}
