import type { Type } from 'typebox';
import { STATUS_TEXTS } from '../../errors/service-error.ts';
import type { Operation } from '../../operations/operation.ts';
import { ErrorBody } from '../../wire/shapes.ts';

export interface OpenApiSettings {
  readonly release: string;
  readonly basePath: string;
}

type Json = Readonly<Record<string, unknown>>;

/** Statuses that any operation may answer with. */
export const SHARED_STATUSES = [400, 401, 403, 404, 406, 408, 413, 415, 500, 503] as const;

const ARROW_STREAM = 'application/vnd.apache.arrow.stream';

/** The API description (OpenAPI 3.1), made from the same list as the routes. */
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
      description: 'A REST service for Lance tables that live in namespaces, and for reading and writing their data.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: settings.basePath === '' ? '/' : settings.basePath }],
    security: [{ apiKey: [] }, { bearer: [] }],
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
    summary: operation.summary,
    description: `Needs the permission \`${operation.permission}\`.`,
    parameters: [...pathParameters(operation), ...queryParameters(operation), ...headerParameters(operation)],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: { 200: describeSuccess(operation), ...describeErrors(operation) },
  };
}

function headerParameters({ target, usesPipeline, isKeyed }: Operation): Json[] {
  const keys = usesPipeline === true ? WRITE_PARAMETERS : isKeyed === true ? WRITE_PARAMETERS.slice(0, 1) : [];
  return [...(target === 'server' ? [] : [databaseParameter]), ...keys];
}

const databaseParameter: Json = {
  name: 'x-service-database',
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description: 'The database; `default` when absent.',
};

const WRITE_PARAMETERS: readonly Json[] = [
  {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    description: 'The same request with the same key is carried out once and gets the same answer.',
  },
  {
    name: 'If-Match',
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description: 'The latest version of the table, such as `"7"`; at any other the write is refused with 412.',
  },
];

function pathParameters(operation: Operation): Json[] {
  return [...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    description: describeIdentifier(operation),
  }));
}

function describeIdentifier(operation: Operation): string {
  const isName = operation.identifier === 'name';
  return isName ? 'Name of a table in the root namespace.' : 'Names joined by the delimiter.';
}

function queryParameters(operation: Operation): Json[] {
  const properties = operation.query.properties as Readonly<Record<string, Type.TSchema & { description?: string }>>;
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema: toJsonSchema(schema),
    description: schema.description ?? '',
  }));
}

function describeBody(operation: Operation): Json | undefined {
  switch (operation.body.kind) {
    case 'json':
      return {
        required: (operation.body.shape.required ?? []).length > 0,
        content: { 'application/json': { schema: toJsonSchema(operation.body.shape) } },
      };
    case 'arrow':
      return { required: true, content: { [ARROW_STREAM]: { schema: { type: 'string', format: 'binary' } } } };
    case 'none':
      return undefined;
  }
}

function describeSuccess(operation: Operation): Json {
  const content = operation.replies.map(
    ({ mediaType, shape }) => [mediaType, { schema: toJsonSchema(shape) }] as const,
  );
  const description = operation.replies.map((reply) => reply.description).join(' ');
  return { description, content: Object.fromEntries(content) };
}

function describeErrors(operation: Operation): Json {
  const statuses = [...SHARED_STATUSES, ...operation.statuses].toSorted((one, other) => one - other);
  const entries = statuses.map((status) => {
    const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
    return [String(status), { description: STATUS_TEXTS[status]?.title ?? '', content }] as const;
  });
  return Object.fromEntries(entries);
}

/** Shapes write a tuple as a list of `items`; JSON Schema 2020-12, which OpenAPI 3.1 speaks, calls it `prefixItems`. */
function toJsonSchema(shape: unknown): unknown {
  if (Array.isArray(shape)) return shape.map(toJsonSchema);
  if (typeof shape !== 'object' || shape === null) return shape;
  const entries = Object.entries(shape)
    .filter(([name]) => name !== 'additionalItems')
    .flatMap(([name, value]): [string, unknown][] => {
      if (name !== 'items' || !Array.isArray(value)) return [[name, toJsonSchema(value)]];
      return [
        ['prefixItems', value.map(toJsonSchema)],
        ['items', false],
      ];
    });
  return Object.fromEntries(entries);
}
