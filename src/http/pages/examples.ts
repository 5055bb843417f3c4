/**
 * A request in the reference, for the table `items` of docs/start.md. Operations without an example take an empty body.
 */
export interface Example {
  /** Values of path and query parameters. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly body?: object;
}

const VECTOR = Array.from({ length: 16 }, (_, index) => index / 16);
const INDEX = { index_name: 'title_idx' };
const WEBHOOK: Example = { body: { webhook_id: 'WEBHOOK_ID' } };
const READER = { principal: 'key:KEY_ID', role: 'reader', database: 'default', path: ['items'] };

export const EXAMPLES: Readonly<Record<string, Example>> = {
  query_table: { body: { filter: 'price < 20', columns: { column_names: ['id', 'title', 'price'] }, k: 5 } },
  diff_table: { body: { from: { version: 1 }, on: ['id'] } },
  count_table_rows: { body: { predicate: 'price < 20' } },
  explain_plan: { body: { query: { filter: 'price < 20', k: 5 } } },
  analyze_plan: { body: { vector: { single_vector: VECTOR }, filter: 'price < 20', k: 5 } },
  insert_into_table: { parameters: { mode: 'append' } },
  merge_insert_into_table: {
    parameters: { on: 'id', when_matched_update_all: 'true', when_not_matched_insert_all: 'true' },
  },
  update_table: { body: { updates: [['price', 'price * 0.9']], predicate: 'id < 400' } },
  delete_from_table: { body: { predicate: 'id = 999' } },
  complete_multipart_write: { parameters: { upload_id: 'UPLOAD_ID' } },
  abort_multipart_write: { parameters: { upload_id: 'UPLOAD_ID' } },
  describe_table: { body: { load_detailed_metadata: true } },
  rename_table: { body: { new_table_name: 'goods' } },
  clone_table: { parameters: { id: 'items_copy' }, body: { source_location: 'LOCATION' } },
  register_table: { body: { location: 'imported/items.lance' } },
  alter_table_add_columns: { body: { new_columns: [{ name: 'total', expression: 'price * quantity' }] } },
  alter_table_alter_columns: { body: { alterations: [{ path: 'quantity', rename: 'stock' }] } },
  alter_table_drop_columns: { body: { columns: ['total'] } },
  alter_table_backfill_columns: { body: { column: 'total' } },
  update_field_metadata: { body: { updates: [{ path: 'price', metadata: { unit: 'EUR' } }] } },
  update_table_schema_metadata: { body: { metadata: { owner: 'shop' } } },
  create_table_index: { body: { column: 'title', index_type: 'FTS' } },
  create_table_scalar_index: { body: { column: 'price', index_type: 'BTREE' } },
  describe_table_index_stats: { parameters: INDEX },
  drop_table_index: { parameters: INDEX },
  prewarm_table_index: { parameters: INDEX },
  prewarm_page_cache: { body: { columns: ['vector'] } },
  list_table_versions: { body: { descending: true, limit: 10 } },
  describe_table_version: { body: { version: 1 } },
  restore_table: { body: { version: 1 } },
  batch_delete_table_versions: { body: { ranges: [{ start_version: 1, end_version: 2 }] } },
  get_table_tag_version: { body: { tag: 'spring' } },
  create_table_tag: { body: { tag: 'spring', version: 1 } },
  update_table_tag: { body: { tag: 'spring', version: 2 } },
  delete_table_tag: { body: { tag: 'spring' } },
  create_table_branch: { body: { name: 'trial' } },
  delete_table_branch: { body: { name: 'trial' } },
  create_materialized_view: {
    parameters: { id: 'cheap_items' },
    body: { kind: 'query', source_query: 'SELECT id, title, price FROM items WHERE price < 20', auto_refresh: true },
  },
  refresh_materialized_view: { parameters: { id: 'cheap_items' } },
  describe_materialized_view: { parameters: { id: 'cheap_items' } },
  drop_materialized_view: { parameters: { id: 'cheap_items' } },
  set_table_managed_versioning: { body: { enabled: true } },
  create_table_version: { body: { version: 2, manifest_path: 'MANIFEST_PATH' } },
  batch_create_table_versions: {
    body: { entries: [{ id: ['items'], version: 2, manifest_path: 'MANIFEST_PATH' }] },
  },
  batch_commit_tables: { body: { operations: [{ declare_table: { id: ['items_copy'] } }] } },
  create_namespace: { parameters: { id: 'shop' }, body: { properties: { owner: 'sales' } } },
  describe_namespace: { parameters: { id: 'shop' } },
  namespace_exists: { parameters: { id: 'shop' } },
  drop_namespace: { parameters: { id: 'shop' } },
  list_namespaces: { parameters: { id: '$' } },
  list_tables_of_namespace: { parameters: { id: '$' } },
  list_materialized_views: { parameters: { id: '$' } },
  describe_transaction: { parameters: { id: 'TRANSACTION_ID' } },
  alter_transaction: {
    parameters: { id: 'TRANSACTION_ID' },
    body: { actions: [{ setStatusAction: { status: 'Succeeded' } }] },
  },
  create_webhook: { body: { url: 'https://hooks.example.com/tables', table: ['items'] } },
  describe_webhook: WEBHOOK,
  test_webhook: WEBHOOK,
  update_webhook: { body: { webhook_id: 'WEBHOOK_ID', url: 'https://example.com/hooks' } },
  disable_webhook: WEBHOOK,
  resume_webhook: WEBHOOK,
  delete_webhook: WEBHOOK,
  describe_job: { body: { job_id: 'JOB_ID' } },
  cancel_job: { body: { job_id: 'JOB_ID' } },
  create_database: { body: { name: 'sales' } },
  drop_database: { body: { name: 'sales' } },
  create_key: { body: { name: 'nightly import', grants: [{ role: 'writer', database: 'default' }] } },
  revoke_key: { body: { key_id: 'KEY_ID' } },
  create_client: { body: { name: 'dashboard', grants: [{ role: 'reader', database: 'default' }] } },
  revoke_client: { body: { client_id: 'CLIENT_ID' } },
  create_grant: { body: READER },
  delete_grant: { body: READER },
  set_quota: { body: { database: 'default', rows: 10_000_000, requests_per_second: 100 } },
  remove_quota: { body: { database: 'default', limits: ['rows'] } },
  describe_usage: { body: { database: 'default' } },
};

/** Default path parameters for operations without an example. */
export const EXAMPLE_TABLE = 'items';
