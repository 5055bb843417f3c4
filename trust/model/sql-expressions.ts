/** A row of the table on which expressions are evaluated. */
export interface SqlRow {
  readonly id: number;
  readonly i: number | null;
  readonly j: number | null;
  readonly f: number | null;
  readonly s: string | null;
  readonly t: string | null;
  readonly b: boolean | null;
}

/** SQL text and its meaning: values, with null for unknown. */
export interface Expression<Value> {
  readonly text: string;
  readonly value: (row: SqlRow) => Value | null;
}

type Random = (below: number) => number;

const WORDS = ['', 'a', 'ab', 'abc', 'b', 'ba', 'Äpfel', "o'clock", 'A', 'zz', '%', '_x', 'a b', '100'];

/** Rows with all combinations of nulls and edge values. */
export function makeSqlRows(random: Random, count: number): readonly SqlRow[] {
  const maybe = <Value>(value: Value): Value | null => (random(4) === 0 ? null : value);
  return Array.from({ length: count }, (_unused, id) => ({
    id,
    i: maybe(random(21) - 10),
    j: maybe([0, 1, -1, 100, 7][random(5)] ?? 0),
    f: maybe((random(41) - 20) / 4),
    s: maybe(WORDS[random(WORDS.length)] ?? ''),
    t: maybe(WORDS[random(WORDS.length)] ?? ''),
    b: maybe(random(2) === 1),
  }));
}

export function makeCondition(random: Random, depth: number): Expression<boolean> {
  if (depth <= 0) return makeLeafCondition(random);
  const below = (): Expression<boolean> => makeCondition(random, depth - 1);
  switch (random(9)) {
    case 0:
      return both('AND', below(), below(), and);
    case 1:
      return both('OR', below(), below(), or);
    case 2: {
      const inner = below();
      return { text: `NOT (${inner.text})`, value: (row) => not(inner.value(row)) };
    }
    case 3:
      return compare(random, makeNumber(random, depth - 1), makeNumber(random, depth - 1));
    case 4:
      return compare(random, makeText(random, depth - 1), makeText(random, depth - 1));
    case 5:
      return between(random, depth - 1);
    case 6: {
      const inner = below();
      const isTrue = random(2) === 1;
      return {
        text: `((${inner.text}) IS ${isTrue ? 'TRUE' : 'NOT TRUE'})`,
        value: (row) => (inner.value(row) === true) === isTrue,
      };
    }
    case 7:
      return distinct(makeNumber(random, depth - 1), makeNumber(random, depth - 1));
    default:
      return makeLeafCondition(random);
  }
}

function makeLeafCondition(random: Random): Expression<boolean> {
  switch (random(7)) {
    case 0:
      return { text: 'b', value: (row) => row.b };
    case 1:
      return isNull(random);
    case 2:
      return inList(random);
    case 3:
      return like(random);
    case 4:
      return [
        { text: 'TRUE', value: () => true },
        { text: 'FALSE', value: () => false },
        { text: 'b', value: (row: SqlRow) => row.b },
      ][random(3)] as Expression<boolean>;
    default:
      return compare(random, makeNumber(random, 0), makeNumber(random, 0));
  }
}

function both(
  word: string,
  left: Expression<boolean>,
  right: Expression<boolean>,
  join: (one: boolean | null, other: boolean | null) => boolean | null,
): Expression<boolean> {
  return { text: `(${left.text} ${word} ${right.text})`, value: (row) => join(left.value(row), right.value(row)) };
}

function and(one: boolean | null, other: boolean | null): boolean | null {
  if (one === false || other === false) return false;
  return one === null || other === null ? null : true;
}

function or(one: boolean | null, other: boolean | null): boolean | null {
  if (one === true || other === true) return true;
  return one === null || other === null ? null : false;
}

function not(value: boolean | null): boolean | null {
  return value === null ? null : !value;
}

/** Texts are compared byte by byte, as in the engine. */
function order(one: number | string, other: number | string): number {
  if (typeof one === 'string' && typeof other === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return Number(one) - Number(other);
}

const COMPARISONS: readonly (readonly [string, (order: number) => boolean])[] = [
  ['=', (found) => found === 0],
  ['<>', (found) => found !== 0],
  ['!=', (found) => found !== 0],
  ['<', (found) => found < 0],
  ['<=', (found) => found <= 0],
  ['>', (found) => found > 0],
  ['>=', (found) => found >= 0],
];

function compare<Value extends number | string>(
  random: Random,
  left: Expression<Value>,
  right: Expression<Value>,
): Expression<boolean> {
  const [word, isRight] = COMPARISONS[random(COMPARISONS.length)] ?? ['=', (found: number) => found === 0];
  return {
    text: `(${left.text} ${word} ${right.text})`,
    value: (row) => {
      const [one, other] = [left.value(row), right.value(row)];
      return one === null || other === null ? null : isRight(order(one, other));
    },
  };
}

function between(random: Random, depth: number): Expression<boolean> {
  const [value, low, high] = [makeNumber(random, depth), makeNumber(random, 0), makeNumber(random, 0)];
  const isNot = random(3) === 0;
  return {
    text: `(${value.text} ${isNot ? 'NOT ' : ''}BETWEEN ${low.text} AND ${high.text})`,
    value: (row) => {
      const [found, least, most] = [value.value(row), low.value(row), high.value(row)];
      const inside = and(
        found === null || least === null ? null : found >= least,
        found === null || most === null ? null : found <= most,
      );
      return isNot ? not(inside) : inside;
    },
  };
}

function isNull(random: Random): Expression<boolean> {
  const column = (['i', 'j', 'f', 's', 't', 'b'] as const)[random(6)] ?? 'i';
  const isNot = random(2) === 1;
  return { text: `(${column} IS ${isNot ? 'NOT ' : ''}NULL)`, value: (row) => (row[column] === null) !== isNot };
}

function inList(random: Random): Expression<boolean> {
  const isText = random(2) === 1;
  const items: readonly (number | string)[] = Array.from({ length: 1 + random(4) }, () =>
    isText ? (WORDS[random(WORDS.length)] ?? '') : random(21) - 10,
  );
  const column = isText ? 's' : 'i';
  const isNot = random(3) === 0;
  const list = items.map((item) => (typeof item === 'string' ? quote(item) : String(item))).join(', ');
  return {
    text: `(${column} ${isNot ? 'NOT ' : ''}IN (${list}))`,
    value: (row) => {
      const found = row[column];
      return found === null ? null : items.includes(found) !== isNot;
    },
  };
}

const PATTERNS = ['a%', '%a', '%b%', '_', 'a_', '%', '', 'A%', '__%', 'o%k'];

function like(random: Random): Expression<boolean> {
  const pattern = PATTERNS[random(PATTERNS.length)] ?? '%';
  const isNot = random(3) === 0;
  const matcher = new RegExp(`^${pattern.replaceAll('%', '[^]*').replaceAll('_', '[^]')}$`, 'u');
  return {
    text: `(s ${isNot ? 'NOT ' : ''}LIKE ${quote(pattern)})`,
    value: ({ s }) => (s === null ? null : matcher.test(s) !== isNot),
  };
}

/** Null if the two are equal, otherwise the first. */
function unlessEqual<Value>(one: Expression<Value>, other: Expression<Value>): Expression<Value> {
  return {
    text: `nullif(${one.text}, ${other.text})`,
    value: (row) => (one.value(row) === other.value(row) ? null : one.value(row)),
  };
}

/** Never null: two nulls are not distinct. */
function distinct(one: Expression<number>, other: Expression<number>): Expression<boolean> {
  return {
    text: `(${one.text} IS DISTINCT FROM ${other.text})`,
    value: (row) => one.value(row) !== other.value(row),
  };
}

/** Small integers and quarters, which are exact in every type that the engine may choose for them. */
export function makeNumber(random: Random, depth: number): Expression<number> {
  if (depth <= 0) return makeLeafNumber(random);
  const below = (): Expression<number> => makeNumber(random, depth - 1);
  switch (random(8)) {
    case 0:
      return calculate('+', below(), below(), (one, other) => one + other);
    case 1:
      return calculate('-', below(), below(), (one, other) => one - other);
    case 2:
      // Integers only: the engine distinguishes -0.0 from 0.0, like Arrow's float ordering, but SQL does not.
      return calculate('*', makeWhole(random), makeWhole(random), (one, other) => one * other + 0);
    case 3: {
      const inner = below();
      return { text: `abs(${inner.text})`, value: (row) => mapped(inner.value(row), Math.abs) };
    }
    case 4: {
      const inner = makeText(random, depth - 1);
      return {
        text: `char_length(${inner.text})`,
        value: (row) => mapped(inner.value(row), (text) => [...text].length),
      };
    }
    case 5: {
      const [one, other] = [makeLeafNumber(random), makeLeafNumber(random)];
      return { text: `coalesce(${one.text}, ${other.text})`, value: (row) => one.value(row) ?? other.value(row) };
    }
    case 6:
      return unlessEqual(below(), below());
    default:
      return makeLeafNumber(random);
  }
}

function makeLeafNumber(random: Random): Expression<number> {
  switch (random(5)) {
    case 0:
      return { text: 'i', value: (row) => row.i };
    case 1:
      return { text: 'j', value: (row) => row.j };
    case 2:
      return { text: 'f', value: (row) => row.f };
    case 3:
      return literal(random(21) - 10);
    default:
      return literal((random(41) - 20) / 4);
  }
}

function makeWhole(random: Random): Expression<number> {
  if (random(3) === 0) return literal(random(21) - 10);
  return random(2) === 0 ? { text: 'i', value: (row) => row.i } : { text: 'j', value: (row) => row.j };
}

function literal(number: number): Expression<number> {
  return { text: number < 0 ? `(${number})` : String(number), value: () => number };
}

function calculate(
  sign: string,
  left: Expression<number>,
  right: Expression<number>,
  join: (one: number, other: number) => number,
): Expression<number> {
  return {
    text: `(${left.text} ${sign} ${right.text})`,
    value: (row) => {
      const [one, other] = [left.value(row), right.value(row)];
      return one === null || other === null ? null : join(one, other);
    },
  };
}

export function makeText(random: Random, depth: number): Expression<string> {
  if (depth <= 0) return makeLeafText(random);
  const below = (): Expression<string> => makeText(random, depth - 1);
  switch (random(7)) {
    case 0: {
      const [one, other] = [below(), below()];
      return {
        text: `(${one.text} || ${other.text})`,
        value: (row) => {
          const [first, second] = [one.value(row), other.value(row)];
          return first === null || second === null ? null : first + second;
        },
      };
    }
    case 1: {
      const inner = below();
      return { text: `upper(${inner.text})`, value: (row) => mapped(inner.value(row), (text) => text.toUpperCase()) };
    }
    case 2: {
      const inner = below();
      return { text: `lower(${inner.text})`, value: (row) => mapped(inner.value(row), (text) => text.toLowerCase()) };
    }
    case 3: {
      // Here nulls count as empty, unlike in `||`.
      const [one, other] = [below(), below()];
      return {
        text: `concat(${one.text}, ${other.text})`,
        value: (row) => (one.value(row) ?? '') + (other.value(row) ?? ''),
      };
    }
    case 4: {
      const [one, other] = [makeLeafText(random), makeLeafText(random)];
      return { text: `coalesce(${one.text}, ${other.text})`, value: (row) => one.value(row) ?? other.value(row) };
    }
    case 5:
      return unlessEqual(below(), below());
    default:
      return makeLeafText(random);
  }
}

function makeLeafText(random: Random): Expression<string> {
  if (random(2) === 0)
    return random(2) === 0 ? { text: 's', value: (row) => row.s } : { text: 't', value: (row) => row.t };
  const word = WORDS[random(WORDS.length)] ?? '';
  return { text: quote(word), value: () => word };
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function mapped<From, To>(value: From | null, change: (value: From) => To): To | null {
  return value === null ? null : change(value);
}
