import { invalidInput } from '../errors/service-error.ts';
import { quoteForMessage } from '../model/identifier.ts';
import { isObject, requireNewKey, withoutNulls } from '../model/strict-json.ts';

/** Converts the LanceDB client's forms of query bodies to those of the contract. Every caller may send either. */
export function toContractQuery(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const query = withoutClientDefaults(body);
  for (const [name, toContract] of FORMS) {
    if (query[name] === undefined) continue;
    const value = toContract(query[name]);
    if (value === undefined) Reflect.deleteProperty(query, name);
    else query[name] = value;
  }
  return query;
}

/** Converts a form of the client to that of the contract; `undefined` values are dropped. */
type ToContract = (value: unknown) => unknown;

const FORMS: readonly (readonly [name: string, toContract: ToContract])[] = [
  ['vector', toContractVector],
  ['columns', toContractColumns],
  ['full_text_query', toContractFullText],
  ['k', toContractLimit],
];

/**
 * Does the same for operations outside the contract, where a vector without members means no vector for every caller.
 */
export function toContractSearch(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return toContractQuery(withoutEmptyVector(body));
}

const PROBE_FIELDS = ['nprobes', 'minimum_nprobes', 'maximum_nprobes'] as const;
const PROBES_OF_CLIENT = 20;

/** A LanceDB client sends these names instead of a target; `normal` is the index's own. */
const APPROXIMATION_TARGETS: ReadonlyMap<unknown, number | undefined> = new Map([
  ['fast', 0.8],
  ['normal', undefined],
  ['accurate', 0.99],
]);

/**
 * Returns a copy. A LanceDB client sends 20 probes with each query even if the user did not set them: then the server
 * chooses.
 */
function withoutClientDefaults(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const body = { ...given };
  const isDefault =
    PROBE_FIELDS.every((name) => body[name] === PROBES_OF_CLIENT) &&
    body['ef'] === undefined &&
    body['refine_factor'] === undefined;
  if (isDefault) for (const name of PROBE_FIELDS) Reflect.deleteProperty(body, name);
  const { approx_mode: mode } = body;
  // Unknown values are left for the validation of the shape.
  if (mode === undefined || !APPROXIMATION_TARGETS.has(mode)) return body;
  Reflect.deleteProperty(body, 'approx_mode');
  const target = APPROXIMATION_TARGETS.get(mode);
  if (target !== undefined) body['recall_target'] ??= target;
  return body;
}

/** The query inside an explain request has the same forms; its null fields count as absent. */
export function toContractExplanation(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { query } = body;
  if (!isObject(query)) return { ...body };
  return { ...body, query: toContractSearch(withoutNulls(query)) };
}

/** A vector without members means no vector. */
function withoutEmptyVector(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (!isObject(body['vector']) || Object.keys(withoutNulls(body['vector'])).length > 0) return body;
  const { vector: _empty, ...rest } = body;
  return rest;
}

/** Java models have empty lists and maps for unset fields. */
export function withoutUnset(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { id, new_namespace_id: namespace, vector, columns, full_text_query: words, query, ...rest } = body;
  const isStringQuery = isObject(words) && isObject(words['string_query']);
  return {
    ...rest,
    ...withoutEmpty({
      id,
      new_namespace_id: namespace,
      vector: isObject(vector) ? withoutEmpty(vector) : vector,
      columns: isObject(columns) ? withoutEmpty(columns) : undefined,
      full_text_query: isStringQuery ? { ...words, string_query: withoutEmpty(Object(words['string_query'])) } : words,
      query: isObject(query) ? withoutUnset(query) : query,
    }),
    // A list of columns is not part of a query.
    ...(columns !== undefined && !isObject(columns) && { columns }),
  };
}

function withoutEmpty(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => !isNothing(value)));
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** `[]` means no vector, `[1, 2]` one, `[[1, 2], [3, 4]]` several. */
function toContractVector(vector: unknown): unknown {
  if (!Array.isArray(vector)) return vector;
  if (vector.length === 0) return undefined;
  return Array.isArray(vector[0]) ? { multi_vector: vector } : { single_vector: vector };
}

/**
 * `["a", "b"]` are names. `[["x", "a + 1"]]`, which client 0.22 sends, and an object with keys other than the
 * contract's two, map aliases to expressions.
 */
function toContractColumns(columns: unknown): unknown {
  if (Array.isArray(columns))
    return isPairs(columns) ? { column_aliases: toAliases(columns) } : { column_names: columns };
  if (!isObject(columns) || Object.keys(columns).length === 0) return columns;
  const isContractForm = Array.isArray(columns['column_names']) || isObject(columns['column_aliases']);
  const isAliases = !isContractForm && Object.keys(columns).some((key) => !CONTRACT_KEYS.has(key));
  return isAliases ? { column_aliases: columns } : columns;
}

/** Pairs become object keys, so the rules for keys apply to them. */
function toAliases(pairs: readonly (readonly [string, string])[]): Record<string, string> {
  const aliases = new Map<string, string>();
  for (const [name, expression] of pairs) {
    requireNewKey(name, false);
    if (aliases.has(name)) throw invalidInput(`The column ${quoteForMessage(name)} is selected more than once.`);
    aliases.set(name, expression);
  }
  return Object.fromEntries(aliases);
}

const CONTRACT_KEYS: ReadonlySet<string> = new Set(['column_names', 'column_aliases']);

function isPairs(columns: readonly unknown[]): columns is readonly (readonly [string, string])[] {
  return columns.length > 0 && columns.every(isPair);
}

function isPair(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string');
}

/** `{"query": "text", "columns": […]}` is a string query, `{"query": {…}}` a structured one. */
function toContractFullText(query: unknown): unknown {
  if (!isObject(query) || !('query' in query)) return query;
  return typeof query['query'] === 'string' ? { string_query: query } : { structured_query: query };
}

/** The value of `k` if there is no limit. */
export const UNLIMITED = Number.MAX_SAFE_INTEGER;

/** A client without a limit sends 2⁶³−1, which a JavaScript number cannot represent. */
function toContractLimit(k: unknown): unknown {
  return typeof k === 'number' && k > Number.MAX_SAFE_INTEGER && k <= 2 ** 63 ? UNLIMITED : k;
}

export function withoutUndefined<Value>(fields: Readonly<Record<string, Value | undefined>>): Record<string, Value> {
  const given: Record<string, Value> = {};
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (value !== undefined) given[name] = value;
  }
  return given;
}
