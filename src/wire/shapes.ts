import { Type } from 'typebox';

/** The client family: the contract's own, or the LanceDB client, which reads some replies differently. */
export type Dialect = 'lance' | 'lancedb';

export const optionalText = (description?: string) => Type.Optional(Type.String(describe(description)));
export const optionalFlag = (description?: string) => Type.Optional(Type.Boolean(describe(description)));
export const optionalInteger = (description?: string) => Type.Optional(Type.Integer(describe(description)));
export const count = (description?: string) => Type.Integer({ minimum: 0, ...describe(description) });
export const optionalCount = (description?: string) => Type.Optional(count(description));
export const optionalAny = (description: string) => Type.Optional(Type.Unknown({ description }));

function describe(description: string | undefined) {
  return description === undefined ? {} : { description };
}

export const Identity = strictObject(
  { api_key: optionalText(), auth_token: optionalText() },
  { description: 'Credentials, if none are sent in headers. Never logged.' },
);

export const Context = Type.Object(
  {},
  {
    additionalProperties: Type.Unknown(),
    description:
      'Context of the caller or the server. In a request, the key `header.<name>` stands in for the HTTP header <name> if it was not sent. In a reply, it repeats an HTTP header of the reply.',
  },
);

export function strictObject<Fields extends Type.TProperties>(fields: Fields, options: Type.TObjectOptions = {}) {
  return Type.Object(fields, { additionalProperties: false, ...options });
}

export function anyObject(description?: string) {
  return Type.Object({}, { additionalProperties: true, ...describe(description) });
}

/** `Type.Record` would accept a key with a line break without matching its pattern. */
export function mapOf<Shape extends Type.TSchema>(shape: Shape, description?: string) {
  const object = Type.Object({}, { additionalProperties: shape, ...describe(description) });
  return Type.Unsafe<Record<string, Type.Static<Shape>>>(object);
}

export const StringMap = mapOf(Type.String());

export const DelimiterQuery = Type.Object({
  delimiter: Type.Optional(Type.String({ minLength: 1, description: 'Delimiter of the identifier; `$` by default.' })),
});

export const IdentifierPath = Type.Array(Type.String(), {
  description: 'Path as a list of names. Must match the identifier in the URL.',
});

export const Branch = Type.String({ minLength: 1, description: 'Branch to use; the main branch by default.' });

export const Version = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export const stateFields = { version: Type.Optional(Version), branch: Type.Optional(Branch) };

export const NextPageToken = optionalText('Token of the next page; present if there are more entries.');

/** Query parameters that choose a page of a listing. */
export const pageParameters = {
  limit: optionalText('Maximum number of entries, as an integer.'),
  page_token: optionalText('`page_token` of the previous page.'),
};

/** The same in a body, where some clients send them. */
export const pageFields = { limit: Type.Optional(Type.Integer({ minimum: 1 })), page_token: optionalText() };

/** Fields that every JSON request body may have in addition to its own. */
const callerFields = { identity: Type.Optional(Identity), context: Type.Optional(Context) };
const requestFields = { ...callerFields, id: Type.Optional(IdentifierPath) };

/** A request body about the table or namespace that the address names. */
export function requestBody<Fields extends Type.TProperties>(fields: Fields, options: Type.TObjectOptions = {}) {
  return strictObject({ ...requestFields, ...fields }, options);
}

export const EmptyBody = requestBody({});

/** A request body for an object without an identifier, such as a key or a job. */
export function requestBodyWithoutId<Fields extends Type.TProperties>(fields: Fields) {
  return strictObject({ ...callerFields, ...fields });
}

/** A JSON reply: its fields, and the context that the service adds. */
export function replyBody<Fields extends Type.TProperties>(fields: Fields) {
  return Type.Object({ ...fields, context: Type.Optional(Context) });
}

/** The reply to a write. The transaction id is absent if the table was dropped right after the commit. */
export function writeReply<Fields extends Type.TProperties>(fields: Fields) {
  return replyBody({ version: Version, ...fields, transaction_id: optionalText() });
}

/** The query parameters of an operation, in addition to the delimiter. */
export function queryParameters<Fields extends Type.TProperties>(fields: Fields) {
  return Type.Object({ ...DelimiterQuery.properties, ...fields });
}

export const ListQuery = queryParameters(pageParameters);

export const ListBody = requestBody(pageFields);
export type ListBody = Type.Static<typeof ListBody>;

export const BranchQuery = queryParameters({ branch: Type.Optional(Branch) });

/** A reply as an operation builds it: values may be read-only, and absent ones `undefined`, which JSON omits. */
export type Sent<Shape> = Shape extends readonly (infer Entry)[]
  ? readonly Sent<Entry>[]
  : Shape extends object
    ? { readonly [Key in keyof Shape]: Sent<Shape[Key]> | ({} extends Pick<Shape, Key> ? undefined : never) }
    : Shape;

export const ErrorBody = Type.Object({
  type: Type.String({ description: 'Path-style error kind; determined by the status.' }),
  title: Type.String({ description: 'Short title; determined by the status.' }),
  status: Type.Integer({ description: 'HTTP status code.' }),
  detail: Type.String({ description: 'What went wrong and how to fix it. May be empty.' }),
  instance: Type.String({ description: 'Path of the resource that caused the error.' }),
  code: count('Lance error code.'),
  error: Type.String({ description: 'What went wrong, in one sentence.' }),
  outcome: Type.Optional(Type.Literal('unknown', { description: 'Present if the request may have been applied.' })),
});
export type ErrorBody = Type.Static<typeof ErrorBody>;

/** A shape as JSON Schema 2020-12, where a tuple is `prefixItems`; in shapes it is a list of `items`. */
export function toJsonSchema(shape: unknown): unknown {
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
