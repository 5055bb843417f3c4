import { nearestName } from '../model/field-path.ts';
import { UsageError } from './command.ts';

/** One option of a command; without `value` it is a switch. */
export interface Option {
  readonly name: string;
  /** The name of the value in the help, such as `SQL`. */
  readonly value?: string;
  /** One letter, used after a single dash. */
  readonly short?: string;
  readonly repeats?: boolean;
  readonly help: string;
}

export interface Given {
  readonly names: readonly string[];
  /** Names and values of options. */
  readonly words: readonly string[];
  readonly has: (name: string) => boolean;
  readonly value: (name: string) => string | undefined;
  readonly values: (name: string) => readonly string[];
}

/**
 * Separates names from options. After `--` all words are names. Does not use `util.parseArgs`, which parses `-5` as an
 * option and `-ky` as `-k y`, and whose messages do not list the options.
 */
export function readArguments(argv: readonly string[], options: readonly Option[]): Given {
  const names: string[] = [];
  const found = new Map<string, string[]>();
  const rest = [...argv];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    // A single dash and negative numbers are names.
    const isOption = /^--?[a-z]/i.test(word);
    if (word === '--') names.push(...rest.splice(0));
    else if (isOption) {
      const [{ name, repeats }, value] = readOption(word, rest, options);
      const earlier = found.get(name) ?? [];
      if (earlier.length > 0 && repeats !== true) throw new UsageError(`--${name} was given twice.`);
      found.set(name, [...earlier, value]);
    } else names.push(word);
  }
  return toGiven(names, found);
}

function toGiven(names: readonly string[], found: ReadonlyMap<string, readonly string[]>): Given {
  return {
    names,
    words: [...names, ...Array.from(found.values()).flat()],
    has: (name) => found.has(name),
    value: (name) => found.get(name)?.[0],
    values: (name) => found.get(name) ?? [],
  };
}

/** The option that a word names, and its value, which may be the next word. */
function readOption(word: string, rest: string[], options: readonly Option[]): readonly [Option, string] {
  // A number may directly follow a letter: -k5.
  const [flag = '', attached] = word.replace(/^(-[a-z])(?=\d)/i, '$1=').split(/=(.*)/s, 2);
  const option = options.find(({ name, short }) => flag === `--${name}` || flag === `-${short}`);
  if (option === undefined) {
    const known = options.map(({ name }) => name);
    const near = findMeant(flag.replace(/^-+/, ''), known);
    const list = known.map((name) => `--${name}`).join(', ');
    throw new UsageError(
      `This command has no option ${flag}. ${near === undefined ? `Its options are ${list}.` : `Did you mean --${near}?`}`,
    );
  }
  const isSwitch = option.value === undefined;
  if (isSwitch && attached !== undefined) throw new UsageError(`${flag} takes no value.`);
  const value = isSwitch ? '' : (attached ?? rest.shift());
  if (value === undefined || (attached === undefined && value.startsWith('--'))) {
    throw new UsageError(`${flag} needs a value: ${flag} ${option.value}.`);
  }
  return [option, value];
}

/** Names that other programs use for these options. */
const SYNONYMS: Readonly<Record<string, string>> = {
  filter: 'where',
  predicate: 'where',
  columns: 'select',
  sort: 'order-by',
  version: 'at',
};

function findMeant(name: string, known: readonly string[]): string | undefined {
  const synonym = Object.hasOwn(SYNONYMS, name) ? SYNONYMS[name] : undefined;
  return synonym !== undefined && known.includes(synonym) ? synonym : nearestName(name, known);
}

/** A whole number of at least `minimum`; `undefined` if not given. */
export function readNumber(given: Given, name: string, minimum: number): number | undefined {
  const text = given.value(name);
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= minimum) return value;
  throw new UsageError(`--${name} must be a whole number of at least ${minimum}, not "${text}".`);
}

/** The recall target of a search or an index; `undefined` if not given. */
export function readRecall(given: Given): number | undefined {
  const text = given.value('recall');
  if (text === undefined) return undefined;
  const recall = Number(text);
  if (recall > 0 && recall <= 1) return recall;
  throw new UsageError(`--recall must be above 0 and at most 1, such as 0.95, not "${text}".`);
}

/** One of the choices; `undefined` if not given. */
export function readOneOf<Choice extends string>(given: Given, name: string, choices: readonly Choice[]) {
  const text = given.value(name);
  const choice = choices.find((each) => each === text);
  if (text === undefined || choice !== undefined) return choice;
  throw new UsageError(`--${name} must be one of ${choices.join(', ')}.`);
}

/** Arguments of commands that also accept the flags of settings, such as `--data`. */
export interface SplitArguments extends Given {
  readonly settings: readonly string[];
}

/** Flags that are not the command's own are passed to the settings. */
export function splitArguments(
  argv: readonly string[],
  own: readonly { readonly name: string; readonly value?: string | undefined }[],
): SplitArguments {
  const names: string[] = [];
  const found = new Map<string, string[]>();
  const settings: string[] = [];
  const rest = [...argv];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [flag = '', attached] = word.split(/=(.*)/s, 2);
    const takeValue = (): string | undefined => (rest[0]?.startsWith('--') === false ? rest.shift() : undefined);
    const option = own.find(({ name, value }) => `--${name}` === (value === undefined ? word : flag));
    if (!word.startsWith('--')) names.push(word);
    else if (option === undefined) {
      const value = attached === undefined ? takeValue() : undefined;
      settings.push(word, ...(value === undefined ? [] : [value]));
    } else {
      const value = option.value === undefined ? '' : (attached ?? takeValue());
      if (value === undefined) throw new UsageError(`${flag} needs a value.`);
      found.set(option.name, [value]);
    }
  }
  return { ...toGiven(names, found), settings };
}
