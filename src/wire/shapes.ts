import { Type } from 'typebox';

/** Building blocks that several requests and replies share. */

export const Identity = Type.Object(
  {
    api_key: Type.Optional(Type.String()),
    auth_token: Type.Optional(Type.String()),
  },
  { additionalProperties: false, description: 'Credentials, used when the headers carry none. Never logged.' },
);

export const Context = Type.Object(
  {},
  {
    additionalProperties: Type.Unknown(),
    description:
      'Caller or service context. A key `header.<name>` stands for the HTTP header <name>: on a request for one that was not sent, on a reply for one that was.',
  },
);

/** `Type.Record` would let a key with a line break past its pattern, unchecked. */
export const StringMap = Type.Unsafe<Record<string, string>>(Type.Object({}, { additionalProperties: Type.String() }));

export const IdentifierPath = Type.Array(Type.String(), {
  description: 'Path of names. Must agree with the identifier in the address.',
});

export const Branch = Type.String({ minLength: 1, description: 'Branch to target; the main branch when absent.' });

export const Version = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** What every JSON request body may carry beside its own fields. */
export const requestFields = {
  identity: Type.Optional(Identity),
  context: Type.Optional(Context),
  id: Type.Optional(IdentifierPath),
};

/** Of replies that say all by their status. */
export const NoContent = Type.Null();

export const ErrorBody = Type.Object({
  type: Type.String({ description: 'Path-style error kind; follows the status.' }),
  title: Type.String({ description: 'Short title; follows the status.' }),
  status: Type.Integer({ description: 'HTTP status code.' }),
  detail: Type.String({ description: 'What was wrong and what would be right. May be empty.' }),
  instance: Type.String({ description: 'Path of the resource that the error concerns.' }),
  code: Type.Integer({ minimum: 0, description: 'Lance error code.' }),
  error: Type.String({ description: 'What was wrong, in one sentence.' }),
});
export type ErrorBody = Type.Static<typeof ErrorBody>;
