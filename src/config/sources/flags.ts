import { quoteForMessage } from '../../model/identifier.ts';
import { addGiven, nearNameHint, flagOf, negativeFlagOf } from './names.ts';
import type { OpenSource, Source } from './names.ts';
import { SETTINGS, settingRows } from '../settings/settings.ts';
import type { SettingName } from '../settings/settings.ts';

/** Reads `--name value`, `--name=value`, `--switch`, `--no-switch` and the one argument DATA. */
export function readFlags(argv: readonly string[]): Source {
  const source: OpenSource = { given: [], faults: [] };
  const rest = [...argv];
  let onlyArguments = false;
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (onlyArguments || !word.startsWith('-')) addGiven(source, { name: 'data', origin: 'DATA', raw: word });
    else if (word === '--') onlyArguments = true;
    else readFlag(word, rest, source);
  }
  return source;
}

const FLAGS: ReadonlyMap<string, SettingName> = new Map(settingRows().map(([name]) => [flagOf(name), name]));

const SWITCHES_OFF: ReadonlyMap<string, SettingName> = new Map(
  settingRows()
    .filter(([, setting]) => setting.type === 'boolean')
    .map(([name]) => [negativeFlagOf(name), name]),
);

/** Takes the value of a flag off `rest` when it is a word of its own. */
function readFlag(word: string, rest: string[], source: OpenSource): void {
  const equals = word.indexOf('=');
  const flag = equals === -1 ? word : word.slice(0, equals);
  const attached = equals === -1 ? undefined : word.slice(equals + 1);
  const name = FLAGS.get(flag);
  const switchedOff = SWITCHES_OFF.get(flag);
  if (switchedOff !== undefined && attached === undefined) {
    addGiven(source, { name: switchedOff, origin: flag, raw: false });
  } else if (switchedOff !== undefined) {
    source.faults.push(`${flag} takes no value.`);
  } else if (name === undefined) {
    const hint = nearNameHint(flag, [...FLAGS.keys(), ...SWITCHES_OFF.keys()]);
    source.faults.push(`There is no flag ${quoteForMessage(flag)}.${hint}`);
  } else {
    readValue({ name, origin: flag, attached }, rest, source);
  }
}

interface NamedFlag {
  readonly name: SettingName;
  readonly origin: string;
  readonly attached: string | undefined;
}

function readValue(flag: NamedFlag, rest: string[], source: OpenSource): void {
  const { name, origin, attached } = flag;
  if (attached !== undefined) addGiven(source, { name, origin, raw: attached });
  else if (SETTINGS[name].type === 'boolean') addGiven(source, { name, origin, raw: true });
  else if (rest[0] === undefined || rest[0].startsWith('--')) source.faults.push(`${origin} needs a value.`);
  else addGiven(source, { name, origin, raw: rest.shift() });
}
