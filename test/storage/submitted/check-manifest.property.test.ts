import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assert as check,
  array,
  constantFrom,
  integer,
  nat,
  oneof,
  property,
  record,
  string,
  tuple,
  uint8Array,
} from 'fast-check';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { encodeBytes, encodeNumber } from '../../../src/storage/format/protobuf.ts';
import { checkManifest } from '../../../src/storage/submitted/check-manifest.ts';

const TABLE = 'data/table.lance';
const facts = (version: number, branch?: string) => ({ version, branch, tableUris: new Set([TABLE]) });

/** A manifest file around a message. */
function toFile(message: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(message.length);
  return Buffer.concat([length, message, Buffer.alloc(8), Buffer.from([0, 0, 2, 0]), Buffer.from('LANC')]);
}

const text = (field: number, value: string): Buffer => encodeBytes(field, Buffer.from(value));

interface Fragment {
  readonly path: string;
  readonly base?: number;
}

function toFragment({ path, base }: Fragment, id: number): Buffer {
  const file = Buffer.concat([text(1, path), ...(base === undefined ? [] : [encodeNumber(7, base)])]);
  return encodeBytes(2, Buffer.concat([encodeNumber(1, id), encodeBytes(2, file), encodeNumber(4, 1)]));
}

function toManifest(version: number, fragments: readonly Fragment[], extra: readonly Buffer[] = []): Buffer {
  return toFile(Buffer.concat([...fragments.map(toFragment), encodeNumber(3, version), ...extra]));
}

function toBase(id: number, path: string): Buffer {
  return encodeBytes(18, Buffer.concat([encodeNumber(1, id), encodeNumber(3, 1), text(4, path)]));
}

/** The files that it names, or `undefined` when it is refused, as it must be: with a refusal for the caller. */
function filesOf(file: Buffer, version = 2, branch?: string): readonly string[] | undefined {
  try {
    return checkManifest(file, facts(version, branch)).map(({ base, path }) => `${base ?? '.'} ${path}`);
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.traits.status, 400);
    return undefined;
  }
}

const plainName = string({ unit: constantFrom(...'abc019_-.='), minLength: 1, maxLength: 30 }).map(
  (name) => `f${name}`,
);
const hostilePath = oneof(
  constantFrom(
    '..',
    '../x',
    '/etc/passwd',
    'a/../b',
    'a//b',
    './a',
    'a\\b',
    's3://b/c',
    'a\u0000b',
    '',
    'a/',
    ' a',
    '%2e%2e/a',
    'a b',
  ),
  string().filter((path) => !/^[A-Za-z0-9_][A-Za-z0-9_.=-]*(?:\/[A-Za-z0-9_][A-Za-z0-9_.=-]*)*$/.test(path)),
);

test('a manifest of plain files is accepted, and gives each of them', () => {
  check(
    property(array(plainName, { maxLength: 8 }), integer({ min: 1, max: 1e9 }), (names, version) => {
      const files = filesOf(
        toManifest(
          version,
          names.map((path) => ({ path })),
        ),
        version,
      );
      assert.deepEqual(
        files,
        names.map((name) => `. data/${name}`),
      );
    }),
  );
});

test('a path that leads elsewhere is refused, whatever stands beside it', () => {
  check(
    property(array(plainName, { maxLength: 4 }), hostilePath, nat(4), (names, path, at) => {
      const fragments = names.map((name): Fragment => ({ path: name }));
      fragments.splice(at, 0, { path });
      assert.equal(filesOf(toManifest(2, fragments)), undefined);
    }),
  );
});

test('a base path is refused on the main branch, and on a branch unless it is the table or a branch of it', () => {
  check(
    property(string(), plainName, (path, name) => {
      const fragments = [{ path: name, base: 5 }];
      assert.equal(filesOf(toManifest(2, fragments, [toBase(5, path), encodeNumber(9, 16)])), undefined);
      const branch = text(20, 'trial');
      assert.equal(
        filesOf(toManifest(2, fragments, [toBase(5, `${TABLE}/../${path}`), branch]), 2, 'trial'),
        undefined,
      );
      assert.equal(filesOf(toManifest(2, fragments, [toBase(5, `${TABLE}${path}x`), branch]), 2, 'trial'), undefined);
      assert.equal(filesOf(toManifest(2, fragments, [toBase(6, TABLE), branch]), 2, 'trial'), undefined);
      const own = [toBase(5, `/${TABLE}/`), branch, encodeNumber(9, 16)];
      assert.deepEqual(filesOf(toManifest(2, fragments, own), 2, 'trial'), [` data/${name}`]);
      const sibling = [toBase(5, `${TABLE}/tree/a/b`), branch];
      assert.deepEqual(filesOf(toManifest(2, fragments, sibling), 2, 'trial'), [`tree/a/b data/${name}`]);
    }),
  );
});

test('a second value of a field that the engine would merge is refused', () => {
  check(
    property(plainName, constantFrom(3, 6, 7, 9, 10, 11, 12, 20, 21), (path, field) => {
      const twice = [encodeNumber(field, 2), encodeNumber(field, 2)];
      assert.equal(filesOf(toManifest(2, [{ path }], twice)), undefined);
    }),
  );
  const deletion = (base: number | undefined): Buffer =>
    encodeBytes(3, Buffer.concat([encodeNumber(2, 1), ...(base === undefined ? [] : [encodeNumber(7, base)])]));
  const fragment = encodeBytes(2, Buffer.concat([deletion(1), deletion(undefined)]));
  assert.equal(filesOf(toFile(Buffer.concat([fragment, encodeNumber(3, 2)]))), undefined);
});

test('files of overlays, row ids, indexes and their details are held to the same', () => {
  const external = (field: number, path: string): Buffer => encodeBytes(2, encodeBytes(field, text(1, path)));
  for (const field of [6, 8, 10]) {
    assert.equal(filesOf(toFile(Buffer.concat([external(field, '../x'), encodeNumber(3, 2)]))), undefined);
    assert.deepEqual(filesOf(toFile(Buffer.concat([external(field, 'x'), encodeNumber(3, 2)]))), ['. x']);
  }
  const overlay = (path: string): Buffer => encodeBytes(2, encodeBytes(11, encodeBytes(1, text(1, path))));
  assert.equal(filesOf(toFile(Buffer.concat([overlay('../x'), encodeNumber(3, 2)]))), undefined);
  const uuid = encodeBytes(1, encodeBytes(1, Buffer.alloc(16)));
  const reuse = (path: string): Buffer =>
    encodeBytes(
      6,
      Buffer.concat([text(1, '/lance.table.FragmentReuseIndexDetails'), encodeBytes(2, encodeBytes(2, text(1, path)))]),
    );
  for (const [index, isRefused] of [
    [uuid, false],
    [Buffer.concat([uuid, encodeBytes(10, text(1, 'a.idx'))]), false],
    [Buffer.concat([uuid, encodeBytes(10, text(1, '../a.idx'))]), true],
    [Buffer.concat([uuid, encodeNumber(9, 0)]), true],
    [encodeBytes(1, encodeBytes(1, Buffer.alloc(15))), true],
    [Buffer.concat([uuid, uuid]), true],
    [Buffer.concat([uuid, reuse('../x')]), true],
    [Buffer.concat([uuid, reuse('x')]), false],
  ] as const) {
    const section = encodeBytes(1, index);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(section.length);
    const message = Buffer.concat([encodeNumber(3, 2), encodeNumber(6, 0)]);
    const messageLength = Buffer.alloc(4);
    messageLength.writeUInt32LE(message.length);
    const footer = Buffer.alloc(8);
    footer.writeBigUInt64LE(BigInt(4 + section.length));
    const file = Buffer.concat([
      length,
      section,
      messageLength,
      message,
      footer,
      Buffer.from([0, 0, 2, 0]),
      Buffer.from('LANC'),
    ]);
    assert.equal(filesOf(file) === undefined, isRefused);
  }
});

test('any bytes are either accepted or refused with a reason: nothing else is thrown', () => {
  const noise = uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
  const field = oneof(
    tuple(integer({ min: 1, max: 30 }), nat(1e9)).map(([number, value]) => encodeNumber(number, value)),
    tuple(integer({ min: 1, max: 30 }), uint8Array({ maxLength: 40 })).map(([number, value]) =>
      encodeBytes(number, value),
    ),
  );
  check(
    property(
      record({ fields: array(field, { maxLength: 12 }), noise, cut: nat(400) }),
      ({ fields, noise: bytes, cut }) => {
        const file = toFile(Buffer.concat([...fields, encodeNumber(3, 2)]));
        filesOf(file);
        filesOf(toFile(bytes));
        filesOf(bytes);
        filesOf(file.subarray(0, cut));
        filesOf(Buffer.concat([bytes, file]));
      },
    ),
    { numRuns: 500 },
  );
});
