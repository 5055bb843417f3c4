import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { quoteShell, toJsonText, toPythonLiteral, toTypeScriptLiteral } from '../../src/snippets/literals.ts';
import { toCurl } from '../../src/snippets/to-curl.ts';
import { toTypeScript } from '../../src/snippets/to-typescript.ts';
import { toPython } from '../../src/snippets/to-python.ts';
import type { TableRequest } from '../../src/snippets/table-request.ts';

const python = process.env['PYTHON'] ?? 'python3';
const noPython = spawnSync(python, ['--version']).status === 0 ? false : 'python3 is not installed';

/** Texts with what each language could misread. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc
    .array(
      fc.constantFrom("'", '"', '`', '\\', '$', '${HOME}', '$(id)', '!', '\n', '\r\n', '\t', '%', '{', '}', '\u2028'),
      { maxLength: 12 },
    )
    .map((parts) => parts.join('')),
  fc.constantFrom('__proto__', 'constructor', "it's", 'Zürich 🚲', 'C:\\new', '#{x}', '@file', '-H', ''),
);
const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    text,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 4 }),
    fc.array(
      fc.float({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
      { maxLength: 40 },
    ),
  ),
})).value;

test('a text in quotes is one word of the shell, whatever it holds', () => {
  // A shell word holds no NUL.
  const words = fc.sample(text, 300).map((each) => each.replaceAll('\0', ''));
  const script = `printf '%s\\0' ${words.map(quoteShell).join(' ')}`;
  const printed = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
  assert.deepEqual(
    printed,
    words.map((each) => Buffer.from(each).toString()),
  );
});

test('a value in the JSON of curl is the value', () => {
  fc.assert(fc.property(value, (each) => assert.deepEqual(JSON.parse(toJsonText(each)), jsonOf(each))));
});

test('a value as a TypeScript literal is the value', () => {
  fc.assert(
    fc.property(value, (each) => {
      // oxlint-disable-next-line typescript/no-implied-eval -- The literal is what is tested.
      const read = new Function(`return JSON.stringify(${toTypeScriptLiteral(each)});`)() as string;
      assert.deepEqual(JSON.parse(read), jsonOf(each));
    }),
  );
});

test('a value as a Python literal is the value', { skip: noPython }, () => {
  const values = fc.sample(value, 300);
  const lines = values.map((each) => `print(json.dumps(${toPythonLiteral(each)}))`);
  const output = execFileSync(python, ['-'], { input: `import json\n${lines.join('\n')}\n`, encoding: 'utf8' });
  assert.deepEqual(
    output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
    values.map(jsonOf),
  );
});

test('numbers of a vector are on one line, and long objects on several', () => {
  const numbers = Array.from({ length: 200 }, (_unused, at) => at / 8);
  assert.ok(!toTypeScriptLiteral(numbers).includes('\n'));
  assert.ok(toTypeScriptLiteral({ filter: 'x'.repeat(60), vector: numbers }).split('\n').length === 4);
});

test('no code holds a credential: it is read from the environment', () => {
  for (const credential of ['key', 'token'] as const) {
    const request: TableRequest = {
      server: { url: 'http://127.0.0.1:2333', database: 'default', credential },
      table: ['items'],
      operation: { name: 'query', body: { k: 1 } },
    };
    const branch: TableRequest = { ...request, operation: { name: 'query', body: { k: 1, branch: 'b' } } };
    const name = credential === 'key' ? 'TILTYARD_KEY' : 'TILTYARD_TOKEN';
    assert.ok(toCurl(request).includes(`$${name}"`));
    for (const each of [request, branch]) {
      assert.ok(toTypeScript(each).includes(`process.env.${name}`));
      assert.ok(toPython(each).includes(`os.environ["${name}"]`));
    }
  }
});

test('the shell gives curl the address, the headers and the body as they were', () => {
  fc.assert(
    fc.property(text, text, (name, filter) => {
      const request: TableRequest = {
        server: { url: "http://it's.example/base", database: 'default', credential: 'key' },
        table: ['shop', `t${name}`.replaceAll(/[\0/\\?#%\p{Cs}]/gu, '')],
        operation: { name: 'query', body: { filter, k: 3 } },
      };
      const [address = '', , ...rest] = argumentsOf(toCurl(request));
      assert.ok(address.startsWith("http://it's.example/base/v1/table/"));
      assert.ok(rest.includes('x-api-key: secret $ value'));
      assert.deepEqual(JSON.parse(rest.at(-1) ?? ''), { filter: Buffer.from(filter).toString(), k: 3 });
    }),
    { numRuns: 60 },
  );
});

/** Runs the code with a shell function in place of curl, which prints its arguments. */
function argumentsOf(code: string): readonly string[] {
  const script = `curl() { shift 2; printf '%s\\0' "$@"; }\n${code}`;
  const env = { ...process.env, TILTYARD_KEY: 'secret $ value' };
  return execFileSync('sh', ['-c', script], { encoding: 'utf8', env }).split('\0').slice(0, -1);
}

function jsonOf(each: unknown): unknown {
  return JSON.parse(JSON.stringify(each));
}
