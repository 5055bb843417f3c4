import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FixedSizeList, Field, Float32, Float64, Int32, Utf8 } from 'apache-arrow';
import { EXAMPLES } from '../../../src/http/pages/examples.ts';
import { toOpenApi } from '../../../src/http/pages/openapi.ts';
import { OPERATIONS } from '../../../src/operations/registry.ts';
import { toRequest } from '../../../src/snippets/plain-request.ts';
import type { DescribedOperation } from '../../../src/snippets/plain-request.ts';
import { streamOf } from '../../contract/contract-tables.ts';
import { Client } from '../../support/client.ts';
import type { Answer } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

/** In an order in which each works; those of the same name again clean up or follow a change. */
const ORDER = [
  'create_table', 'insert_into_table', 'merge_insert_into_table', 'list_tables', 'list_all_tables',
  'list_tables_of_namespace', 'describe_table', 'table_exists', 'get_table_stats', 'query_table', 'count_table_rows',
  'explain_plan', 'analyze_plan', 'describe_embeddings', 'update_table', 'delete_from_table', 'diff_table', 'update_field_metadata',
  'update_table_schema_metadata', 'create_table_index', 'create_table_scalar_index', 'list_jobs', 'describe_job',
  'list_table_indices', 'describe_table_index_stats', 'prewarm_table_index', 'prewarm_page_cache', 'drop_table_index',
  'list_table_versions', 'describe_table_version', 'create_table_tag', 'update_table_tag', 'get_table_tag_version',
  'list_table_tags', 'delete_table_tag', 'create_table_branch', 'list_table_branches', 'delete_table_branch',
  'create_materialized_view', 'describe_materialized_view', 'refresh_materialized_view', 'list_materialized_views',
  'drop_materialized_view', 'alter_table_add_columns', 'alter_table_drop_columns', 'alter_table_alter_columns',
  'restore_table', 'create_namespace', 'describe_namespace', 'namespace_exists', 'list_namespaces', 'drop_namespace',
  'list_transactions', 'describe_transaction', 'alter_transaction', 'describe_table_maintenance',
  'run_table_maintenance', 'pause_table_maintenance', 'resume_table_maintenance', 'list_slow_queries', 'list_nodes',
  'create_multipart_write', 'abort_multipart_write', 'create_database', 'list_databases', 'drop_database', 'create_webhook', 'list_webhooks', 'describe_webhook',
  'delete_webhook', 'create_key',
  'list_keys', 'create_client', 'list_clients', 'create_grant', 'list_grants', 'delete_grant', 'revoke_key',
  'revoke_client', 'set_quota', 'list_quotas', 'describe_usage', 'remove_quota', 'whoami', 'rename_table',
]; // prettier-ignore

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(async () => server.close());

const rows = streamOf({
  id: { type: new Int32(), values: [1, 2, 3], nullable: false },
  title: { type: new Utf8(), values: ['red chair', 'blue clock', 'green lamp'] },
  price: { type: new Float64(), values: [10, 20, 30] },
  quantity: { type: new Int32(), values: [1, 2, 3] },
  vector: {
    type: new FixedSizeList(16, new Field('item', new Float32(), true)),
    values: [1, 2, 3].map((row) => Array.from({ length: 16 }, () => row)),
  },
});

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The part of our own description that is read here.
const paths = toOpenApi(OPERATIONS, { release: '1.2.3', basePath: '' })['paths'] as Readonly<
  Record<string, Readonly<Record<string, DescribedOperation & { readonly operationId: string }>>>
>;

/** Placeholders of examples, by what replies call their values. */
const NAMES: Readonly<Record<string, string>> = {
  job_id: 'JOB_ID',
  upload_id: 'UPLOAD_ID',
  webhook_id: 'WEBHOOK_ID',
  client_id: 'CLIENT_ID',
  location: 'LOCATION',
};

test('every example is answered with success', async () => {
  const client = new Client(server.url);
  const known = new Map<string, string>();
  for (const id of ORDER) {
    const answer = await send(client, id, known);
    assert.ok(answer.status < 300, `${id}: ${answer.status} ${answer.text}`);
    learn(answer, known);
    if (id.endsWith('_index') && id.startsWith('create')) await indexed(client, known);
  }
});

test('every operation whose request has required fields has an example', () => {
  for (const { id, body, query } of OPERATIONS) {
    const required = [...(body.kind === 'json' ? (body.shape.required ?? []) : []), ...(query.required ?? [])];
    if (required.length > 0) assert.ok(id in EXAMPLES, id);
  }
});

async function send(client: Client, id: string, known: ReadonlyMap<string, string>): Promise<Answer> {
  const found = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      operation.operationId === id ? [toRequest('', path, method, operation)] : [],
    ),
  );
  const [request = assert.fail(id)] = found;
  const fill = (text: string): string => text.replaceAll(/[A-Z]+_ID\b|LOCATION/g, (name) => known.get(name) ?? name);
  if (request.body === 'arrow') return client.arrow(request.url, rows);
  const body = request.body === undefined ? {} : { body: fill(JSON.stringify(request.body)) };
  const headers = { 'content-type': 'application/json' };
  return client.send(request.method, fill(request.url), request.body === undefined ? {} : { ...body, headers });
}

function learn({ json }: Answer, known: Map<string, string>): void {
  for (const [name, placeholder] of Object.entries(NAMES)) {
    if (typeof json?.[name] === 'string') known.set(placeholder, json[name]);
  }
  if (typeof json?.key === 'string') known.set('KEY_ID', json.id);
  const [transaction] = json?.transactions ?? [];
  if (transaction !== undefined) known.set('TRANSACTION_ID', transaction.transaction_id);
}

async function indexed(client: Client, known: ReadonlyMap<string, string>): Promise<void> {
  const job = { job_id: known.get('JOB_ID') };
  await eventually(async () => (await client.post('/v1/jobs/describe', job)).json.job_state === 'DONE');
}
