type Random = (below: number) => number;

/** The subset of JSON Schema that the service's shapes use. */
export interface Shape {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Shape;
  readonly items?: Shape | readonly Shape[];
  readonly anyOf?: readonly Shape[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
}

const WILD: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  4294967296,
  '',
  '\u0000',
  '\u202ex',
  '../..',
  'a'.repeat(3000),
  [],
  [[]],
  {},
  { a: { b: { c: {} } } },
  { __proto__: null, constructor: 1 },
  [null, 1, 'x', {}],
];

const TEXTS = [
  'id',
  'price',
  'name',
  'point.x',
  'vec',
  'nope',
  'main',
  't',
  'b',
  'append',
  'overwrite',
  'id > 3',
  'id = ',
  "name = 'x",
  '1',
  '*',
  '`id`',
  'id; drop',
  'reader',
  'admin',
  'default',
  'BTREE',
  'IVF_PQ',
  'FTS',
  'l2',
  'cascade',
  'key:1',
  'table0',
  'file:///etc',
  '/etc/passwd',
  's3://bucket/x',
  '{"type":"int32"}',
];

const NUMBERS = [0, 1, 2, 3, 10, -1, 0.5, 1000, 65_536, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 1e19];

/** A body that mostly matches its shape, so that it passes the first check, with some faults. */
export function makeBody(shape: Shape, random: Random, depth = 0): unknown {
  if (random(12) === 0) return WILD[random(WILD.length)];
  if (shape.const !== undefined) return shape.const;
  if (shape.enum !== undefined) return shape.enum[random(shape.enum.length)];
  if (shape.anyOf !== undefined) return makeBody(shape.anyOf[random(shape.anyOf.length)] ?? {}, random, depth);
  if (depth > 6) return WILD[random(WILD.length)];
  switch (shape.type) {
    case 'object':
      return makeObject(shape, random, depth);
    case 'array':
      return makeArray(shape, random, depth);
    case 'string':
      return TEXTS[random(TEXTS.length)];
    case 'integer':
    case 'number':
      return NUMBERS[random(NUMBERS.length)];
    case 'boolean':
      return random(2) === 1;
    default:
      return WILD[random(WILD.length)];
  }
}

function makeObject(shape: Shape, random: Random, depth: number): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(shape.properties ?? {})) {
    // An identity would be another caller, and an id other than the address's would be refused at once.
    if (name === 'identity' || name === 'id') continue;
    const isWanted = shape.required?.includes(name) === true ? random(25) > 0 : random(3) === 0;
    if (isWanted) made[name] = makeBody(each, random, depth + 1);
  }
  if (typeof shape.additionalProperties === 'object') {
    for (let count = random(3); count > 0; count -= 1) {
      made[TEXTS[random(TEXTS.length)] ?? ''] = makeBody(shape.additionalProperties, random, depth + 1);
    }
  }
  if (random(30) === 0) made['unknown_field'] = WILD[random(WILD.length)];
  return made;
}

function makeArray(shape: Shape, random: Random, depth: number): unknown[] {
  if (Array.isArray(shape.items)) return shape.items.map((each: Shape) => makeBody(each, random, depth + 1));
  const items = (shape.items ?? {}) as Shape;
  return Array.from({ length: random(4) }, () => makeBody(items, random, depth + 1));
}

/** Occasionally makes the text invalid JSON. */
export function spoil(text: string, random: Random): string {
  if (random(20) > 0) return text;
  const at = random(text.length + 1);
  const piece = ['', '{', '"', '\\u00', '\u0000', ',', '[[[[', '1e999'][random(8)] ?? '';
  return text.slice(0, at) + piece + text.slice(at + random(4));
}

/** The smallest body that matches its shape. */
export function leastBody(shape: Shape): unknown {
  if (shape.const !== undefined) return shape.const;
  if (shape.enum !== undefined) return shape.enum[0];
  if (shape.anyOf !== undefined) return leastBody(shape.anyOf[0] ?? {});
  switch (shape.type) {
    case 'object':
      return Object.fromEntries(
        (shape.required ?? []).map((name) => [name, leastBody(shape.properties?.[name] ?? {})]),
      );
    case 'array':
      return (Array.isArray(shape.items) ? shape.items : [shape.items ?? {}]).map((each: Shape) => leastBody(each));
    case 'string':
      return 'reader';
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    default:
      return {};
  }
}
