/** `arrow.columnsMax` is `TILTYARD_ARROW_COLUMNS_MAX` in the environment and `--arrow-columns-max` as a flag. */
export const VARIABLE_PREFIX = 'TILTYARD_';

export function variableOf(settingName: string): string {
  return VARIABLE_PREFIX + wordsOf(settingName).join('_').toUpperCase();
}

export function flagOf(settingName: string): string {
  return `--${wordsOf(settingName).join('-')}`;
}

/** The flag that turns a boolean setting off. */
export function negativeFlagOf(settingName: string): string {
  return `--no-${wordsOf(settingName).join('-')}`;
}

function wordsOf(settingName: string): string[] {
  return settingName.replace(/[A-Z]/g, (letter) => `.${letter.toLowerCase()}`).split('.');
}
