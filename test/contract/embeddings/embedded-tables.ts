import assert from 'node:assert/strict';
import { embed } from '../../support/embedding-provider.ts';
import type { Answer, Client } from '../../support/client.ts';
import type { ContractServer, MadeTable } from '../contract-server.ts';
import { Int32, Utf8, count, streamOf, vectorType } from '../contract-tables.ts';

export const TITLES = [
  'A comfortable chair',
  'A wooden stool',
  'A desk lamp',
  'A lantern for the garden',
  'A model boat',
  'A picture of a harbour',
];

type Metadata = Readonly<Record<string, string>>;

export function titleStream(metadata: Metadata = {}, schemaMetadata: Metadata = {}): Uint8Array {
  const columns = {
    id: { type: new Int32(), values: count(TITLES.length) },
    title: { type: new Utf8(), values: TITLES },
    vector: { type: vectorType(8), values: TITLES.map((title) => embed(title)), metadata },
  };
  return streamOf(columns, schemaMetadata);
}

/** A table of titles with their embeddings, and the model recorded as a caller does it. */
export async function embeddedTable(server: ContractServer, model: string): Promise<MadeTable> {
  const table = await server.table({ stream: titleStream() });
  await record(server.admin, table, { 'tiltyard.embedding.model': model, 'tiltyard.embedding.source': 'title' });
  return table;
}

export async function record(
  client: Client,
  table: MadeTable,
  metadata: Readonly<Record<string, string | null>>,
  path = 'vector',
): Promise<void> {
  const { status, text } = await client.post(`${table.at}/update_field_metadata`, { updates: [{ path, metadata }] });
  assert.equal(status, 200, text);
}

export async function search(client: Client, table: Pick<MadeTable, 'at'>, body: object): Promise<Answer> {
  return client.post(
    `${table.at}/query`,
    { k: 2, columns: { column_names: ['title'] }, ...body },
    { accept: 'application/json' },
  );
}

export function titlesOf({ status, json, text }: Answer): readonly string[] {
  assert.equal(status, 200, text);
  return json.rows.map(({ title }: { title: string }) => title);
}
