import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_KINDS } from '../../src/errors/service-error.ts';
import type { ErrorName } from '../../src/errors/service-error.ts';
import { LANCEDB_PROTOCOL, acceptOf, chooseDialect, statusFor, toContractBody } from '../../src/http/dialects.ts';

test('knows the LanceDB client by the slash at the end of its addresses', () => {
  assert.equal(chooseDialect('/v1/table/a/update/', undefined), 'lancedb');
  assert.equal(chooseDialect('/v1/table/a/update', undefined), 'lance');
  assert.equal(chooseDialect('/', undefined), 'lance');
  assert.equal(chooseDialect('', undefined), 'lance');
});

test('knows the LanceDB client by its name', () => {
  assert.equal(chooseDialect('/v1/tables', 'LanceDB-Node-Client/0.31.0'), 'lancedb');
  assert.equal(chooseDialect('/v1/tables', 'LanceDB-Rust-Client/0.38.0'), 'lancedb');
  assert.equal(chooseDialect('/v1/tables', 'curl/8 LanceDB-Node-Client'), 'lance');
});

const GENERATED = 'OpenAPI-Generator/0.13.0/python';
const PYTHON = { userAgent: GENERATED, delimiter: undefined };
const JAVA = { userAgent: 'OpenAPI-Generator/0.7.7/java', delimiter: undefined };
/** Of Lance itself. */
const UNNAMED = { userAgent: undefined, delimiter: '$' };
const OTHERS = [
  { userAgent: 'curl/8', delimiter: '$' },
  { userAgent: undefined, delimiter: undefined },
];

test('reads no preference from the Accept that every generated client sends', () => {
  assert.equal(acceptOf({ accept: 'application/json', 'user-agent': GENERATED }), undefined);
  assert.equal(acceptOf({ accept: 'application/json', 'user-agent': 'curl/8' }), 'application/json');
  assert.equal(acceptOf({ accept: 'application/json' }), 'application/json');
  const stream = 'application/vnd.apache.arrow.stream';
  assert.equal(acceptOf({ accept: stream, 'user-agent': GENERATED }), stream);
  assert.equal(acceptOf({ 'user-agent': GENERATED }), undefined);
});

test('reads no vector where a client of the Lance description sends one without members', () => {
  const nulls = { single_vector: null, multi_vector: null };
  for (const vector of [{}, nulls]) {
    assert.deepEqual(toContractBody({ k: 1, vector }, PYTHON), { k: 1 });
    assert.deepEqual(toContractBody({ k: 1, vector }, UNNAMED), { k: 1 });
    for (const other of OTHERS) assert.deepEqual(toContractBody({ k: 1, vector }, other), { k: 1, vector });
  }
  const body = { vector: { single_vector: [1], multi_vector: null } };
  assert.deepEqual(toContractBody(body, PYTHON), { vector: { single_vector: [1] } });
});

test('reads the empty lists and maps with which models of Java fill what was not set as absent', () => {
  const empty = { context: {}, id: [], vector: { single_vector: [], multi_vector: [] }, k: 1 };
  const columns = { column_names: [], column_aliases: {} };
  const words = { string_query: { query: 'a', columns: [] } };
  for (const agent of [JAVA, UNNAMED]) {
    assert.deepEqual(toContractBody({ ...empty, columns }, agent), { context: {}, k: 1 });
    assert.deepEqual(toContractBody({ full_text_query: words }, agent), {
      full_text_query: { string_query: { query: 'a' } },
    });
    assert.deepEqual(toContractBody({ id: ['a'], query: empty }, agent), { id: ['a'], query: { context: {}, k: 1 } });
    const named = { vector: { single_vector: [1], multi_vector: [] }, columns: { ...columns, column_names: ['a'] } };
    assert.deepEqual(toContractBody(named, agent), {
      vector: { single_vector: [1] },
      columns: { column_names: ['a'] },
    });
    assert.deepEqual(toContractBody({ new_table_name: 'b', new_namespace_id: [] }, agent), { new_table_name: 'b' });
    for (const kept of [{ columns: [] }, { updates: [{ metadata: {}, replace: true }] }, { metadata: {} }]) {
      assert.deepEqual(toContractBody(kept, agent), kept);
    }
  }
  for (const other of OTHERS) assert.deepEqual(toContractBody({ ...empty, columns }, other), { ...empty, columns });
});

test('answers each refusal with the status of the table of codes', () => {
  for (const kind of Object.keys(ERROR_KINDS) as ErrorName[]) {
    assert.equal(statusFor(kind, 'lance'), ERROR_KINDS[kind].status);
  }
});

test('sends the LanceDB client 400 where it would misread 404 or repeat after 409', () => {
  assert.equal(statusFor('TableColumnNotFound', 'lancedb'), 400);
  assert.equal(statusFor('TableAlreadyExists', 'lancedb'), 400);
  assert.equal(statusFor('TableNotFound', 'lancedb'), 404);
  assert.equal(statusFor('ConcurrentModification', 'lancedb'), 503);
});

test('promises the LanceDB client a protocol that it can parse', () => {
  assert.match(LANCEDB_PROTOCOL, /^\d+\.\d+\.\d+$/);
});
