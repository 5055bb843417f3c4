type Random = (below: number) => number;

/** A read by which a caller may take more than its share. */
export interface HostileRead {
  readonly name: string;
  /** Relative to the address of the table. */
  readonly operation: 'query' | 'analyze_plan' | 'explain_plan' | 'count_rows';
  readonly body: string;
  /** What the client does with the reply. */
  readonly manner: 'read' | 'hang up' | 'read slowly';
}

/** The table has `id`, `r`, `text` and `vec`. */
export interface HostileTable {
  readonly rows: number;
  readonly dimensions: number;
}

/** The same reads for the same seed, with alternating kinds. */
export function makeHostileReads(random: Random, table: HostileTable, count: number): readonly HostileRead[] {
  return Array.from({ length: count }, (_unused, index) => {
    const make = KINDS[index % KINDS.length] ?? manyNeighbours;
    const { name, body, operation = chooseOperation(random) } = make(random, table);
    const isFilter = operation === 'count_rows';
    const query = isFilter ? { predicate: body['filter'] ?? 'id >= 0' } : body;
    return {
      name: `${name}, ${operation}`,
      operation,
      body: 'raw' in body ? String(body['raw']) : JSON.stringify(operation === 'explain_plan' ? { query } : query),
      manner: MANNERS[random(MANNERS.length)] ?? 'read',
    };
  });
}

interface Made {
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly operation?: HostileRead['operation'];
}

type Make = (random: Random, table: HostileTable) => Made;

const MANNERS = ['read', 'read', 'read', 'hang up', 'read slowly'] as const;

function chooseOperation(random: Random): HostileRead['operation'] {
  return (['query', 'query', 'query', 'analyze_plan', 'explain_plan', 'count_rows'] as const)[random(6)] ?? 'query';
}

function vectors(random: Random, count: number, dimensions: number): readonly (readonly number[])[] {
  return Array.from({ length: count }, () => Array.from({ length: dimensions }, () => random(1000) / 1000));
}

function repeat(text: string, times: number, between: string): string {
  return Array.from({ length: times }, () => text).join(between);
}

function manyNeighbours(random: Random, { rows, dimensions }: HostileTable): Made {
  const count = [1, 10, 100][random(3)] ?? 1;
  const k = [rows, rows / 10, 1_000_000, 500][random(4)] ?? rows;
  const columns = random(2) === 0 ? {} : { columns: { column_names: ['id'] } };
  const operation = random(3) === 0 ? 'analyze_plan' : 'query';
  return {
    name: `${count} vectors, k ${k}${'columns' in columns ? ', one column' : ''}`,
    body: { vector: { multi_vector: vectors(random, count, dimensions) }, k, ...columns },
    operation,
  };
}

function farOffset(random: Random, { rows, dimensions }: HostileTable): Made {
  const offset = [rows - 10, 10_000_000][random(2)];
  return {
    name: `offset ${offset}`,
    body: { vector: { single_vector: vectors(random, 1, dimensions)[0] }, k: 10, offset },
  };
}

function refined(random: Random, { dimensions }: HostileTable): Made {
  const [k, refine_factor] = [
    [1000, 1000],
    [10, 1000],
    [100_000, 100],
  ][random(3)] ?? [10, 1000];
  return {
    name: `k ${k}, refine_factor ${refine_factor}, all probes`,
    body: {
      vector: { multi_vector: vectors(random, 20, dimensions) },
      k,
      refine_factor,
      nprobes: 100_000,
      ef: 100_000,
    },
  };
}

function sorted(random: Random, { rows }: HostileTable): Made {
  const column_name = ['r', 'text'][random(2)];
  const k = [undefined, rows, rows / 2][random(3)];
  return {
    name: `order_by ${column_name}, k ${k}`,
    body: { order_by: [{ column_name }], ...(k === undefined ? {} : { k }) },
  };
}

function scanned(random: Random, { rows }: HostileTable): Made {
  const k = [rows, -1, 1_000_000][random(3)];
  return { name: `scan, k ${k}`, body: { k, with_row_id: true } };
}

function concatenated(random: Random, { rows }: HostileTable): Made {
  const times = [20, 100, 250][random(3)] ?? 20;
  const expression = [
    repeat('text', times, ' || '),
    `concat(${repeat('text', times, ', ')})`,
    `array_to_string(make_array(${repeat('text', times, ', ')}), '')`,
    `repeat(text, ${times * 100})`,
    `rpad(text, ${times * 1000}, text)`,
    `replace(text, 'a', '${'b'.repeat(times)}')`,
  ][random(6)];
  return { name: `column of ${times} texts`, body: { columns: { column_aliases: { x: expression } }, k: rows } };
}

function manyColumns(random: Random, { rows }: HostileTable): Made {
  const count = [100, 1000, 4000][random(3)] ?? 100;
  const column_aliases = Object.fromEntries(Array.from({ length: count }, (_unused, index) => [`x${index}`, 'text']));
  return { name: `${count} columns`, body: { columns: { column_aliases }, k: rows } };
}

function arrays(random: Random, { rows }: HostileTable): Made {
  const times = [50, 201][random(2)] ?? 50;
  const expression = [
    `array_concat(${repeat('make_array(text)', times, ', ')})`,
    `array_repeat(text, ${times * 100})`,
    `string_to_array(text, ' ')`,
    `array_distinct(make_array(${repeat('text', times, ', ')}))`,
    `range(0, ${times * 1000})`,
    `flatten(make_array(${repeat('make_array(text)', times, ', ')}))`,
  ][random(6)];
  return { name: `array of ${times}`, body: { columns: { column_aliases: { x: expression } }, k: rows } };
}

function casts(random: Random): Made {
  const times = [20, 60][random(2)] ?? 20;
  const condition = `CAST(CAST(CAST(r AS VARCHAR) AS BIGINT) AS DOUBLE) > ${random(1000)}`;
  return { name: `${times} casts`, body: { filter: repeat(condition, times, ' OR '), k: 10 } };
}

function hashed(random: Random): Made {
  const times = [20, 100][random(2)] ?? 20;
  const filter = Array.from({ length: times }, (_unused, index) => `md5(text || '${index}') = ''`).join(' OR ');
  return { name: `${times} hashes in a filter`, body: { filter, k: 10 } };
}

function patterns(random: Random): Made {
  const times = [10, 50][random(2)] ?? 10;
  const condition = [
    `text LIKE '%a%b%c%d%e%${random(100)}%f%g%'`,
    `regexp_like(text, '(a+)+(b+)+(c+)+${random(100)}$')`,
    `regexp_match(text, '(.*)(.*)(.*)(.*)(.*)${random(100)}') IS NOT NULL`,
    `text ILIKE '%_%_%_%_%_%${random(100)}'`,
    `regexp_replace(text, '(.)(.)(.)', '\\\\3\\\\2\\\\1${random(100)}') = ''`,
  ][random(5)];
  return { name: `${times} patterns`, body: { filter: repeat(condition ?? '', times, ' OR '), k: 10 } };
}

function lists(random: Random): Made {
  const items = [10_000, 100_000, 200_000][random(3)] ?? 10_000;
  const step = 1 + random(5);
  const filter = `id IN (${Array.from({ length: items }, (_unused, index) => index * step).join(',')})`;
  return { name: `list of ${items}`, body: { filter, k: 10 } };
}

function deepFilter(random: Random): Made {
  const depth = [20, 60, 400][random(3)] ?? 20;
  const filter = [
    `${'('.repeat(depth)}id > 1${')'.repeat(depth)}`,
    `${'coalesce('.repeat(depth)}id${', 1)'.repeat(depth)} > 1`,
    `${'NOT '.repeat(depth)}id > 1`,
    `${'abs('.repeat(depth)}id${')'.repeat(depth)} > 1`,
  ][random(4)];
  return { name: `filter of depth ${depth}`, body: { filter, k: 10 } };
}

function fuzzyWords(random: Random): Made {
  const words = [10, 500, 8000][random(3)] ?? 10;
  const terms = Array.from({ length: words }, (_unused, index) => `wxrd${index}`).join(' ');
  const match = { match: { column: 'text', terms, fuzziness: 2, max_expansions: 1000 } };
  return { name: `${words} fuzzy words`, body: { full_text_query: { structured_query: { query: match } }, k: 1000 } };
}

function fused(random: Random, { rows, dimensions }: HostileTable): Made {
  const k = [rows, 1000][random(2)];
  const full_text_query = { string_query: { query: 'alpha beta gamma', columns: ['text'] } };
  return {
    name: `vector and text, k ${k}`,
    body: { vector: { single_vector: vectors(random, 1, dimensions)[0] }, full_text_query, k },
  };
}

function textSearch(random: Random, { rows }: HostileTable): Made {
  const k = [rows, 1_000_000][random(2)];
  const full_text_query = { string_query: { query: repeat('alpha', 100, ' '), columns: ['text'] } };
  return { name: `text, k ${k}`, body: { full_text_query, k } };
}

function hugeBody(random: Random): Made {
  const size = [200_000, 1_000_000][random(2)] ?? 200_000;
  const raw = [
    `{"k":1,"vector":{"single_vector":[${repeat('"1"', size, ',')}]}}`,
    `{"k":1,"vector":{"multi_vector":[${repeat('[1]', size, ',')}]}}`,
    `{"k":1,${Array.from({ length: size / 4 }, (_unused, index) => `"x${index}":1`).join(',')}}`,
    `{"k":1,"filter":"${'x'.repeat(4 * size)}"}`,
    `{"k":1,"vector":{"single_vector":[${repeat('1', 4 * size, ',')}]}}`,
  ][random(5)];
  return { name: `JSON body of ${Math.round((raw?.length ?? 0) / 1e5) / 10} MB`, body: { raw }, operation: 'query' };
}

const KINDS: readonly Make[] = [
  manyNeighbours,
  concatenated,
  sorted,
  fuzzyWords,
  lists,
  manyNeighbours,
  arrays,
  fused,
  patterns,
  hugeBody,
  farOffset,
  manyColumns,
  hashed,
  scanned,
  refined,
  deepFilter,
  textSearch,
  casts,
];
