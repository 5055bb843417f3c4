import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, suite, test } from 'node:test';
import { ApiClient } from '../../src/client/api-client.ts';
import { ServiceError } from '../../src/errors/service-error.ts';
import { TOOLS } from '../../src/mcp/tools.ts';
import { testLimits } from '../support/limits.ts';
import { ContractServer } from '../contract/contract-server.ts';
import { Field, FixedSizeList, Float32, Int32, Utf8, sampleStream, toStream } from '../support/arrow-tables.ts';
import { Binary, Dictionary } from 'apache-arrow';
import { ADMIN_KEY } from '../support/server.ts';
import { connectMcp } from './mcp-client.ts';
import type { McpClientOptions } from './mcp-client.ts';

/** Bytes, a long text and a vector of 64 numbers. */
function wideStream(rows: number): Uint8Array {
  return toStream(
    {
      id: [new Int32(), (row) => row],
      photo: [new Binary(), () => new Uint8Array(100)],
      text: [new Utf8(), () => 'x'.repeat(5000)],
      vec: [new FixedSizeList(64, new Field('item', new Float32(), true)), (row) => Array(64).fill(row)],
    },
    rows,
  );
}

const READ_TOOLS = ['describe_table', 'query_table', 'find_similar_rows', 'count_table_rows', 'list_transactions'];
const WRITE_TOOLS = ['insert_rows', 'merge_rows', 'update_table', 'delete_from_table', 'restore_table'];

suite('tools of the Model Context Protocol', () => {
  let server: ContractServer;
  before(async () => {
    server = await ContractServer.start({
      flags: ['--mcp-writes=true', '--mcp-rows-max=20', '--mcp-result-bytes-max=4096'],
    });
  });
  after(async () => server.close());

  /** Calls one tool, and fails the test on an error. */
  async function call(name: string, args: Record<string, unknown>, options?: McpClientOptions): Promise<string> {
    const mcp = await connectMcp(server.url, options);
    try {
      const { text, isError } = await mcp.call(name, args);
      assert.equal(isError, false, text);
      return text;
    } finally {
      await mcp.close();
    }
  }

  async function refusal(name: string, args: Record<string, unknown>, options?: McpClientOptions): Promise<string> {
    const mcp = await connectMcp(server.url, options);
    try {
      const { text, isError } = await mcp.call(name, args);
      assert.equal(isError, true, text);
      return text;
    } finally {
      await mcp.close();
    }
  }

  for (const era of ['legacy', 'modern'] as const) {
    test(`the tools are listed and called in the ${era} protocol`, async () => {
      const { id } = await server.table();
      const mcp = await connectMcp(server.url, { era });
      const names = await mcp.names();
      for (const name of [...READ_TOOLS, ...WRITE_TOOLS]) assert.ok(names.includes(name), name);
      assert.deepEqual(await mcp.call('count_table_rows', { table: id }), { text: '10', isError: false });
      await mcp.close();
    });
  }

  test('every tool has a schema of an object with known required arguments, and says whether it only reads', async () => {
    const mcp = await connectMcp(server.url);
    const { tools } = await mcp.client.listTools();
    for (const { name, inputSchema, annotations, description } of tools) {
      assert.equal(inputSchema.type, 'object', name);
      for (const field of inputSchema.required ?? [])
        assert.ok(field in (inputSchema.properties ?? {}), `${name} ${field}`);
      assert.equal(typeof annotations?.readOnlyHint, 'boolean', name);
      assert.ok((description ?? '').length > 10, name);
      for (const hidden of ['identity', 'context', 'delimiter', 'vend_credentials']) {
        assert.ok(!(hidden in (inputSchema.properties ?? {})), `${name} ${hidden}`);
      }
    }
    const hints = new Map(tools.map(({ name, annotations }) => [name, annotations]));
    assert.equal(hints.get('query_table')?.readOnlyHint, true);
    assert.equal(hints.get('insert_rows')?.readOnlyHint, false);
    assert.equal(hints.get('delete_from_table')?.destructiveHint, true);
    await mcp.close();
  });

  test('databases, namespaces and tables are listed and described', async () => {
    const space = server.name('space');
    await server.namespace([space]);
    await server.table({ id: `${space}$orders` });
    assert.match(await call('list_databases', {}), /"default"/);
    assert.match(await call('list_namespaces', {}), new RegExp(space));
    assert.match(await call('list_tables_of_namespace', { namespace: space, limit: 5 }), /orders/);
    const described = await call('describe_table', { table: `${space}$orders` });
    assert.match(described, /"version":1/);
    assert.match(described, /"vec"/);
    assert.doesNotMatch(described, /"context"/);
    assert.match(await call('get_table_stats', { table: `${space}$orders` }), /"num_rows":10/);
  });

  test('no argument changes which operation a tool calls', async () => {
    const sent = new Set<string>();
    const client = new ApiClient({
      url: 'http://host',
      fetch: async (url) => {
        assert.ok(typeof url === 'string');
        sent.add(url.replace(/\?.*/, ''));
        return Response.json({});
      },
    });
    for (const tool of TOOLS) {
      const { properties } = tool;
      for (const argument of Object.keys(properties)) {
        for (const text of ['..', '.']) {
          const args = Object.fromEntries(Object.keys(properties).map((name) => [name, 'x']));
          const call = { args: { ...args, [argument]: text }, client, signal: new AbortController().signal };
          await tool.run({ ...call, limits: testLimits().mcp }).catch((error: unknown) => {
            assert.ok(error instanceof ServiceError, String(error));
          });
        }
      }
    }
    assert.ok(sent.has('http://host/v1/table/x/index/x/drop'));
    for (const url of sent) assert.equal(new URL(url).href, url);
  });

  test('an index called ".." does not exist, and its table stays', async () => {
    const { id } = await server.table();
    assert.match(await refusal('drop_table_index', { table: id, index_name: '..' }), /Nothing can have the name/);
    assert.match(
      await refusal('describe_table_index_stats', { table: id, index_name: '..' }),
      /Nothing can have the name/,
    );
    assert.equal(await call('count_table_rows', { table: id }), '10');
  });

  test('another database is chosen by argument and by header', async () => {
    const database = await server.database();
    await server.table({ id: 'there', headers: { 'x-service-database': database } });
    assert.equal(await call('count_table_rows', { table: 'there', database }), '10');
    const headers = { 'x-service-database': database };
    assert.equal(await call('count_table_rows', { table: 'there' }, { headers }), '10');
    assert.match(await refusal('count_table_rows', { table: 'there' }), /there/);
    assert.match(await refusal('count_table_rows', { table: 'there', database: 'a\n' }), /cannot be sent/);
    await server.admin.post('/v1/database/create', { name: '漢字' });
    const bytes = { 'x-service-database': Buffer.from('漢字').toString('latin1') };
    await server.table({ id: 'here', headers: bytes });
    assert.equal(await call('count_table_rows', { table: 'here', database: '漢字' }), '10');
    assert.equal(await call('count_table_rows', { table: 'here' }, { headers: bytes }), '10');
  });

  test('rows are found by filter, vector and words, as one JSON object per line', async () => {
    const { id, at } = await server.table();
    const [head, row, ...more] = (
      await call('query_table', { table: id, filter: 'id = 3', columns: ['id', 'name'] })
    ).split('\n');
    assert.equal(head, '1 row; columns: id int32, name utf8');
    assert.deepEqual(JSON.parse(row ?? ''), { id: 3, name: 'name 3' });
    assert.deepEqual(more, []);
    assert.match(await call('query_table', { table: id, vector: [5, 6, 7, 8], k: 1 }), /"id":5/);
    const indexed = await server.admin.post(`${at}/create_index`, { column: 'name', index_type: 'FTS' });
    assert.equal(indexed.status, 200, indexed.text);
    assert.match(await call('query_table', { table: id, full_text_query: { query: '7' }, k: 5 }), /"id":7/);
  });

  test('rows are found by the vector of another row', async () => {
    const { id } = await server.table();
    const text = await call('find_similar_rows', { table: id, where: 'id = 4', k: 2, columns: ['id'] });
    const ids = text
      .split('\n')
      .slice(1, 3)
      .map((line) => JSON.parse(line).id);
    assert.deepEqual(ids.toSorted(), [3, 5]);
    assert.match(await refusal('find_similar_rows', { table: id, where: 'id = 99' }), /No row/);
    assert.match(await refusal('find_similar_rows', { table: id, where: 'id > 1' }), /More than one row/);
  });

  test('results are bounded, and say how to get more', async () => {
    const { id } = await server.table({ stream: wideStream(15) });
    const text = await call('query_table', { table: id });
    assert.ok(Buffer.byteLength(text) < 4096 + 512, `${Buffer.byteLength(text)} bytes`);
    assert.match(text, /<100 bytes>/);
    assert.match(text, /5,000 characters in all/);
    assert.match(text, /\[0, 0, 0, 0, … 64 numbers\]/);
    assert.match(text, /Only \d+ rows of 10 fit into 4 KiB\. Continue with offset \d+/);
    const next = await call('query_table', { table: id, columns: ['id'], k: 5, offset: 5 });
    assert.match(next, /There may be more rows: continue with offset 10\./);
    assert.match(await refusal('query_table', { table: id, k: 21 }), /at most 20 rows/);
  });

  test('a long reply of an operation is cut off with a note', async () => {
    const { id, at } = await server.table();
    for (let index = 0; index < 40; index += 1) {
      await server.admin.post(`${at}/update`, { updates: [['price', `${index}.0`]], predicate: 'id = 1' });
    }
    const text = await call('list_table_versions', { table: id });
    assert.match(text, /Truncated to 4 KiB of [\d,]+ bytes/);
  });

  test('plans, versions, tags, indexes, transactions and usage are read', async () => {
    const { id, at } = await server.table();
    await server.admin.post(`${at}/tags/create`, { tag: 'first', version: 1 });
    assert.match(await call('explain_plan', { table: id, query: { filter: 'id = 3' } }), /id/);
    assert.match(await call('analyze_plan', { table: id, filter: 'id = 3' }), /\n/);
    assert.match(await call('list_table_versions', { table: id }), /"version":1/);
    assert.match(await call('describe_table_version', { table: id }), /"version":1/);
    assert.match(await call('list_table_tags', { table: id }), /first/);
    assert.match(await call('list_table_indices', { table: id }), /"indexes":\[\]/);
    const feed = await call('list_transactions', { newest_first: 'true', limit: 1 });
    const transaction = /"transaction_id":"(\w+)"/.exec(feed)?.[1];
    assert.match(await call('describe_transaction', { transaction_id: transaction }), /Succeeded/);
    assert.match(await call('list_jobs', {}), /"jobs"/);
    assert.match(await call('describe_usage', {}), /\{/);
  });

  test('rows are inserted and merged as JSON with the types of the table', async () => {
    const { id } = await server.table();
    const rows = [{ id: 100, name: 'new', price: 2, vec: [1, 2, 3, 4], point: { x: 1.5, label: 'p' } }, { id: 101 }];
    assert.match(await call('insert_rows', { table: id, rows }), /"num_inserted_rows":2/);
    const found = await call('query_table', {
      table: id,
      filter: 'id >= 100',
      columns: ['id', 'name', 'price', 'point'],
    });
    assert.match(found, /\{"id":100,"name":"new","price":2,"point":\{"x":1.5,"label":"p"\}\}/);
    assert.match(found, /\{"id":101,"name":null,"price":null,"point":null\}/);
    const merged = await call('merge_rows', { table: id, on: 'id', rows: [{ ...rows[0], name: 'changed' }] });
    assert.match(merged, /"num_updated_rows":1/);
    assert.match(await call('query_table', { table: id, filter: 'id = 100', columns: ['name'] }), /changed/);
    assert.match(
      await refusal('insert_rows', { table: id, rows: [{ id: 1, colour: 'red' }] }),
      /no column "colour".*id, price/,
    );
    assert.match(await refusal('insert_rows', { table: id, rows: [{ id: 'seven' }] }), /"id"/);
  });

  test('rows of a table with a dictionary column are inserted and merged', async () => {
    const word = new Dictionary(new Utf8(), new Int32());
    const stream = toStream({ id: [new Int32(), (row) => row], word: [word, (row) => `w${row}`] }, 2);
    const { id } = await server.table({ stream });
    await call('insert_rows', { table: id, rows: [{ id: 2, word: 'new' }, { id: 3 }] });
    const merged = await call('merge_rows', {
      table: id,
      on: 'id',
      rows: [
        { id: 1, word: 'changed' },
        { id: 4, word: 'new' },
      ],
    });
    assert.match(merged, /"num_inserted_rows":1,"num_updated_rows":1/);
    const found = await call('query_table', { table: id, columns: ['word'] });
    assert.match(found, /"w0"[^]*"new"[^]*null[^]*"changed"[^]*"new"/);
  });

  test('rows are updated and deleted, and the version before is restored', async () => {
    const { id } = await server.table();
    assert.match(
      await call('update_table', { table: id, updates: [['name', "'x'"]], predicate: 'id = 1' }),
      /"updated_rows":1/,
    );
    assert.match(await call('delete_from_table', { table: id, predicate: 'id < 5' }), /"num_deleted_rows":5/);
    assert.match(await call('diff_table', { table: id, from: { version: 1 }, on: ['id'] }), /"removed"/);
    assert.match(await call('restore_table', { table: id, version: 1 }), /"version":4/);
    assert.equal(await call('count_table_rows', { table: id }), '10');
  });

  test('indexes, tags and namespaces are created and dropped', async () => {
    const { id } = await server.table();
    assert.match(
      await call('create_table_index', { table: id, column: 'id', index_type: 'BTREE' }),
      /"index_name":"id_idx"/,
    );
    assert.match(
      await call('describe_table_index_stats', { table: id, index_name: 'id_idx' }),
      /"num_indexed_rows":10/,
    );
    await call('drop_table_index', { table: id, index_name: 'id_idx' });
    await call('create_table_tag', { table: id, tag: 'good', version: 1 });
    await call('delete_table_tag', { table: id, tag: 'good' });
    await call('create_namespace', { namespace: server.name('made') });
  });

  test('a namespace that exists is not replaced', async () => {
    const space = server.name('kept');
    await server.namespace([space]);
    const { id } = await server.table({ id: `${space}$orders` });
    assert.match(await refusal('create_namespace', { namespace: space, mode: 'overwrite' }), /mode/);
    assert.match(await refusal('create_namespace', { namespace: space }), /already exists/);
    assert.equal(await call('count_table_rows', { table: id }), '10');
  });

  test('a refusal of the service is a tool error with its message', async () => {
    assert.match(await refusal('describe_table', { table: 'absent' }), /absent.*not found|not found/);
    const { id } = await server.table();
    assert.match(await refusal('query_table', { table: id, filter: 'nope = 1' }), /nope/);
    assert.match(await refusal('query_table', { table: id, nprobe: 3 }), /nprobe/);
    assert.match(
      await refusal('describe_table', { table: id, vend_credentials: true }),
      /"vend_credentials" is unknown/,
    );
    assert.match(await refusal('describe_table', {}), /table is missing/);
  });

  test('a tool that does not exist is an error of the protocol', async () => {
    const mcp = await connectMcp(server.url);
    await assert.rejects(mcp.call('drop_table', { table: 'x' }), /tool drop_table does not exist/);
    await mcp.close();
  });

  test('without a credential nothing is offered', async () => {
    await assert.rejects(connectMcp(server.url, { key: undefined }));
    const answer = await server.stranger().post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    assert.equal(answer.status, 401);
  });

  test('a caller sees and changes only what its role allows', async () => {
    const { id } = await server.table();
    const other = await server.table();
    const reader = await server.key([{ role: 'reader', database: 'default', path: [id] }]);
    const mcp = await connectMcp(server.url, { key: reader });
    const names = await mcp.names();
    for (const name of WRITE_TOOLS) assert.ok(!names.includes(name), name);
    assert.equal((await mcp.call('count_table_rows', { table: id })).text, '10');
    assert.match((await mcp.call('count_table_rows', { table: other.id })).text, /not found/);
    const refused = await mcp.call('delete_from_table', { table: id, predicate: 'true' });
    assert.ok(refused.isError);
    assert.match(refused.text, /no role that allows writes/);
    await mcp.close();
    const writer = await server.key([{ role: 'writer', database: 'default', path: [id] }]);
    assert.match(
      await refusal('delete_from_table', { table: other.id, predicate: 'true' }, { key: writer }),
      /not found/,
    );
    assert.match(
      await call('delete_from_table', { table: id, predicate: 'id = 1' }, { key: writer }),
      /"num_deleted_rows":1/,
    );
  });

  test('a page of another origin is refused, and so is another host name', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    for (const origin of ['http://attacker.example', 'null', 'https://localhost.attacker.example']) {
      const answer = await server.admin.post('/mcp', body, { origin });
      assert.equal(answer.status, 403, answer.text);
    }
    for (const host of ['attacker.example', 'localhost.attacker.example:2333']) {
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const headers = { host, 'x-api-key': ADMIN_KEY, 'content-type': 'application/json' };
        const sent = request(`${server.url}/mcp`, { method: 'POST', headers, agent: false }, (reply) => {
          reply.resume();
          resolve(reply.statusCode);
        });
        sent.once('error', reject).end(JSON.stringify(body));
      });
      assert.equal(status, 403, host);
    }
    const accept = { accept: 'application/json, text/event-stream' };
    const own = await server.admin.post('/mcp', body, { ...accept, origin: 'http://localhost:8080' });
    assert.equal(own.status, 200, own.text);
  });

  test('other methods and too large requests are refused', async () => {
    const get = await server.admin.get('/mcp');
    assert.equal(get.status, 405);
    assert.equal(get.headers.get('allow'), 'POST');
    const large = await server.admin.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'x'.repeat(5 * 1024 * 1024) });
    assert.equal(large.status, 413);
    const batch = await server.admin.post('/mcp', [{ jsonrpc: '2.0', id: 1, method: 'ping' }]);
    assert.equal(batch.status, 400);
  });
});

suite('tools of a server as it is installed', () => {
  let server: ContractServer;
  before(async () => {
    server = await ContractServer.start();
  });
  after(async () => server.close());

  test('tools only read, whatever the role', async () => {
    const { id } = await server.table({ stream: sampleStream(3) });
    const mcp = await connectMcp(server.url);
    const names = await mcp.names();
    for (const name of READ_TOOLS) assert.ok(names.includes(name), name);
    for (const name of WRITE_TOOLS) assert.ok(!names.includes(name), name);
    const { text, isError } = await mcp.call('delete_from_table', { table: id, predicate: 'true' });
    assert.ok(isError);
    assert.match(text, /mcp\.writes/);
    assert.equal((await mcp.call('count_table_rows', { table: id })).text, '3');
    await mcp.close();
  });
});

test('mcp.enabled=false removes the address', async () => {
  const server = await ContractServer.start({ flags: ['--mcp-enabled=false'] });
  try {
    assert.equal((await server.admin.post('/mcp', {})).status, 404);
  } finally {
    await server.close();
  }
});
