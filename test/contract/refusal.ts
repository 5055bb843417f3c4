import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import type { Answer } from '../support/client.ts';

/** The contract's table of errors, word for word. */
export const CONTRACT_ERRORS: Readonly<Record<number, readonly [type: string, title: string]>> = {
  400: ['/errors/bad-request', 'Malformed request'],
  401: ['/errors/unauthorized-request', 'No valid authentication credentials for the operation'],
  403: ['/errors/forbidden-request', 'Not authorized to make this request'],
  404: ['/errors/not-found-error', 'Not found Error'],
  409: ['/errors/conflict', 'The namespace has been concurrently modified'],
  500: ['/errors/server-error', 'Internal Server Error'],
  503: ['/errors/service-unavailable', 'Slow down'],
};

/** Lance's numbers of the error kinds that the tests meet. */
export const CODE = {
  unsupported: 0,
  namespaceNotFound: 1,
  tableNotFound: 4,
  tableExists: 5,
  tagNotFound: 8,
  tagExists: 9,
  indexNotFound: 6,
  indexExists: 7,
  jobNotFound: 10,
  versionNotFound: 11,
  columnNotFound: 12,
  invalidInput: 13,
  concurrentModification: 14,
  permissionDenied: 15,
  unauthenticated: 16,
  unavailable: 17,
  internal: 18,
  tableState: 19,
  schema: 20,
  throttling: 21,
  branchNotFound: 22,
  branchExists: 23,
} as const;

export interface Expected {
  readonly status: number;
  readonly code: number;
  /** Must be found in the detail. */
  readonly detail?: RegExp;
  readonly instance?: string;
}

/** What every refusal owes its caller, whatever the reason. */
export function assertRefused(answer: Answer, expected: Expected): void {
  assert.equal(answer.status, expected.status, answer.text);
  assertErrorBody(answer);
  assert.equal(answer.json.code, expected.code, answer.text);
  if (expected.detail !== undefined) assert.match(answer.json.detail, expected.detail);
  if (expected.instance !== undefined) assert.equal(answer.json.instance, expected.instance);
}

export const badRequest = (detail?: RegExp, code: number = CODE.invalidInput): Expected => ({
  status: 400,
  code,
  ...(detail === undefined ? {} : { detail }),
});

export const tableNotFound: Expected = { status: 404, code: CODE.tableNotFound };
export const columnNotFound: Expected = { status: 404, code: CODE.columnNotFound };
export const unauthenticated: Expected = { status: 401, code: CODE.unauthenticated };
export const forbidden: Expected = { status: 403, code: CODE.permissionDenied };

export function assertErrorBody(answer: Answer): void {
  const { status, json, text } = answer;
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json\b/);
  assert.equal(typeof json, 'object', text);
  assert.equal(json.status, status);
  assert.equal(typeof json.detail, 'string');
  assert.equal(typeof json.instance, 'string');
  assert.ok(Number.isInteger(json.code), text);
  assert.match(json.error, /^[^\n]+\.$/);
  const contract = CONTRACT_ERRORS[status];
  if (contract !== undefined) assert.deepEqual([json.type, json.title], contract);
  else assertOwnStatus(json);
  assertTellsNothing(text);
}

/** Statuses beyond the contract's follow the same manner. */
function assertOwnStatus(json: { readonly type: unknown; readonly title: unknown }): void {
  assert.match(String(json.type), /^\/errors\/[a-z-]+$/);
  assert.ok(typeof json.title === 'string' && json.title !== '');
}

/** No path of the machine, no engine text, no stack. */
function assertTellsNothing(text: string): void {
  for (const secret of [
    tmpdir() + '/',
    '.lance',
    'Caused by',
    'LanceError',
    '/cargo/',
    '.rs:',
    'node_modules',
    '    at ',
  ]) {
    assert.ok(!text.includes(secret), `the reply tells ${secret}: ${text}`);
  }
}
