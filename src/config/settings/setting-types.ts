import {
  formatBytes,
  parseBytes,
  mustBe,
  mustBeOnly,
  parseDecimal,
  parseInteger,
  readBoolean,
  readJson,
  readList,
  readNumber,
  readTextMap,
} from './readings.ts';
import type { Reading, Setting, SettingType, Range, TextMap } from './readings.ts';

/** A check of a text, which may also bring it into its normal form. */
export type TextRule = (text: string) => Reading<string>;

export interface TextOptions<D> {
  readonly default: D;
  readonly defaultText?: string;
  readonly help: string;
  readonly rule?: TextRule;
}

export interface JsonOptions<T> {
  readonly range: string;
  readonly help: string;
  readonly read: (value: unknown) => Reading<readonly T[]>;
  readonly show: (value: T) => string;
}

export function integer(fallback: number, range: Range, help: string, defaultText?: string): Setting<number> {
  const words = `${range[0]} to ${range[1]}`;
  const rules = { parse: parseInteger, range, wanted: `a whole number from ${words}` };
  const base = { ...row('integer', fallback, help), defaultText };
  return { ...base, range: words, read: (raw) => readNumber(raw, rules), show: String };
}

export function seconds(fallback: number, range: Range, help: string): Setting<number> {
  const words = `${range[0]} to ${range[1]}`;
  const rules = { parse: parseDecimal, range, wanted: `a number of seconds from ${words}` };
  return { ...row('seconds', fallback, help), range: words, read: (raw) => readNumber(raw, rules), show: String };
}

export function bytes(fallback: number, range: Range, help: string): Setting<number> {
  const words = `${formatBytes(range[0])} to ${formatBytes(range[1])}`;
  const rules = { parse: parseBytes, range, wanted: `a size from ${words}, such as 67108864, 64MiB or 4GiB` };
  return { ...row('bytes', fallback, help), range: words, read: (raw) => readNumber(raw, rules), show: formatBytes };
}

export function text<D extends string | undefined>(given: TextOptions<D>): Setting<string | D> {
  return textRow('text', given);
}

export function path<D extends string | undefined>(given: TextOptions<D>): Setting<string | D> {
  return textRow('path', given);
}

export function secret(help: string, rule: TextRule): Setting<string | undefined> {
  const read = (raw: unknown): Reading<string> => (typeof raw === 'string' ? rule(raw) : mustBeOnly('a text'));
  return { ...row<string | undefined>('secret', undefined, help), read, show: showSecret };
}

export function boolean(fallback: boolean, help: string): Setting<boolean> {
  return { ...row('boolean', fallback, help), range: 'true or false', read: readBoolean, show: String };
}

export function choice<C extends string>(fallback: C, choices: readonly C[], help: string): Setting<C> {
  const words = choices.join(', ');
  const read = (raw: unknown): Reading<C> => {
    const chosen = choices.find((each) => each === raw);
    return chosen === undefined ? mustBe(`one of ${words}`, raw) : { value: chosen };
  };
  return { ...row('choice', fallback, help), range: words, read, show: String };
}

export function list(fallback: readonly string[], help: string): Setting<readonly string[]> {
  return { ...row('list', fallback, help), range: 'texts, separated by commas', read: readList, show: showList };
}

/** A map of texts for the storage layer: any of its values may be a credential, so that only the keys are shown. */
export function options(help: string): Setting<TextMap> {
  const empty: TextMap = {};
  return { ...row('options', empty, help), range: 'JSON object of texts', read: readTextMap, show: showKeys };
}

/** A JSON array whose elements have a shape of their own. */
export function json<T>(given: JsonOptions<T>): Setting<readonly T[]> {
  const none: readonly T[] = [];
  const read = (raw: unknown): Reading<readonly T[]> => {
    const parsed = readJson(raw);
    return 'faults' in parsed ? parsed : given.read(parsed.value);
  };
  const show = (value: readonly T[]): string => showList(value.map(given.show));
  return { ...row('json', none, given.help), range: given.range, read, show };
}

type Row<T> = Pick<Setting<T>, 'type' | 'default' | 'defaultText' | 'range' | 'help'>;

function row<T>(type: SettingType, fallback: T, help: string): Row<T> {
  return { type, default: fallback, defaultText: undefined, range: '', help };
}

function textRow<D extends string | undefined>(type: 'text' | 'path', given: TextOptions<D>): Setting<string | D> {
  const rule = given.rule ?? refuseEmpty;
  const read = (raw: unknown): Reading<string> => (typeof raw === 'string' ? rule(raw) : mustBe('a text', raw));
  const base = row<string | D>(type, given.default, given.help);
  return { ...base, defaultText: given.defaultText, read, show: showText };
}

function refuseEmpty(given: string): Reading<string> {
  return given === '' ? mustBeOnly('a text that is not empty') : { value: given };
}

const SET = '(set)';
const NOT_SET = '(not set)';
const NONE = '(none)';

function showSecret(value: string | undefined): string {
  return value === undefined ? NOT_SET : SET;
}

function showText(value: string | undefined): string {
  if (value === undefined) return NOT_SET;
  return value === '' ? NONE : value;
}

function showList(value: readonly string[]): string {
  return value.length === 0 ? NONE : value.join(', ');
}

function showKeys(map: TextMap): string {
  return showList(Object.keys(map).map((key) => `${key}=${SET}`));
}
