import { ARROW_STREAM } from '../client/api-client.ts';
import { tableAddress } from '../client/calls.ts';
import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { readStream } from '../formats/arrow/arrow-source.ts';
import { formatType } from '../formats/types/type-text.ts';
import { plainRows } from '../formats/types/values-of.ts';
import { formatPath } from '../model/identifier.ts';
import { queryTable } from '../operations/data/query-table.ts';
import { operationTool } from './operation-tool.ts';
import { readBounded } from './read-reply.ts';
import { renderRows } from './render.ts';
import { TABLE, findText, readRowCount, requireTable, requireText } from './tool.ts';
import type { JsonSchema, Tool, ToolCall } from './tool.ts';

const ROWS_PRESET = 10;

const ROW_COUNT: JsonSchema = {
  type: 'integer',
  minimum: 0,
  description: `Maximum number of rows to return; ${ROWS_PRESET} by default.`,
};
const COLUMNS: JsonSchema = {
  type: 'array',
  items: { type: 'string' },
  description: 'Names of the columns to return; all by default.',
};
const NUMBERS: JsonSchema = { type: 'array', items: { type: 'number' } };

/** The simplest of the forms that the operation accepts. */
const QUERY_FORMS: Readonly<Record<string, JsonSchema>> = {
  k: ROW_COUNT,
  columns: COLUMNS,
  vector: {
    ...NUMBERS,
    description: 'Query vector, as numbers. To search with the vector of a row, use find_similar_rows.',
  },
  full_text_query: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'Words to search for.' },
      columns: { type: 'array', items: { type: 'string' } },
    },
    required: ['query'],
    description: 'Full-text search; the columns need a full-text index.',
  },
};

const generated = operationTool(queryTable, {
  forms: QUERY_FORMS,
  advice:
    'Combine a vector, a full-text query and an SQL filter as needed; without a vector and a full-text query, rows are scanned. Vectors, long strings and bytes are abbreviated in the result.',
});

export const queryTool: Tool = {
  ...generated,
  async run(call) {
    const { args } = call;
    const { table: _table, ...body } = args;
    return query(call, body);
  },
};

/** Searches by the vector of a row, so that the model need not see and send back a vector. */
export const similarRowsTool: Tool = {
  name: 'find_similar_rows',
  description:
    'Find the rows whose vectors are nearest to the vector of one row. The result excludes the row itself and rows for which `where` is null.',
  properties: {
    table: TABLE,
    where: {
      type: 'string',
      description: 'SQL condition that selects exactly one row to compare with, such as id = 7.',
    },
    vector_column: { type: 'string', description: 'Vector column; required if the table has several.' },
    filter: { type: 'string', description: 'SQL condition that the rows of the result must match.' },
    k: ROW_COUNT,
    columns: COLUMNS,
    distance_type: { type: 'string', description: '`l2`, `cosine`, `dot` or `hamming`.' },
  },
  required: ['table', 'where'],
  isWrite: false,
  isDestructive: false,
  async run(call) {
    const where = requireText(call.args, 'where');
    const filter = findText(call.args, 'filter');
    const { table: _table, where: _where, ...rest } = call.args;
    const vector = await readVector(call, where);
    const others = `NOT (${where})`;
    return query(call, { ...rest, ...vector, filter: filter === undefined ? others : `(${filter}) AND ${others}` });
  },
};

async function query(call: ToolCall, body: Readonly<Record<string, unknown>>): Promise<string> {
  const { limits, args } = call;
  const wanted = readRowCount(args, { preset: ROWS_PRESET, rowsMax: limits.rowsMax });
  const offset = typeof body['offset'] === 'number' ? body['offset'] : 0;
  const result = await openRows(call, { ...body, k: wanted });
  return renderRows(result, { wanted, offset, bytesMax: limits.resultBytesMax });
}

export async function openRows({ args, client, signal, limits }: ToolCall, body: object) {
  const address = tableAddress(requireTable(args), 'query');
  const reply = await client.open(address, { json: body, accept: ARROW_STREAM, signal });
  return readStream(readBounded(reply, limits.readBytesMax));
}

const VECTOR_TYPE = /^(?:float16|float32|float64|int8|uint8)\[\d+\]$/;

async function readVector(call: ToolCall, where: string) {
  const { args } = call;
  const { schema, batches } = await openRows(call, { filter: where, k: 2 });
  const names = schema.fields.filter(({ type }) => VECTOR_TYPE.test(formatType(type))).map(({ name }) => name);
  const wanted = findText(args, 'vector_column');
  const [name = wanted, ...others] = wanted === undefined ? names : [wanted];
  const table = formatPath(requireTable(args));
  if (name === undefined) throw invalidInput(`The table ${table} has no vector column.`);
  if (others.length > 0) {
    throw invalidInput(`The table ${table} has several vector columns.`, `Choose one of ${names.join(', ')}.`);
  }
  const rows: (readonly (readonly [string, unknown])[])[] = [];
  for await (const batch of batches) rows.push(...plainRows(batch));
  const [row, second] = rows;
  if (row === undefined) throw new ServiceError('InvalidInput', `No row of ${table} matches where.`);
  if (second !== undefined) throw invalidInput(`More than one row of ${table} matches where.`, 'Select exactly one.');
  const vector = row.find(([column]) => column === name)?.[1];
  if (!Array.isArray(vector)) throw invalidInput(`The row has no vector in ${name}.`);
  return { vector, vector_column: name };
}
