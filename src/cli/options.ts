import { nearNameHint } from '../config/sources/names.ts';
import { CommandFault } from './command.ts';

/** One option of a command; without `value` it is a switch. */
export interface Option {
  readonly name: string;
  /** How help calls the value, such as `SQL`. */
  readonly value?: string;
  /** One letter, written after a single dash. */
  readonly short?: string;
  /** May be given more than once. */
  readonly repeats?: boolean;
  readonly help: string;
}

/** What stood on the command line. */
export interface Given {
  readonly names: readonly string[];
  readonly has: (name: string) => boolean;
  readonly value: (name: string) => string | undefined;
  readonly values: (name: string) => readonly string[];
}

/** Tells names from options. After `--` all are names. */
export function readArguments(argv: readonly string[], options: readonly Option[]): Given {
  const names: string[] = [];
  const found = new Map<string, string[]>();
  const rest = [...argv];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--') names.push(...rest.splice(0));
    else if (isOption(word)) addOption(found, readOption(word, rest, options));
    else names.push(word);
  }
  return {
    names,
    has: (name) => found.has(name),
    value: (name) => found.get(name)?.[0],
    values: (name) => found.get(name) ?? [],
  };
}

/** A dash alone and numbers below zero are names. */
function isOption(word: string): boolean {
  return /^--?[a-z]/i.test(word);
}

interface Read {
  readonly option: Option;
  readonly value: string;
}

function readOption(word: string, rest: string[], options: readonly Option[]): Read {
  // A number may stand right behind a letter: -k5.
  const [flag = '', attached] = word.replace(/^(-[a-z])(?=\d)/i, '$1=').split(/=(.*)/s, 2);
  const option = options.find(({ name, short }) => flag === `--${name}` || flag === `-${short}`);
  if (option === undefined) {
    const known = options.map(({ name }) => `--${name}`);
    const hint = nearNameHint(flag, known) || ` It has ${known.join(', ')}.`;
    throw new CommandFault([`This command has no option ${flag}.${hint}`]);
  }
  if (option.value === undefined) {
    if (attached !== undefined) throw new CommandFault([`${flag} takes no value.`]);
    return { option, value: '' };
  }
  const value = attached ?? rest.shift();
  if (value === undefined || (attached === undefined && value.startsWith('--'))) {
    throw new CommandFault([`${flag} needs a value: ${flag} ${option.value}.`]);
  }
  return { option, value };
}

function addOption(found: Map<string, string[]>, { option, value }: Read): void {
  const earlier = found.get(option.name);
  if (earlier === undefined) found.set(option.name, [value]);
  else if (option.repeats === true) earlier.push(value);
  else throw new CommandFault([`--${option.name} is given twice.`]);
}

/** A whole number within bounds, `undefined` when it was not given. */
export function readNumber(given: Given, name: string, bounds: { readonly minimum: number }): number | undefined {
  const text = given.value(name);
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= bounds.minimum) return value;
  throw new CommandFault([`--${name} must be a whole number from ${bounds.minimum} on, not "${text}".`]);
}
