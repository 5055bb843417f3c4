import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { OPERATIONS } from '../src/operations/registry.ts';
import type { Operation } from '../src/operations/operation.ts';
import { UNSUPPORTED } from '../src/operations/unsupported.ts';
import { ContractServer } from './contract/contract-server.ts';
import type { MadeTable } from './contract/contract-server.ts';
import { assertErrorBody } from './contract/refusal.ts';
import { sampleStream } from './support/arrow-tables.ts';

/** An operation as the public description of the Lance REST catalog has it, in our own words. */
interface PublicOperation {
  readonly operation: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query: readonly string[];
  readonly body: 'json' | 'arrow' | 'none';
  readonly required: readonly string[];
  readonly requiredQuery?: readonly string[];
  readonly status: number;
  readonly reply: string;
  /** Required there, but not here; `difference` says why. */
  readonly optional?: readonly string[];
  readonly difference?: string;
}

const ROOT = new URL('../../', import.meta.url);
const DESCRIBED = JSON.parse(
  readFileSync(new URL('docs/public-operations.json', ROOT), 'utf8'),
) as readonly PublicOperation[];

function findOwn({ method, path }: PublicOperation): Operation | undefined {
  const own = path.replaceAll(/\{(\w+)\}/g, ':$1');
  return OPERATIONS.find((each) => each.path === own && each.methods.includes(method));
}

const isUnsupported = ({ id }: Operation): boolean => UNSUPPORTED.some((each) => each.id === id);

test('the list has every operation once', () => {
  assert.equal(DESCRIBED.length, 54);
  assert.equal(new Set(DESCRIBED.map(({ operation }) => operation)).size, 54);
  assert.equal(new Set(DESCRIBED.map(({ method, path }) => `${method} ${path}`)).size, 54);
});

for (const described of DESCRIBED) {
  const own = findOwn(described);

  suite(described.operation, () => {
    test('has a route of its method and path', () => {
      assert.ok(own !== undefined, `${described.method} ${described.path}`);
    });
    if (own === undefined || isUnsupported(own)) return;

    test('reads the described body', () => {
      // A body that is not described is read too: the same facts, as other clients write them.
      if (described.body !== 'none') assert.equal(own.body.kind, described.body);
      else assert.notEqual(own.body.kind, 'arrow');
    });

    test('takes every described query parameter', () => {
      const known = Object.keys(own.query.properties);
      assert.deepEqual(
        described.query.filter((name) => !known.includes(name)),
        [],
      );
    });

    test('requires exactly the described fields, but for the listed ones', () => {
      const required: readonly string[] = own.body.kind === 'json' ? (own.body.shape.required ?? []) : [];
      assert.deepEqual(
        described.required.filter((name) => !required.includes(name)),
        described.optional ?? [],
      );
      assert.ok(described.optional === undefined || described.difference !== undefined);
    });

    test('answers with the described status and media type', () => {
      assert.equal(described.status, own.status ?? 200);
      const types = own.replies.flatMap((reply) => ('shape' in reply ? [reply.mediaType] : []));
      assert.ok(described.reply === 'none' || types.includes(described.reply), types.join());
    });
  });
}

suite('over HTTP', () => {
  let server: ContractServer;
  let table: MadeTable;
  before(async () => {
    server = await ContractServer.start();
    table = await server.table();
  });
  after(async () => server.close());

  const addressOf = ({ path }: PublicOperation): string =>
    path.replaceAll(/\{(\w+)\}/g, path.startsWith('/v1/namespace/') ? '$' : table.id);

  for (const described of DESCRIBED) {
    test(`${described.operation} is there, with and without a slash`, async () => {
      for (const slash of ['', '/']) {
        const answer = await server.client({ key: undefined }).send(described.method, addressOf(described) + slash, {});
        assertErrorBody(answer);
        assert.equal(answer.status, 401, answer.text);
      }
    });

    const required = described.required.filter((name) => !(described.optional ?? []).includes(name));
    const own = findOwn(described);
    if (own === undefined || isUnsupported(own)) continue;

    if (described.body === 'json' && required.length > 0) {
      test(`${described.operation} refuses a body without ${required.join(' or ')}`, async () => {
        const answer = await server.admin.post(addressOf(described), {});
        assertErrorBody(answer);
        assert.equal(answer.status, 400, answer.text);
        assert.match(answer.json.detail, new RegExp(required.join('|')));
      });
    }

    if (described.requiredQuery !== undefined) {
      test(`${described.operation} refuses a request without the parameter ${described.requiredQuery.join()}`, async () => {
        const answer = await server.admin.arrow(addressOf(described), sampleStream(1));
        assertErrorBody(answer);
        assert.equal(answer.status, 400, answer.text);
      });
    }
  }
});

const DESCRIPTION = new URL('../shared/lance-rest-spec.yaml', ROOT);

test('the list says what the public description says', { skip: !existsSync(DESCRIPTION) }, () => {
  const found = readDescription(readFileSync(DESCRIPTION, 'utf8'));
  assert.deepEqual(
    DESCRIBED.map(({ operation, method, path, required }) => ({ operation, method, path, required })),
    found,
  );
});

type Outline = Pick<PublicOperation, 'operation' | 'method' | 'path' | 'required'>;

/** Reads just the lines that it needs, by their indentation, so that no YAML package is needed for one test. */
function readDescription(text: string): readonly Outline[] {
  const operations: Outline[] = [];
  let path = '';
  let method: Outline['method'] = 'GET';
  for (const line of text.split('\n')) {
    path = /^ {2}(\/v1\/\S*):$/.exec(line)?.[1] ?? path;
    const verb = /^ {4}(get|post):$/.exec(line)?.[1];
    if (verb !== undefined) method = verb === 'get' ? 'GET' : 'POST';
    const operation = /^ {6}operationId: (\w+)$/.exec(line)?.[1];
    if (operation !== undefined) operations.push({ operation, method, path, required: [] });
    const shape = /^ {14}\$ref: "#\/components\/schemas\/(\w+Request)"$/.exec(line)?.[1];
    const last = operations.at(-1);
    if (shape === undefined || last === undefined) continue;
    operations[operations.length - 1] = { ...last, required: readRequired(text, shape) };
  }
  return operations;
}

function readRequired(text: string, shape: string): readonly string[] {
  const start = text.indexOf(`\n    ${shape}:\n`);
  const block = text.slice(start + 1).split(/\n {4}\S/, 2)[0] ?? '';
  const list = /\n {6}required:\n((?: {8}- \w+\n)+)/.exec(`${block}\n`)?.[1] ?? '';
  return [...list.matchAll(/- (\w+)/g)].map(([, name = '']) => name);
}
