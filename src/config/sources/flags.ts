import { quoteForMessage } from '../../model/identifier.ts';
import { addGiven, nearNameHint, flagOf, negativeFlagOf } from './names.ts';
import type { Source } from './names.ts';
import { SETTINGS } from '../settings/settings.ts';

/** Reads `--name value`, `--name=value`, `--switch`, `--switch true`, `--no-switch` and the one argument DATA. */
export function readFlags(argv: readonly string[]): Source {
  const source: Source = { given: [], faults: [] };
  const rest = [...argv];
  let onlyArguments = false;
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (onlyArguments || !word.startsWith('-')) addGiven(source, { name: 'data', origin: 'DATA', raw: word });
    else if (word === '--') onlyArguments = true;
    else readFlag(word, rest, source);
  }
  return source;
}

const FLAGS: ReadonlyMap<string, string> = new Map(Array.from(SETTINGS.keys(), (name) => [flagOf(name), name]));

const SWITCHES_OFF: ReadonlyMap<string, string> = new Map(
  [...SETTINGS].filter(([, { type }]) => type === 'boolean').map(([name]) => [negativeFlagOf(name), name]),
);

/** Takes the value of a flag from `rest`, unless it is attached. */
function readFlag(word: string, rest: string[], source: Source): void {
  const equals = word.indexOf('=');
  const flag = equals === -1 ? word : word.slice(0, equals);
  const attached = equals === -1 ? undefined : word.slice(equals + 1);
  const add = (name: string, raw: unknown): void => addGiven(source, { name, origin: flag, raw });
  const switchedOff = SWITCHES_OFF.get(flag);
  const name = FLAGS.get(flag);
  if (switchedOff !== undefined) {
    if (attached === undefined) add(switchedOff, false);
    else source.faults.push(`${flag} takes no value.`);
  } else if (name === undefined) {
    const hint = nearNameHint(flag, [...FLAGS.keys(), ...SWITCHES_OFF.keys()]);
    source.faults.push(`The flag ${quoteForMessage(flag)} does not exist.${hint}`);
  } else if (attached !== undefined) add(name, attached);
  else if (SETTINGS.get(name)?.type === 'boolean')
    add(name, /^(true|false)$/.test(rest[0] ?? '') ? rest.shift() : true);
  else if (rest[0] === undefined || rest[0].startsWith('--')) source.faults.push(`${flag} needs a value.`);
  else add(name, rest.shift());
}
