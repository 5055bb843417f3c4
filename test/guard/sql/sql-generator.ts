import fc from 'fast-check';

/** SQL texts of the right types for the table of `engine-worker.ts`, so that most of them run. */
export interface SqlTexts {
  readonly condition: fc.Arbitrary<string>;
  readonly number: fc.Arbitrary<string>;
  readonly text: fc.Arbitrary<string>;
}

const textLiteral = fc
  .oneof(
    fc.constantFrom('name13', "it's", 'back\\', '\\', "'", '`', '"', ')', '(', '--', '/*', ';', "''", 'é', '日本', ''),
    fc.string({ maxLength: 6 }),
  )
  .map((value) => `'${value.replaceAll("'", "''").replaceAll('\u0000', '')}'`);

export const sqlTexts: SqlTexts = fc.letrec<{ condition: string; number: string; text: string }>((tie) => {
  const depth = { maxDepth: 4, depthSize: 'small' } as const;
  const { condition, number, text } = { condition: tie('condition'), number: tie('number'), text: tie('text') };
  return {
    condition: fc.oneof(
      depth,
      fc.constantFrom('flag', 'TRUE', 'name IS NULL', 'flag IS NOT TRUE', "array_has(tags, 'b1')", 'is_valid(price)'),
      join([number, fc.constantFrom(' = ', '<', ' >= ', '!='), number]),
      join([text, fc.constantFrom(' = ', ' <> ', ' LIKE ', ' NOT LIKE ', ' ILIKE ', '<'), text]),
      join(['(', condition, fc.constantFrom(') AND (', ') OR (', ' AND NOT ', ' OR '), condition, ')']),
      join(['NOT (', condition, ')']),
      join(['(', condition, fc.constantFrom(') IS NULL', ') IS NOT FALSE', ') = flag')]),
      join([number, fc.constantFrom(' BETWEEN ', ' NOT BETWEEN '), number, ' AND ', number]),
      join([number, fc.constantFrom(' IN (', ' NOT IN ('), number, ',', number, ', 7, NULL)']),
      join([text, ' IN (', text, ', ', textLiteral, ')']),
      join(['starts_with(', text, ', ', textLiteral, ')']),
      join(['coalesce(', condition, ', flag)']),
    ),
    number: fc.oneof(
      depth,
      fc.constantFrom(
        'id',
        'big',
        'price',
        'p.a',
        "p['x.y']",
        '`sp ace`',
        'vec[1]',
        '0',
        '7',
        '-3',
        '2.5',
        '1e2',
        '.5',
      ),
      join(['(', number, fc.constantFrom(' + ', '-', '*', ' - -', ' / ', '%'), number, ')']),
      join([fc.constantFrom('abs(', '-(', 'CAST(2 + ', '(', 'round('), number, ')']).map(closeCast),
      join(['coalesce(', number, ', ', number, ')']),
      join(['nullif(', number, ', ', number, ')']),
      join(['character_length(', text, ')']),
      join([number, fc.constantFrom('::bigint', '::double', '::float')]),
    ),
    text: fc.oneof(
      depth,
      fc.oneof(fc.constantFrom('name', 'Name', '`Name`', 'p.b', "p['b']", 'tags[2]', 'format'), textLiteral),
      join([fc.constantFrom('upper(', 'lower(', 'reverse(', '('), text, ')']),
      join(['(', text, ' || ', text, ')']),
      join(['concat(', text, ', ', textLiteral, ')']),
      join(['left(', text, ', 3)']),
      join(['coalesce(', text, ', ', text, ')']),
    ),
  };
});

/** Ways to wrap a condition into another, each of which the planner takes apart in its own manner. */
const WRAPPERS = [
  ...'(§ AND flag)|(flag OR §)|((§) = flag)|((§) IN (true, flag))|(flag IN (§, true))|(§ IS NULL)|NOT (§)'.split('|'),
  ...'((§) BETWEEN false AND true)|(flag BETWEEN § AND true)|coalesce(§, flag)|ifnull(§, flag)'.split('|'),
  ...'nvl2(§, true, flag)|nvl2(flag, §, flag)|nullif(§, flag)|CAST(§ AS BOOLEAN)|((§)::boolean)'.split('|'),
  ..."make_array(§, flag)[1]|named_struct('a', §)['a']|get_field(named_struct('a', §), 'a')".split('|'),
  ..."struct(§)['c0']|row(§)['c0']|greatest(§, flag)|array_has(make_array(§), flag)|is_valid(§)".split('|'),
  ..."starts_with(CAST(§ AS STRING), 't')|(length(CAST(§ AS STRING)) > 3)|list_has(make_array(§), flag)".split('|'),
];

/** A deep condition of few kinds of wrappers, each put around it only while `accepts` says so. */
export function nestedConditions(accepts: (text: string) => boolean): fc.Arbitrary<string> {
  const core = fc.constantFrom('flag', 'id > 5', "name LIKE 'n%'", 'id IN (1, 2, 3, 4, 5)', 'id BETWEEN 1 AND 30');
  const kinds = fc.array(fc.constantFrom(...WRAPPERS), { minLength: 1, maxLength: 4 });
  const steps = fc.array(fc.noBias(fc.nat(11)), { minLength: 16, maxLength: 24 });
  return fc.tuple(core, kinds, steps).map(([start, wrappers, order]) =>
    order.reduce<string>((text, step) => {
      const wrapped = (wrappers[step % wrappers.length] ?? '§').replace('§', () => text);
      return accepts(wrapped) ? wrapped : text;
    }, start),
  );
}

const FRAGMENTS = [
  ...'\'"`\\()[],;.-$?:|=!~@#{}é\n\r\t\u0000\u00a0\u200bſ’'.split(''),
  ..."''§``§\\'§--§/*§*/§::§||§X'§x'\\§N'§E'\\§ OR 1=1§) OR (1=1§ -- § AND § NOT § IN § BETWEEN § IS § id§ 1".split(
    '§',
  ),
  ..." 'x'§ FROM t§ OVER ()§ DISTINCT § SELECT § AS x§abs(§coalesce(§CAST(§ IGNORE NULLS§ LIMIT 1".split('§'),
];

/** A text with a few pieces put in, taken out or doubled anywhere. */
export function mutated(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const field = fc.noBias(fc.integer({ min: 0, max: 9999 })).map((part) => part / 10_000);
  const change = fc.tuple(field, field, fc.constantFrom('insert', 'remove', 'double'), fc.constantFrom(...FRAGMENTS));
  return fc.tuple(text, fc.array(change, { minLength: 1, maxLength: 4 })).map(([whole, changes]) => {
    let result = whole;
    for (const [from, size, kind, fragment] of changes) {
      const start = Math.floor(from * result.length);
      const end = Math.min(result.length, start + 1 + Math.floor(size * 8));
      const piece = result.slice(start, end);
      const middle = { insert: fragment + piece, remove: '', double: piece + piece }[kind];
      result = result.slice(0, start) + middle + result.slice(end);
    }
    return result;
  });
}

function join(parts: readonly (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> {
  return fc
    .tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)))
    .map((pieces) => pieces.join(''));
}

function closeCast(text: string): string {
  return text.startsWith('CAST(') ? `${text.slice(0, -1)} AS BIGINT)` : text;
}
