import { formatCount } from '../../model/value-text.ts';
import { named } from './keywords.ts';
import { isSymbol, readTokens } from './tokenizer.ts';

/**
 * How wide a result is, relative to all arguments together: a factor, or a rule of `applyRule`. `greatest`: one of the
 * arguments; `list`: all of them, each in its own slot; `separator`: the first between the others; `join`: the second
 * between the items of the first; `repeat`, `pad`: as often as the second specifies; `replace`: the third instead of
 * the second; `groups`: a copy for each group of a pattern; `type`: the width of the named type.
 */
export type ResultGrowth =
  | number
  | 'greatest'
  | 'list'
  | 'separator'
  | 'join'
  | 'repeat'
  | 'pad'
  | 'replace'
  | 'groups'
  | 'type';

/** How a function may be called. Names are matched in lower case, quoted or not. */
export interface FunctionRule {
  /** Why every call is refused. */
  readonly refused?: string;
  /** The alternative to a refused function, or how to call a restricted one. */
  readonly hint?: string;
  /** How often a call doubles the work of planning its arguments. */
  readonly doublings: 0 | 1 | 2;
  /** The maximum length from the opening to the closing parenthesis. */
  readonly charactersMax: number;
  /** The result may be many times as long as the arguments: refused inside another such function. */
  readonly multiplies?: boolean;
  /** 1 if absent. */
  readonly growth?: ResultGrowth;
  /** Takes as many arguments as a list has items. */
  readonly isList?: boolean;
  /** The position, counted from 1, of an argument that must be a text literal; or several positions. */
  readonly literalArgument?: number | readonly number[];
  /** The position, counted from 1, of an argument that must be a plain integer up to `COUNT_MAX`. */
  readonly countArgument?: number;
  /** The largest number in that literal. */
  readonly literalNumberMax?: number;
  /** Allowed once in that literal, because each occurrence multiplies the work. */
  readonly literalOnce?: string;
  readonly argumentsMin?: number;
  readonly argumentsMax?: number;
  /** Words that separate arguments, in addition to the comma. */
  readonly separators?: ReadonlySet<string>;
  readonly leadingWords?: ReadonlySet<string>;
  readonly isCast?: boolean;
  /** Has a different value in each row. */
  readonly differsByRow?: boolean;
}

export function functionRule(name: string): FunctionRule {
  const key = name.toLowerCase();
  return RULES.get(key) ?? (LINEAR_FUNCTIONS.has(key) ? LINEAR : UNKNOWN);
}

/** Functions with a different value for each call, or a second later. Some are written without parentheses. */
const VOLATILE_FUNCTIONS =
  'now today current_date current_time current_timestamp localtime localtimestamp random rand uuid gen_random_uuid';

const VOLATILE_NAME = new RegExp(`\\b(?:${VOLATILE_FUNCTIONS.replaceAll(' ', '|')})\\b`, 'i');

/** Whether an expression may give different values for the same rows. A text or column with such a name counts too. */
export function mayBeVolatile(sql: string): boolean {
  return VOLATILE_NAME.test(sql);
}

const VOLATILE_NAMES: ReadonlySet<string> = new Set(VOLATILE_FUNCTIONS.split(' '));

/** The first function with a different value for each call. A column with such a name can be written in backticks. */
export function findVolatile(sql: string): string | undefined {
  const tokens = [...readTokens(sql)];
  const found = tokens.find(({ kind, text }, index) => {
    const isCall = kind === 'word' || (kind === 'quoted-name' && isSymbol(tokens[index + 1], '('));
    return isCall && VOLATILE_NAMES.has(text.toLowerCase()) && !isSymbol(tokens[index - 1], '.');
  });
  return found?.text;
}

const USUAL_CHARACTERS_MAX = 65_536;
const QUADRATIC_CHARACTERS_MAX = 4096;
const MULTIPLYING_CHARACTERS_MAX = 256;
const FIXED_SIZE_MAX = 65_536;
/** Longer padding is a mistake or an attack; the growth of the value is bounded separately. */
export const COUNT_MAX = 10_000;

const LINEAR: FunctionRule = { doublings: 0, charactersMax: USUAL_CHARACTERS_MAX };

/**
 * The engine plans aliases and special syntax twice per level, and 24 levels hang it. Unknown functions are treated
 * like these.
 */
const ALIAS: FunctionRule = { doublings: 1, charactersMax: USUAL_CHARACTERS_MAX };

/** More than date formats and similar functions let a value grow. */
const UNKNOWN: FunctionRule = { ...ALIAS, growth: 8 };

const ALIASES = `array_cat array_empty array_extract array_indexof array_push_back array_push_front ceil char_length
  current_date current_time current_timestamp datepart datetrunc element_at empty floor length list_any_value list_append
  list_cat list_concat list_dims list_distinct list_element list_empty list_except list_extract list_indexof
  list_intersect list_length list_max list_min list_ndims list_pop_back list_pop_front list_position list_prepend
  list_push_back list_push_front list_remove list_remove_all list_remove_n list_reverse list_slice list_sort list_union
  map_entries map_extract map_keys map_values pow row today`;

/**
 * Functions, without aliases, whose planning cost does not depend on their depth; a test verifies it with the engine.
 */
export const LINEAR_FUNCTIONS: ReadonlySet<string> = new Set(
  `abs acos acosh array_any_value array_dims array_distance array_distinct array_element array_except array_intersect
  array_length array_max array_min array_ndims array_pop_back array_pop_front array_position array_positions
  array_prepend array_remove array_remove_all array_remove_n array_reverse array_slice array_sort array_union ascii asin
  asinh atan atan2 atanh bit_length btrim cardinality cbrt character_length chr contains cos cosh cot date_bin date_part
  date_trunc decode degrees digest encode ends_with exp factorial flatten from_unixtime gcd greatest initcap
  isnan iszero lcm least left ln log log10 log2 lower ltrim make_date md5 nanvl now nullif octet_length pi power radians
  random reverse right round rtrim sha224 sha256 sha384 sha512 signum sin sinh split_part sqrt starts_with
  string_to_array tan tanh to_date to_hex to_timestamp to_timestamp_micros to_timestamp_millis to_timestamp_nanos
  to_timestamp_seconds to_unixtime translate trunc upper uuid`.split(/\s+/),
);

const TOO_LONG = 'can produce values of any length';
const AGGREGATE = 'aggregates rows, but an expression is computed for one row at a time';

const REFUSED: readonly (readonly [reason: string, hint: string, names: string])[] = [
  [
    TOO_LONG,
    'Send the value itself.',
    'overlay array_resize list_resize range generate_series gen_series gen_range space',
  ],
  [
    TOO_LONG,
    'Compute the new values in the client, or use translate for single characters.',
    'regexp_replace array_replace array_replace_n array_replace_all list_replace list_replace_n list_replace_all',
  ],
  [
    AGGREGATE,
    'Query the rows and aggregate them in the client.',
    `avg sum count min max mean median stddev stddev_pop stddev_samp var var_pop var_samp array_agg string_agg
    approx_distinct approx_median approx_percentile_cont bool_and bool_or bit_and bit_or bit_xor corr covar_pop covar_samp
    first_value last_value nth_value row_number rank dense_rank percent_rank cume_dist ntile lag lead grouping unnest`,
  ],
  ['starts a subquery', 'Give the values themselves, for example in an IN list.', 'values exists any all some'],
  ['would block the engine', 'Remove it.', 'sleep pg_sleep'],
  ['returns information about the server, not the table', 'Remove it.', 'version'],
];

const quadratic: FunctionRule = { doublings: 0, charactersMax: QUADRATIC_CHARACTERS_MAX };
const quadraticAlias: FunctionRule = { ...quadratic, doublings: 1 };
const pattern: FunctionRule = {
  ...quadratic,
  literalArgument: 2,
  hint: 'Give the pattern as a string literal in single quotes.',
};
const jsonPath: FunctionRule = {
  ...quadratic,
  literalArgument: 2,
  literalOnce: '**',
  growth: 8,
  hint: "Give the path as a string literal with at most one **, such as '$.a.b'.",
};
const joining: FunctionRule = { doublings: 1, charactersMax: MULTIPLYING_CHARACTERS_MAX, multiplies: true };
const wide: FunctionRule = { doublings: 0, charactersMax: Number.POSITIVE_INFINITY };
const wideAlias: FunctionRule = { ...wide, doublings: 1 };
const list: FunctionRule = { ...wide, isList: true, growth: 'list' };
const counted: FunctionRule = {
  ...ALIAS,
  countArgument: 2,
  argumentsMin: 2,
  argumentsMax: 3,
  hint: `Give the count as a plain whole number from 0 to ${formatCount(COUNT_MAX)}.`,
};

function special(words: string, rule: Partial<FunctionRule> = {}): FunctionRule {
  return { ...ALIAS, separators: new Set(words.split(' ')), ...rule };
}

function rules(names: string, rule: FunctionRule): readonly (readonly [string, FunctionRule])[] {
  return named(names, rule);
}

const RULES: ReadonlyMap<string, FunctionRule> = new Map<string, FunctionRule>([
  ...REFUSED.flatMap(([refused, hint, names]) => rules(names, { ...LINEAR, refused, hint })),
  ...rules('levenshtein strpos contains_tokens find_in_set', quadratic),
  ...rules('instr position substr_index substring_index', quadraticAlias),
  ...rules('regexp_like regexp_count regexp_instr', pattern),
  ['regexp_match', { ...pattern, growth: 'groups' }],
  ...rules('json_extract json_extract_with_type json_exists json_array_contains json_array_length', jsonPath),
  ['concat_ws', { ...joining, growth: 'separator' }],
  ...rules('array_to_string array_join list_to_string list_join', {
    ...joining,
    growth: 'join',
    literalArgument: [2, 3],
    hint: 'Give the separator as a string literal in single quotes.',
  }),
  ...rules('lpad rpad', { ...counted, growth: 'pad' }),
  ...rules('repeat array_repeat list_repeat', { ...counted, growth: 'repeat', argumentsMax: 2 }),
  [
    'replace',
    {
      ...ALIAS,
      growth: 'replace',
      literalArgument: [2, 3],
      argumentsMin: 3,
      argumentsMax: 3,
      hint: 'Give the text to replace (at least one character) and its replacement as string literals in single quotes.',
    },
  ],
  ...rules('array_has array_has_any', { ...wide, growth: 0 }),
  ...rules('array_concat concat', wide),
  ...rules('random uuid', { ...LINEAR, differsByRow: true }),
  ...rules('array_append named_struct struct', { ...wide, growth: 'list' }),
  ...rules('list_has list_has_any list_contains array_contains arrays_overlap', { ...wideAlias, growth: 0 }),
  ...rules('coalesce nvl nvl2 ifnull', { ...wideAlias, growth: 'greatest' }),
  ...rules('greatest least nullif', { ...LINEAR, growth: 'greatest' }),
  // The maximum growth of a character in UTF-8.
  ...rules('upper lower initcap', { ...LINEAR, growth: 3 }),
  ['translate', { ...LINEAR, growth: 4 }],
  ['encode', { ...LINEAR, growth: 2 }],
  ...rules('array_positions', { ...LINEAR, growth: 8 }),
  // Every character may become an item.
  ['string_to_array', { ...LINEAR, growth: 17 }],
  ...rules('list_positions', { ...ALIAS, growth: 8 }),
  ...rules('string_to_list', { ...ALIAS, growth: 17 }),
  ...rules(ALIASES, ALIAS),
  ['make_array', list],
  ['make_list', { ...list, doublings: 1 }],
  ['map', { ...ALIAS, doublings: 2, growth: 'list' }],
  ['extract', special('FROM')],
  ['substring', special('FROM FOR')],
  ['substr', special('FROM FOR')],
  ['trim', special('FROM', { leadingWords: new Set(['BOTH', 'LEADING', 'TRAILING']) })],
  ...rules('cast try_cast safe_cast', { ...ALIAS, isCast: true }),
  // With fewer arguments these two make the engine panic; is_valid ignores all except the first.
  ['is_valid', { ...LINEAR, argumentsMin: 1, argumentsMax: 1, hint: 'Give one field.' }],
  ['get_field', { ...LINEAR, argumentsMin: 2, hint: 'Give a struct and the name of a field as a string literal.' }],
  [
    'arrow_cast',
    {
      ...wide,
      growth: 'type',
      literalArgument: 2,
      literalNumberMax: FIXED_SIZE_MAX,
      argumentsMin: 2,
      argumentsMax: 2,
      hint: `Give a value and the name of a type as a string literal, such as 'Int64', with at most ${FIXED_SIZE_MAX} items.`,
    },
  ],
]);
