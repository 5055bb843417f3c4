import type { Config } from './config.ts';
import { flagOf, variableOf } from './sources/names.ts';
import { settingRows } from './settings/settings.ts';
import type { SettingName } from './settings/settings.ts';
import type { Setting, SettingType } from './settings/readings.ts';

/** One line per setting: name, value, where it came from. Secrets show only that they are set. */
export function formatConfig(config: Config): string {
  const nameWidth = Math.max(...config.shown.map((setting) => setting.name.length));
  const valueWidth = Math.min(40, Math.max(...config.shown.map((setting) => setting.value.length)));
  const lines = config.shown.map(
    ({ name, value, origin }) => `${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}  ${origin}\n`,
  );
  return lines.join('');
}

/** A setting as the docs list it. */
export interface SettingReference {
  readonly name: SettingName;
  readonly env: string;
  readonly flag: string;
  readonly type: SettingType;
  readonly default: string;
  readonly range: string;
  readonly help: string;
}

export function settingsReference(): readonly SettingReference[] {
  return settingRows().map(([name, setting]) => ({
    name,
    env: variableOf(name),
    flag: flagOf(name),
    type: setting.type,
    default: defaultText(setting),
    range: setting.range,
    help: setting.help,
  }));
}

function defaultText(setting: Setting<unknown>): string {
  return setting.defaultText ?? setting.show(setting.default);
}
