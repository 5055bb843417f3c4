import type { FastifyInstance } from 'fastify';
import type { Type } from 'typebox';
import { STATUS_TEXTS } from '../../errors/service-error.ts';
import type { Operation } from '../../operations/operation.ts';
import { OPERATIONS, OPERATION_GROUPS } from '../../operations/registry.ts';
import { ErrorBody, toJsonSchema } from '../../wire/shapes.ts';
import { ARROW_STREAM } from '../request/body.ts';
import { EXAMPLES, EXAMPLE_TABLE } from './examples.ts';

export interface OpenApiSettings {
  readonly release: string;
  readonly basePath: string;
}

type Json = Readonly<Record<string, unknown>>;

/** Statuses that any operation may return. */
export const SHARED_STATUSES = [400, 401, 403, 404, 406, 408, 413, 415, 500, 503] as const;

/** Rendered on the first request: most servers never get one. */
export function mountOpenApi(server: FastifyInstance, settings: OpenApiSettings): void {
  let description: string | undefined;
  server.get(`${settings.basePath}/openapi.json`, async (_request, reply) => {
    description ??= JSON.stringify(toOpenApi(OPERATIONS, settings), undefined, 2);
    return reply.header('content-type', 'application/json; charset=utf-8').send(description);
  });
}

/** OpenAPI 3.1. */
export function toOpenApi(operations: readonly Operation[], settings: OpenApiSettings): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    const path = operation.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.methods[0].toLowerCase()]: describeOperation(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tiltyard',
      version: settings.release,
      description: 'REST API for Lance tables: manage tables and namespaces, and read, search and write rows.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: settings.basePath === '' ? '/' : settings.basePath }],
    security: [{ apiKey: [] }, { bearer: [] }],
    tags: OPERATION_GROUPS.map(({ title }) => ({ name: title })),
    paths,
    components: {
      schemas: { Error: toJsonSchema(ErrorBody) },
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
    },
  };
}

function describeOperation(operation: Operation): Json {
  const body = describeBody(operation);
  return {
    operationId: operation.id,
    tags: OPERATION_GROUPS.filter(({ operations }) => operations.includes(operation)).map(({ title }) => title),
    summary: operation.summary,
    description: `Requires the permission \`${operation.permission}\`.`,
    parameters: [...pathParameters(operation), ...queryParameters(operation), ...headerParameters(operation)],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: { [operation.status ?? 200]: describeSuccess(operation), ...describeErrors(operation) },
  };
}

function headerParameters({ target, usesPipeline, isKeyed }: Operation): Json[] {
  return [
    ...(target === 'server' ? [] : [parameter('header', 'x-service-database', 'The database; `default` by default.')]),
    ...(usesPipeline === true || isKeyed === true ? [IDEMPOTENCY_KEY] : []),
    ...(usesPipeline === true ? [IF_MATCH] : []),
  ];
}

function pathParameters({ id, path, identifier }: Operation): Json[] {
  const description =
    identifier === 'name' ? 'Name of a table in the root namespace.' : 'Names joined by the delimiter.';
  const examples = EXAMPLES[id]?.parameters ?? {};
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    ...parameter('path', name, description),
    example: examples[name] ?? EXAMPLE_TABLE,
  }));
}

function queryParameters(operation: Operation): Json[] {
  const properties = operation.query.properties as Readonly<Record<string, Type.TSchema & { description?: string }>>;
  const examples = EXAMPLES[operation.id]?.parameters ?? {};
  return Object.entries(properties).map(([name, schema]) => ({
    ...parameter('query', name, schema.description ?? '', toJsonSchema(schema)),
    ...(examples[name] === undefined ? {} : { example: examples[name] }),
  }));
}

function parameter(
  location: 'header' | 'path' | 'query',
  name: string,
  description: string,
  schema: unknown = { type: 'string' },
): Json {
  return { name, in: location, required: location === 'path', schema, description };
}

const IDEMPOTENCY_KEY = parameter(
  'header',
  'Idempotency-Key',
  'A request that is sent again with the same key is applied only once and gets the same reply.',
  { type: 'string', minLength: 1, maxLength: 255 },
);

const IF_MATCH = parameter(
  'header',
  'If-Match',
  'Expected latest version of the table, such as `"7"`. If it differs, the write is refused with 412.',
);

const ARROW_CONTENT = { [ARROW_STREAM]: { schema: { type: 'string', format: 'binary' } } };

function describeBody(operation: Operation): Json | undefined {
  switch (operation.body.kind) {
    case 'json':
      return {
        required: (operation.body.shape.required ?? []).length > 0,
        content: {
          'application/json': {
            schema: toJsonSchema(operation.body.shape),
            example: EXAMPLES[operation.id]?.body ?? {},
          },
          ...(operation.body.ofSchema === undefined ? {} : ARROW_CONTENT),
        },
      };
    case 'arrow':
      return { required: true, content: ARROW_CONTENT };
    case 'none':
      return undefined;
  }
}

function describeSuccess(operation: Operation): Json {
  const description = operation.replies.map((reply) => reply.description).join(' ');
  const content = operation.replies.flatMap((reply) =>
    'shape' in reply ? [[reply.mediaType, { schema: toJsonSchema(reply.shape) }] as const] : [],
  );
  return { description, ...(content.length === 0 ? {} : { content: Object.fromEntries(content) }) };
}

function describeErrors(operation: Operation): Json {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  const statuses = [...SHARED_STATUSES, ...operation.statuses];
  return Object.fromEntries(statuses.map((status) => [status, { description: STATUS_TEXTS[status].title, content }]));
}
