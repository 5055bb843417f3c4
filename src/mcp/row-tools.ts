import { tableAddress } from '../client/calls.ts';
import { invalidInput } from '../errors/service-error.ts';
import { blobInput } from '../formats/input.ts';
import { openReader } from '../formats/open-reader.ts';
import { formatType } from '../formats/types/type-text.ts';
import { writeRows } from '../formats/write-rows.ts';
import { formatPath, quoteForMessage } from '../model/identifier.ts';
import { openRows } from './query-tools.ts';
import { readReply } from './read-reply.ts';
import { renderReply } from './render.ts';
import { TABLE, findText, requireRows, requireTable } from './tool.ts';
import type { JsonSchema, Tool, ToolCall } from './tool.ts';

const ROWS: JsonSchema = {
  type: 'array',
  minItems: 1,
  items: { type: 'object' },
  description:
    'Rows as JSON objects; values are converted to the types of the columns. Send integers above 2^53 as strings, bytes in base64, times in ISO 8601.',
};
const BRANCH: JsonSchema = { type: 'string', description: 'Branch to write to; the main branch by default.' };

export const insertRowsTool: Tool = {
  name: 'insert_rows',
  description: 'Add rows to a table, in one commit. Columns that a row omits are null.',
  properties: { table: TABLE, rows: ROWS, branch: BRANCH },
  required: ['table', 'rows'],
  isWrite: true,
  isDestructive: false,
  run: async (call) => send(call, 'insert', {}),
};

export const mergeRowsTool: Tool = {
  name: 'merge_rows',
  description: 'Update the rows of a table that have the same key as a given row, and insert the other given rows.',
  properties: {
    table: TABLE,
    on: { type: 'string', description: 'Key column; every row must have it.' },
    rows: ROWS,
    branch: BRANCH,
  },
  required: ['table', 'on', 'rows'],
  isWrite: true,
  isDestructive: true,
  run: async (call) =>
    send(call, 'merge_insert', {
      on: findText(call.args, 'on'),
      when_matched_update_all: 'true',
      when_not_matched_insert_all: 'true',
    }),
};

async function send(
  call: ToolCall,
  action: string,
  query: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const { args, client, signal, limits } = call;
  const bytes = await toArrow(call);
  const address = tableAddress(requireTable(args), action);
  const branch = findText(args, 'branch');
  const reply = await client.open(address, { query: { ...query, branch }, bytes, accept: 'application/json', signal });
  return renderReply(await readReply(reply, limits.readBytesMax), limits.resultBytesMax);
}

/** Converts the rows to the table's types. */
async function toArrow(call: ToolCall): Promise<Uint8Array> {
  const rows = requireRows(call.args);
  const types = await readTypes(call);
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const unknown = names.find((name) => !types.has(name));
  if (unknown !== undefined) {
    const table = formatPath(requireTable(call.args));
    const hint = `Its columns are ${[...types.keys()].join(', ')}.`;
    throw invalidInput(`The table ${table} has no column ${quoteForMessage(unknown)}.`, hint);
  }
  const lines = rows.map((row) => JSON.stringify(row)).join('\n');
  const columns = names.map((source) => ({ source, type: types.get(source) }));
  const reader = await openReader(blobInput(new Blob([lines])), { format: 'ndjson', columns });
  const batches = async function* () {
    for await (const { batch } of reader.batches()) yield batch;
  };
  const pieces: Uint8Array[] = [];
  for await (const piece of writeRows('arrow', reader.schema, batches())) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function readTypes(call: ToolCall): Promise<ReadonlyMap<string, string>> {
  const branch = findText(call.args, 'branch');
  const { schema, batches } = await openRows(call, { k: 1, ...(branch === undefined ? {} : { branch }) });
  for await (const batch of batches) void batch;
  return new Map(schema.fields.map(({ name, type }) => [name, formatType(type)]));
}
