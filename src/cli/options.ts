import { nearNameHint } from '../config/sources/names.ts';
import { UsageError } from './command.ts';

/** One option of a command; without `value` it is a switch. */
export interface Option {
  readonly name: string;
  /** How help calls the value, such as `SQL`. */
  readonly value?: string;
  /** One letter, written after a single dash. */
  readonly short?: string;
  readonly repeats?: boolean;
  readonly help: string;
}

export interface Given {
  readonly names: readonly string[];
  readonly has: (name: string) => boolean;
  readonly value: (name: string) => string | undefined;
  readonly values: (name: string) => readonly string[];
}

/**
 * Separates names from options. After `--` all are names.
 * Not `util.parseArgs`: it reads `-5` as an option and `-ky` as `-k y`, and its messages do not say which options exist.
 */
export function readArguments(argv: readonly string[], options: readonly Option[]): Given {
  const names: string[] = [];
  const found = new Map<string, string[]>();
  const rest = [...argv];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    // A dash alone and negative numbers are names.
    const isOption = /^--?[a-z]/i.test(word);
    if (word === '--') names.push(...rest.splice(0));
    else if (isOption) readOption(word, rest, { options, found });
    else names.push(word);
  }
  return {
    names,
    has: (name) => found.has(name),
    value: (name) => found.get(name)?.[0],
    values: (name) => found.get(name) ?? [],
  };
}

interface Reading {
  readonly options: readonly Option[];
  readonly found: Map<string, string[]>;
}

function readOption(word: string, rest: string[], { options, found }: Reading): void {
  // A number may follow a letter directly: -k5.
  const [flag = '', attached] = word.replace(/^(-[a-z])(?=\d)/i, '$1=').split(/=(.*)/s, 2);
  const option = options.find(({ name, short }) => flag === `--${name}` || flag === `-${short}`);
  if (option === undefined) {
    const known = options.map(({ name }) => `--${name}`);
    const hint = nearNameHint(flag, known) || ` It has ${known.join(', ')}.`;
    throw new UsageError(`This command has no option ${flag}.${hint}`);
  }
  const isSwitch = option.value === undefined;
  if (isSwitch && attached !== undefined) throw new UsageError(`${flag} takes no value.`);
  const value = isSwitch ? '' : (attached ?? rest.shift());
  if (value === undefined || (attached === undefined && value.startsWith('--'))) {
    throw new UsageError(`${flag} needs a value: ${flag} ${option.value}.`);
  }
  const earlier = found.get(option.name) ?? [];
  if (earlier.length > 0 && option.repeats !== true) throw new UsageError(`--${option.name} is given twice.`);
  found.set(option.name, [...earlier, value]);
}

/** A whole number of at least `minimum`; `undefined` when it was not given. */
export function readNumber(given: Given, name: string, minimum: number): number | undefined {
  const text = given.value(name);
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= minimum) return value;
  throw new UsageError(`--${name} must be a whole number from ${minimum} on, not "${text}".`);
}

/** Arguments of commands that also take the flags of the settings, such as `--data`. */
export interface SplitArguments {
  readonly names: readonly string[];
  readonly options: Readonly<Record<string, string>>;
  readonly switches: ReadonlySet<string>;
  readonly settings: readonly string[];
}

/** Flags that are not the command's own are left to the settings. */
export function splitArguments(
  argv: readonly string[],
  own: { readonly options?: readonly string[]; readonly switches?: readonly string[] },
): SplitArguments {
  const names: string[] = [];
  const options: Record<string, string> = {};
  const switches = new Set<string>();
  const settings: string[] = [];
  const rest = [...argv];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [flag = '', attached] = word.split(/=(.*)/s, 2);
    const takeValue = (): string | undefined => (rest[0]?.startsWith('--') === false ? rest.shift() : undefined);
    if (!word.startsWith('--')) names.push(word);
    else if (own.switches?.includes(word.slice(2))) switches.add(word.slice(2));
    else if (own.options?.includes(flag.slice(2))) {
      const value = attached ?? takeValue();
      if (value === undefined) throw new UsageError(`${flag} needs a value.`);
      options[flag.slice(2)] = value;
    } else {
      const value = attached === undefined ? takeValue() : undefined;
      settings.push(word, ...(value === undefined ? [] : [value]));
    }
  }
  return { names, options, switches, settings };
}
