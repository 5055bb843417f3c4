import type { TablePath } from '../../../../src/model/identifier.ts';
import type { Settings } from '../../../../src/plans/advice.ts';
import { packNumbers, unpackNumbers } from '../../../../src/vectors/packed-numbers.ts';
import type { TableFacts } from '../table-facts.ts';
import { joinPaths } from './field-paths.ts';

export const TABS = ['results', 'plan', 'compare', 'map'] as const;
export type LabTab = (typeof TABS)[number];

export const SEARCHES = ['none', 'vector', 'text', 'hybrid'] as const;
export type Search = (typeof SEARCHES)[number];

export const SOURCES = ['random', 'row', 'meaning', 'paste'] as const;
export type VectorSource = (typeof SOURCES)[number];

export const RIVALS = ['exact', 'settings', 'version'] as const;
type Rival = (typeof RIVALS)[number];

/** The state of the lab, stored in the URL. All values are text, because partial input is kept. */
export interface LabForm {
  readonly tab: LabTab;
  readonly search: Search;
  readonly source: VectorSource;
  /** The seed of random vectors: a link returns the same rows. */
  readonly seed: string;
  /** A filter: uses the vector of the first matching row. */
  readonly like: string;
  /** A text that the server embeds. */
  readonly meaning: string;
  readonly paste: string;
  /** The number of random vectors or of rows. */
  readonly vectors: string;
  readonly column: string;
  readonly words: string;
  readonly wordsColumn: string;
  readonly filter: string;
  /** Comma-separated paths; all columns if empty. */
  readonly columns: string;
  /** `price desc, id`. */
  readonly order: string;
  readonly k: string;
  readonly distance: string;
  readonly nprobes: string;
  readonly refine: string;
  readonly ef: string;
  readonly prefilter: string;
  readonly exact: string;
  /** Only rows that the index contains. */
  readonly fast: string;
  readonly version: string;
  readonly branch: string;
  readonly rival: Rival;
  readonly rivalNprobes: string;
  readonly rivalRefine: string;
  readonly rivalEf: string;
  readonly rivalPrefilter: string;
  readonly rivalExact: string;
  readonly rivalVersion: string;
  /** The largest number of points on the map. */
  readonly points: string;
  /** `first` or, by default, the mean: the point of a row with several vectors. */
  readonly pool: string;
  /** The column that colors the points. */
  readonly colour: string;
}

export const EMPTY_FORM: LabForm = {
  tab: 'results',
  search: 'none',
  source: 'random',
  seed: '1',
  like: '',
  meaning: '',
  paste: '',
  vectors: '1',
  column: '',
  words: '',
  wordsColumn: '',
  filter: '',
  columns: '',
  order: '',
  k: '10',
  distance: '',
  nprobes: '',
  refine: '',
  ef: '',
  prefilter: '1',
  exact: '',
  fast: '',
  version: '',
  branch: '',
  rival: 'exact',
  rivalNprobes: '',
  rivalRefine: '',
  rivalEf: '',
  rivalPrefilter: '1',
  rivalExact: '',
  rivalVersion: '',
  points: '5000',
  pool: '',
  colour: '',
};

export function readForm(query: URLSearchParams): LabForm {
  const text = (name: keyof LabForm): string => query.get(name) ?? EMPTY_FORM[name];
  const texts = Object.fromEntries(Object.keys(EMPTY_FORM).map((name) => [name, query.get(name)]));
  const given = Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== null));
  return {
    ...EMPTY_FORM,
    ...given,
    tab: oneOf(TABS, text('tab')),
    search: oneOf(SEARCHES, text('search')),
    source: oneOf(SOURCES, text('source')),
    rival: oneOf(RIVALS, text('rival')),
    paste: unpackText(text('paste')),
  };
}

/** Only values that differ from the defaults. */
export function toParameters(form: LabForm): Record<string, string> {
  const packed = { ...form, paste: packText(form.paste) };
  return Object.fromEntries(
    Object.entries(packed).filter(([name, value]) => !(name in EMPTY_FORM) || !isDefault(name, value)),
  );
}

const PLAIN_CHARACTERS_MAX = 200;

/** Packing makes the address of a long vector two thirds shorter. */
function packText(text: string): string {
  const numbers = text.length > PLAIN_CHARACTERS_MAX ? readNumbers(text) : [];
  return numbers.length > 0 && numbers.every((number) => Number.isFinite(number)) ? packNumbers(numbers) : text;
}

function unpackText(text: string): string {
  const numbers = unpackNumbers(text);
  return numbers === undefined ? text : `[${numbers.join(', ')}]`;
}

/** Numbers separated by commas, semicolons, spaces or brackets; NaN for anything else. */
export function readNumbers(text: string): readonly number[] {
  return text
    .replaceAll(/[[\]\s,;]+/g, ' ')
    .trim()
    .split(' ')
    .filter((word) => word !== '')
    .map(Number);
}

export function withSettings(form: LabForm, settings: Settings): LabForm {
  const { prefilter, refine_factor, nprobes, ef, columns, distance_type, bypass_vector_index } = settings;
  return {
    ...form,
    ...(prefilter === undefined ? {} : { prefilter: prefilter ? '1' : '' }),
    ...(refine_factor === undefined ? {} : { refine: String(refine_factor) }),
    ...(nprobes === undefined ? {} : { nprobes: String(nprobes) }),
    ...(ef === undefined ? {} : { ef: String(ef) }),
    ...(columns === undefined ? {} : { columns: joinPaths(columns.column_names ?? []) }),
    ...(distance_type === undefined ? {} : { distance: distance_type }),
    ...(bypass_vector_index === undefined ? {} : { exact: bypass_vector_index ? '1' : '' }),
  };
}

function isDefault(name: string, value: string): boolean {
  return Object.entries(EMPTY_FORM).some(([each, usual]) => each === name && usual === value);
}

function oneOf<Word extends string>(words: readonly [Word, ...Word[]], text: string): Word {
  return words.find((word) => word === text) ?? words[0];
}

export interface FormProps {
  readonly table: TablePath;
  readonly form: LabForm;
  readonly facts: TableFacts;
  readonly onChange: (change: Partial<LabForm>) => void;
  readonly onRun: () => void;
  readonly onTableChanged: () => void;
  readonly error: unknown;
}
