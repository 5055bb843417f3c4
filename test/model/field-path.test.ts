import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../src/errors/service-error.ts';
import {
  formatFieldPath,
  parseFieldPath,
  requireField,
  resolveField,
  sqlFieldReference,
} from '../../src/model/field-path.ts';
import type { FieldPath } from '../../src/model/field-path.ts';
import type { DataType, Field, Schema } from '../../src/model/schema.ts';
import { EngineProcess } from '../guard/sql/engine-process.ts';

const name = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(...'.`ab '.split('')), maxLength: 6 }),
);
const path = fc.tuple(name, fc.array(name, { maxLength: 5 })).map(([first, rest]): FieldPath => [first, ...rest]);

describe('parseFieldPath', () => {
  for (const [text, expected] of [
    ['a', ['a']],
    ['a.b.c', ['a', 'b', 'c']],
    ['a.`x.y`', ['a', 'x.y']],
    ['`x.y`.a', ['x.y', 'a']],
    ['`back``tick`', ['back`tick']],
    ['````', ['`']],
    ['``', ['']],
    ['a.``.b', ['a', '', 'b']],
    ['sp ace', ['sp ace']],
    [' a ', [' a ']],
    ["it's", ["it's"]],
    ['日本.é', ['日本', 'é']],
    ['a\nb', ['a\nb']],
  ] as const) {
    it(`reads ${JSON.stringify(text)}`, () => {
      assert.deepEqual(parseFieldPath(text), expected);
    });
  }

  for (const [text, fault] of [
    ['', /The field path "" is empty/],
    ['.', /empty segment at character 1/],
    ['.a', /empty segment at character 1/],
    ['a.', /empty segment at character 3/],
    ['a..b', /"a\.\.b" has an empty segment at character 3/],
    ['`a', /without its closing backtick at character 1/],
    ['a.`b``', /without its closing backtick at character 3/],
    ['`', /without its closing backtick at character 1/],
    ['```', /without its closing backtick at character 1/],
    ['`a`b', /text after a closing backtick at character 4/],
    ['a.`b` .c', /text after a closing backtick at character 6/],
    ['a`b', /backtick inside an unquoted segment at character 2/],
    ['x.a`', /backtick inside an unquoted segment at character 4/],
    ['a.'.repeat(64) + 'a', /more than 64 segments/],
    ['a'.repeat(4097), /longer than 4,096 characters/],
  ] as const) {
    it(`refuses ${JSON.stringify(text.slice(0, 20))} and says where`, () => {
      const error = refused(() => parseFieldPath(text));
      assert.equal(error.kind, 'InvalidInput');
      assert.match(error.message, fault);
      assert.match(error.hint ?? '', /backtick/);
    });
  }

  it('takes the longest path and the longest text', () => {
    assert.equal(parseFieldPath(`${'a.'.repeat(63)}a`).length, 64);
    assert.equal(parseFieldPath('a'.repeat(4096))[0].length, 4096);
  });

  it('reads back every path that was formatted', () => {
    fc.assert(fc.property(path, (names) => assert.deepEqual(parseFieldPath(formatFieldPath(names)), names)));
  });

  it('makes the same canonical text of a path however it was written', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'.`ab '.split('')), maxLength: 10 }), (text) => {
        const parsed = attempt(text);
        fc.pre(parsed !== undefined);
        const canonical = formatFieldPath(parsed);
        assert.equal(formatFieldPath(parseFieldPath(canonical)), canonical);
      }),
    );
  });
});

describe('formatFieldPath', () => {
  it('quotes only what needs quotes', () => {
    assert.equal(
      formatFieldPath(['a', 'sp ace', "it's", 'x.y', '`', '', ' s', 'é']),
      "a.sp ace.it's.`x.y`.````.``.` s`.é",
    );
  });
});

const int: DataType = { kind: 'int', bits: 32, signed: true };
const schema: Schema = {
  metadata: new Map(),
  fields: [
    field('id', int),
    field('address', {
      kind: 'struct',
      children: [
        field('city', int),
        field('x.y', int),
        field('geo', { kind: 'struct', children: [field('lat', int)] }),
      ],
    }),
    field('li', { kind: 'list', layout: 'plain', item: field('element', int) }),
    field('ls', {
      kind: 'list',
      layout: 'plain',
      item: field('item', { kind: 'struct', children: [field('k', int)] }),
    }),
    field('m', {
      kind: 'map',
      keysSorted: false,
      entries: field('entries', { kind: 'struct', children: [field('key', int), field('value', int)] }),
    }),
    field('vec', { kind: 'fixed-size-list', length: 2, item: field('item', { kind: 'float', bits: 32 }) }),
    field('boxes', {
      kind: 'fixed-size-list',
      length: 2,
      item: field('item', { kind: 'struct', children: [field('w', int)] }),
    }),
  ],
};

describe('resolveField', () => {
  for (const text of [
    'id',
    'address',
    'address.city',
    'address.`x.y`',
    'address.geo.lat',
    'li.element',
    'ls.item.k',
    'm.entries.value',
    'boxes.item.w',
  ]) {
    it(`finds ${text}`, () => {
      const names = parseFieldPath(text);
      assert.equal(resolveField(schema, names)?.name, names.at(-1));
    });
  }

  for (const text of [
    'city',
    'ID',
    'Address.city',
    'address.x.y',
    'id.x',
    'li.item',
    'm.key',
    'vec.item',
    'lat',
    '``',
  ]) {
    it(`does not find ${text}`, () => {
      assert.equal(resolveField(schema, parseFieldPath(text)), undefined);
    });
  }
});

describe('requireField', () => {
  it('gives the field', () => {
    assert.equal(requireField(schema, ['address', 'city']).name, 'city');
  });

  for (const [text, hint] of [
    ['ID', 'Did you mean "id"?'],
    ['adress', 'Did you mean "address"?'],
    ['address.cty', 'Did you mean "address.city"?'],
    ['city', 'Did you mean "address.city"?'],
    ['lat', 'Did you mean "address.geo.lat"?'],
    ['address.`x.z`', 'Did you mean "address.`x.y`"?'],
    ['li.elemen', 'Did you mean "li.element"?'],
    ['vec.item', 'Its top-level fields are "id", "address", "li", "ls", "m", "vec", "boxes".'],
    ['nothing_like_it', 'Its top-level fields are "id", "address", "li", "ls", "m", "vec", "boxes".'],
  ] as const) {
    it(`refuses ${text} with the hint ${hint}`, () => {
      const error = refused(() => requireField(schema, parseFieldPath(text)));
      assert.equal(error.kind, 'TableColumnNotFound');
      assert.equal(error.message, `The table has no field ${JSON.stringify(formatFieldPath(parseFieldPath(text)))}.`);
      assert.equal(error.hint, hint);
    });
  }

  it('names a few fields of a wide table', () => {
    const fields = Array.from({ length: 5000 }, (_, index) => field(`column_number_${index}`, int));
    const error = refused(() => requireField({ fields, metadata: new Map() }, ['absent']));
    assert.match(error.hint ?? '', /"column_number_9" and 4990 more\.$/);
  });

  it('answers for a table without fields', () => {
    const error = refused(() => requireField({ fields: [], metadata: new Map() }, ['absent']));
    assert.equal(error.hint, 'The table has no fields.');
  });
});

describe('sqlFieldReference', () => {
  let engine: EngineProcess;
  before(async () => {
    engine = await EngineProcess.start();
  });
  after(async () => {
    await engine.stop();
  });

  it('quotes as the engine reads it', () => {
    assert.equal(sqlFieldReference(['a`b']), '`a``b`');
    assert.equal(sqlFieldReference(['p', "it's", 'x.y']), "`p`['it''s']['x.y']");
  });

  for (const [names, expected] of [
    [['id'], 3],
    [['sp ace'], 3],
    [['Name'], 'Upper3'],
    [['p', 'b'], 'b3'],
    [['p', 'x.y'], 103],
    [['p', 'tick`ed'], 203],
    [['p', "it's"], 303],
    [['p', 'back\\slash'], 403],
    [['p', ' s '], 503],
    [['p', 'q', 'Deep'], 603],
  ] as const) {
    it(`lets the engine read ${formatFieldPath(names)}`, async () => {
      const reference = sqlFieldReference(names);
      const [values] = await engine.values([reference]);
      assert.equal(values?.kind === 'values' ? values.values[3] : JSON.stringify(values), String(expected));
      const literal = typeof expected === 'string' ? `'${expected}'` : String(expected);
      const [rows] = await engine.rows([`${reference} = ${literal}`]);
      assert.ok(rows?.kind === 'rows' && rows.rows.includes(3), JSON.stringify(rows));
    });
  }
});

function field(fieldName: string, type: DataType): Field {
  return { name: fieldName, nullable: true, type, metadata: new Map() };
}

function attempt(text: string): FieldPath | undefined {
  try {
    return parseFieldPath(text);
  } catch {
    return undefined;
  }
}

function refused(action: () => unknown): ServiceError {
  try {
    action();
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    return error;
  }
  return assert.fail('passed');
}
