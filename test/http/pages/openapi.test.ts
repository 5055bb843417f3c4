import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_KINDS, STATUS_TEXTS } from '../../../src/errors/service-error.ts';
import { SHARED_STATUSES, toOpenApi } from '../../../src/http/pages/openapi.ts';
import { OPERATIONS } from '../../../src/operations/registry.ts';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: object;
}

interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, object>> };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: object }>>;
}

interface Document {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: object; readonly securitySchemes: object };
}

/** As a client receives it, through JSON. */
const document = JSON.parse(
  JSON.stringify(toOpenApi(OPERATIONS, { release: '1.2.3', basePath: '/lance' })),
) as Document;
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

test('says what it describes, in which version of the format, and where', () => {
  assert.equal(document.openapi, '3.1.0');
  assert.equal(document.info.version, '1.2.3');
  assert.deepEqual(document.servers, [{ url: '/lance' }]);
  assert.equal(JSON.stringify(toOpenApi([], { release: '1', basePath: '' })).includes('"url":"/"'), true);
});

test('describes every operation once, at its path and method', () => {
  const expected = OPERATIONS.map(
    ({ id, methods: [method], path }) => `${id} ${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
  );
  const actual = described.map(
    ({ path, method, operation }) => `${operation.operationId} ${method.toUpperCase()} ${path}`,
  );
  assert.deepEqual(actual.toSorted(), expected.toSorted());
  assert.equal(new Set(described.map(({ operation }) => operation.operationId)).size, OPERATIONS.length);
});

test('declares every parameter of a path, as required, and no other', () => {
  for (const { path, operation } of described) {
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assert.deepEqual(
      inPath.map(({ name }) => name),
      names,
    );
    assert.ok(inPath.every(({ required }) => required));
  }
});

test('declares no parameter twice, and a schema for each', () => {
  for (const { operation } of described) {
    const names = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
    assert.equal(new Set(names).size, names.length);
    assert.ok(operation.parameters.every(({ schema }) => typeof schema === 'object'));
    const isOfServer = OPERATIONS.find(({ id }) => id === operation.operationId)?.target === 'server';
    assert.equal(names.includes('query delimiter') && names.includes('header x-service-database'), !isOfServer);
  }
});

test('describes a body exactly where the operation reads one, and requires it where a field of it is required', () => {
  for (const { id, body } of OPERATIONS) {
    const requestBody = described.find(({ operation }) => operation.operationId === id)?.operation.requestBody;
    const types = Object.keys(requestBody?.content ?? {});
    if (body.kind === 'json') {
      const arrow = body.ofSchema === undefined ? [] : ['application/vnd.apache.arrow.stream'];
      assert.deepEqual(types, ['application/json', ...arrow]);
      assert.equal(requestBody?.required, (body.shape.required ?? []).length > 0, id);
    } else {
      assert.deepEqual(types, body.kind === 'arrow' ? ['application/vnd.apache.arrow.stream'] : []);
    }
  }
});

test('describes success and every status that the operation may answer with', () => {
  for (const { id, statuses, replies, status = 200 } of OPERATIONS) {
    const { responses } = described.find(({ operation }) => operation.operationId === id)?.operation ?? assert.fail(id);
    const expected = [...new Set([status, ...SHARED_STATUSES, ...statuses])].map(String);
    assert.deepEqual(Object.keys(responses).toSorted(), expected.toSorted());
    assert.deepEqual(
      Object.keys(responses[status]?.content ?? {}),
      replies.flatMap((reply) => ('shape' in reply ? [reply.mediaType] : [])),
    );
    assert.ok(Object.values(responses).every(({ description }) => description !== ''));
  }
});

test('describes no content for a reply without a body', () => {
  for (const id of ['table_exists', 'namespace_exists']) {
    const { responses } = described.find(({ operation }) => operation.operationId === id)?.operation ?? assert.fail(id);
    assert.deepEqual(responses['200'], { description: responses['200']?.description });
  }
});

test('knows a title for every status that it describes and that refusals have', () => {
  const statuses = [...SHARED_STATUSES, ...Object.values(ERROR_KINDS).map(({ status }) => status)];
  for (const status of statuses) assert.ok(STATUS_TEXTS[status] !== undefined, String(status));
});

test('points only at what is there', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, pointer = '']) => pointer);
  assert.ok(references.length > 0);
  for (const pointer of new Set(references)) {
    assert.ok(pointer.startsWith('#/'), pointer);
    let target: unknown = document;
    for (const part of pointer.slice(2).split('/')) target = Reflect.get(Object(target), part);
    assert.equal(typeof target, 'object', pointer);
  }
});

test('names only security schemes that it describes', () => {
  const schemes = Object.keys(document.components.securitySchemes);
  assert.deepEqual(document.security.flatMap(Object.keys), schemes);
});

test('writes schemas in the words of JSON Schema 2020-12', () => {
  const known = new Set(
    'type properties required additionalProperties items prefixItems minItems maxItems anyOf minimum maximum exclusiveMinimum minLength maxLength pattern description format const enum $ref'.split(
      ' ',
    ),
  );
  for (const schema of schemasOf(document)) {
    for (const keyword of Object.keys(schema)) assert.ok(known.has(keyword), keyword);
    assert.ok(!Array.isArray(Reflect.get(schema, 'items')));
    const required: unknown = Reflect.get(schema, 'required') ?? [];
    const properties = Object.keys(Reflect.get(schema, 'properties') ?? {});
    assert.ok(Array.isArray(required) && required.every((name) => properties.includes(String(name))));
  }
});

test('describes the pair of an update as exactly two texts', () => {
  const update = document.paths['/v1/table/{id}/update']?.['post']?.requestBody?.content['application/json'];
  const pair: unknown = Reflect.get(
    Reflect.get(Reflect.get(Reflect.get(Object(update), 'schema'), 'properties'), 'updates'),
    'items',
  );
  assert.deepEqual(pair, {
    type: 'array',
    prefixItems: [{ type: 'string' }, { type: 'string' }],
    items: false,
    minItems: 2,
  });
});

/** Every schema of the document, those inside others too. */
function schemasOf(value: unknown, isSchema = false): readonly object[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((each) => schemasOf(each, isSchema));
  const inner = Object.entries(value).flatMap(([name, each]): readonly object[] => {
    if (!isSchema)
      return name === 'schemas'
        ? Object.values(each as object).flatMap((one) => schemasOf(one, true))
        : schemasOf(each, name === 'schema');
    if (name === 'properties') return Object.values(each as object).flatMap((one) => schemasOf(one, true));
    return schemasOf(each, true);
  });
  return isSchema ? [value, ...inner] : inner;
}

test('names the headers of writes, and of nothing else', () => {
  const named = described.filter(({ operation }) => operation.parameters.some(({ name }) => name === 'If-Match'));
  assert.deepEqual(
    named.map(({ operation }) => operation.operationId).toSorted(),
    OPERATIONS.filter(({ usesPipeline }) => usesPipeline)
      .map(({ id }) => id)
      .toSorted(),
  );
  for (const { operation } of named) assert.ok('412' in operation.responses, operation.operationId);
});
