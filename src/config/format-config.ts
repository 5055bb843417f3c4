import type { Config } from './config.ts';
import { flagOf, variableOf } from './sources/names.ts';
import { settingRows } from './settings/settings.ts';

/** One line per setting: name, value, where it came from. Secrets show only that they are set. */
export function formatConfig(config: Config): string {
  const nameWidth = Math.max(...config.shown.map((setting) => setting.name.length));
  const valueWidth = Math.min(40, Math.max(...config.shown.map((setting) => setting.value.length)));
  const lines = config.shown.map(
    ({ name, value, origin }) => `${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}  ${origin}\n`,
  );
  return lines.join('');
}

/** The settings as the docs list them. */
export function settingsReference() {
  return settingRows().map(([name, { type, range, help, ...setting }]) => ({
    name,
    env: variableOf(name),
    flag: flagOf(name),
    type,
    default: setting.defaultText ?? setting.show(setting.default),
    range,
    help,
  }));
}
