import type { Limits } from '../model/limits.ts';
import { LIMIT_SETTINGS, RENAMED_LIMITS, SERVICE_SETTINGS, SETTING_NAMES, settingRows } from './settings/settings.ts';
import type { SettingName, SettingValues } from './settings/settings.ts';
import { isLoopback } from '../model/address.ts';
import { flagOf, variableOf } from './sources/names.ts';

/** Values whose paths are absolute, and whose derived defaults are filled in. */
export type ResolvedValues = SettingValues & { readonly 'storage.root': string; readonly catalogFile: string };

/** The settings `<name>.…` without their common prefix. */
type Group<Name extends string> = {
  readonly [
    N in keyof typeof SERVICE_SETTINGS as N extends `${Name}.${infer Field}` ? Field : never
  ]: ResolvedValues[N];
};

type Plain = 'data' | 'host' | 'port' | 'basePath' | 'hostSuffix' | 'adminKey' | 'catalogFile' | 'watchdogSeconds';

/**
 * All settings, read once and checked together. Plain data, so that it can be sent to the worker. `adminKey` and the
 * values of `storage.options` are secret: never log them.
 */
export interface Config extends Pick<ResolvedValues, Plain> {
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly auth: Group<'auth'>;
  readonly storage: Group<'storage'>;
  readonly log: Group<'log'>;
  readonly metrics: Group<'metrics'>;
  readonly limits: Limits;
  /** Every setting as an operator may see it. */
  readonly shown: readonly ShownSetting[];
}

/** `origin` is a flag, a variable, a key of the file, or `default`. */
export interface ShownSetting {
  readonly name: SettingName;
  readonly value: string;
  readonly origin: string;
}

/** Takes values that have been checked together. */
export function toConfig(values: ResolvedValues, shown: readonly ShownSetting[]): Config {
  const { 'tls.cert': certFile, 'tls.key': keyFile } = values;
  return freezeDeep({
    data: values.data,
    host: values.host,
    port: values.port,
    basePath: values.basePath,
    hostSuffix: values.hostSuffix,
    adminKey: values.adminKey,
    catalogFile: values.catalogFile,
    watchdogSeconds: values.watchdogSeconds,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- These are the groups of SERVICE_SETTINGS.
    ...(group(values, SERVICE_SETTINGS) as Pick<Config, 'auth' | 'storage' | 'log' | 'metrics'>),
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- LIMIT_SETTINGS has exactly the fields of Limits.
    limits: group(values, LIMIT_SETTINGS) as Limits,
    shown,
  });
}

/** `auth.required` becomes the field `required` of `auth`. */
function group(values: ResolvedValues, settings: object): unknown {
  const groups: Record<string, Record<string, unknown>> = {};
  const renamed: Readonly<Record<string, string>> = RENAMED_LIMITS;
  for (const name of SETTING_NAMES.filter((each) => Object.hasOwn(settings, each))) {
    const [groupName = '', field] = name.split('.');
    if (field !== undefined) (groups[groupName] ??= {})[renamed[name] ?? field] = values[name];
  }
  return groups;
}

/** Structured cloning loses frozenness: a Config from another process is frozen again. */
export function freezeDeep<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freezeDeep(part);
  }
  return value;
}

/** Of the token endpoint, below the base path. */
export const TOKEN_ENDPOINT_PATH = '/oauth';

/**
 * The address of our own token endpoint, or `undefined` when there is none. It is never taken from a request: its sender
 * chooses the host, and clients send their secrets to the address in the discovery document.
 */
export function findOwnIssuer(config: Config): string | undefined {
  const { auth, host, port, tls, basePath } = config;
  if (!auth.tokenEndpoint) return undefined;
  if (auth.issuerUrl !== undefined) return auth.issuerUrl;
  if (!isLoopback(host)) return undefined;
  const shown = host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${shown}:${port}${basePath}${TOKEN_ENDPOINT_PATH}`;
}

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
