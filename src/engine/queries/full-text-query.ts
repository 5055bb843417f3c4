import { invalidInput } from '../../errors/service-error.ts';
import { quotePath, requireField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { FullTextQuery } from '../../model/query.ts';
import type { DataType, Schema } from '../../model/schema.ts';
import { engineCall } from '../native/engine-errors.ts';
import type {
  NativeFullTextFactory,
  NativeFullTextQuery,
  NativeFullTextSearch,
  NativeTable,
} from '../native/native.ts';

interface SearchedTable {
  readonly native: NativeTable;
  readonly schema: Schema;
  readonly factory: NativeFullTextFactory;
}

/** Checks the columns, because the engine analyzes a search that it cannot run as one without results. */
export async function toNativeSearch(query: FullTextQuery, table: SearchedTable): Promise<NativeFullTextSearch> {
  const columns = columnsOf(query);
  for (const path of columns) if (path !== undefined) requireText(table.schema, path);
  const needsIndexes = columns.some((path) => path === undefined || path.length > 1);
  const indexed = needsIndexes ? await findIndexed(table.native) : [];
  for (const path of columns) if (path !== undefined) requireSearchable(path, indexed);
  if (query.kind === 'text') {
    return { query: query.terms, columns: query.columns.length === 0 ? null : query.columns.map(indexedColumn) };
  }
  return { query: new FullTextBuilder(table.factory, indexed).build(query), columns: null };
}

/** The columns of all parts; `undefined` for a part without a column, which searches every indexed column. */
function columnsOf(query: FullTextQuery): readonly (FieldPath | undefined)[] {
  switch (query.kind) {
    case 'text':
    case 'multi-match':
      return query.columns;
    case 'match':
    case 'phrase':
      return [query.column];
    case 'boost':
      return [...columnsOf(query.positive), ...columnsOf(query.negative)];
    default:
      return [...query.must, ...query.should, ...query.mustNot].flatMap(columnsOf);
  }
}

class FullTextBuilder {
  readonly #factory: NativeFullTextFactory;
  readonly #indexed: readonly string[];

  constructor(factory: NativeFullTextFactory, indexed: readonly string[]) {
    this.#factory = factory;
    this.#indexed = indexed;
  }

  build(query: FullTextQuery): NativeFullTextQuery {
    switch (query.kind) {
      case 'text':
        return this.#buildMultiMatch({ ...query, kind: 'multi-match', boosts: undefined, operator: 'or' });
      case 'multi-match':
        return this.#buildMultiMatch(query);
      case 'match':
        if (query.column === undefined && isExact(query)) {
          // Like the engine for plain words: a row is ranked by the column that fits best, not by their sum.
          return this.#buildMultiMatch({ ...query, kind: 'multi-match', columns: [], boosts: undefined });
        }
        return this.#inColumns(query.column, (column) => this.#buildMatch(query, column));
      case 'phrase':
        return this.#inColumns(query.column, (column) => this.#factory.phraseQuery(query.terms, column, query.slop));
      case 'boost':
        return this.#factory.boostQuery(this.build(query.positive), this.build(query.negative), query.negativeBoost);
      default:
        return this.#buildBoolean(query);
    }
  }

  #buildMatch(query: Extract<FullTextQuery, { kind: 'match' }>, column: string): NativeFullTextQuery {
    const { terms, boost, fuzziness = null, maxExpansions, operator, prefixLength } = query;
    return this.#factory.matchQuery(terms, column, boost, fuzziness, maxExpansions, operator, prefixLength);
  }

  #buildMultiMatch(query: Extract<FullTextQuery, { kind: 'multi-match' }>): NativeFullTextQuery {
    const columns = query.columns.length === 0 ? [...this.#requireIndexed()] : query.columns.map(indexedColumn);
    const boosts = query.boosts === undefined ? null : [...query.boosts];
    return this.#factory.multiMatchQuery(query.terms, columns, boosts, query.operator);
  }

  #buildBoolean(query: Extract<FullTextQuery, { kind: 'boolean' }>): NativeFullTextQuery {
    const clauses = (occur: string, parts: readonly FullTextQuery[]) =>
      parts.map((part): [string, NativeFullTextQuery] => [occur, this.build(part)]);
    return this.#factory.booleanQuery([
      ...clauses('must', query.must),
      ...clauses('should', query.should),
      ...clauses('must_not', query.mustNot),
    ]);
  }

  /** The engine requires a column for each part; without one, any indexed column may match. */
  #inColumns(path: FieldPath | undefined, build: (column: string) => NativeFullTextQuery): NativeFullTextQuery {
    if (path !== undefined) return build(indexedColumn(path));
    const parts = this.#requireIndexed().map(build);
    const [only] = parts;
    if (only !== undefined && parts.length === 1) return only;
    return this.#factory.booleanQuery(parts.map((part) => ['should', part]));
  }

  #requireIndexed(): readonly string[] {
    if (this.#indexed.length > 0) return this.#indexed;
    throw invalidInput(
      'The full-text query has no columns, and no column has a full-text index.',
      'Give a column, or create an index.',
    );
  }
}

/** A multi-match query has neither fuzziness nor prefixes, nor one boost for all columns. */
function isExact({ fuzziness, prefixLength, boost }: Extract<FullTextQuery, { kind: 'match' }>): boolean {
  return fuzziness === 0 && prefixLength === 0 && boost === 1;
}

async function findIndexed(native: NativeTable): Promise<readonly string[]> {
  const indexes = await engineCall(async () => native.listIndices());
  return indexes.filter(({ indexType }) => indexType === 'FTS').flatMap(({ columns }) => columns);
}

function requireText(schema: Schema, path: FieldPath): void {
  if (holdsText(requireField(schema, path).type)) return;
  throw invalidInput(`The column ${quotePath(path)} does not contain text.`, 'Search string columns.');
}

/** Without an index the engine searches top-level columns only. */
function requireSearchable(path: FieldPath, indexed: readonly string[]): void {
  if (path.length === 1 || indexed.includes(indexedColumn(path))) return;
  throw invalidInput(
    `The nested field ${quotePath(path)} has no full-text index.`,
    'Create one; only top-level columns can be searched without an index.',
  );
}

function holdsText(type: DataType): boolean {
  if (type.kind === 'list') return holdsText(type.item.type);
  // JSON is stored in a binary form and can have a full-text index.
  return type.kind === 'utf8' || (type.kind === 'binary' && type.layout === 'large');
}

/** A nested field as in the engine's list of indexes: release 0.31.0 finds its index by no other spelling. */
function indexedColumn(path: FieldPath): string {
  return formatColumn(path, /[^\p{Alphabetic}\p{N}_]/u);
}

/** The name of a column in a search. Unlike SQL, the engine quotes only nested names with a dot or a backtick. */
export function searchColumn(path: FieldPath): string {
  return formatColumn(path, /[.`]/);
}

function formatColumn(path: FieldPath, quoted: RegExp): string {
  if (path.length === 1) return path[0];
  return path.map((name) => (quoted.test(name) ? `\`${name.replaceAll('`', '``')}\`` : name)).join('.');
}
