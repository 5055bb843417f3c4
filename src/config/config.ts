import { isLoopback } from '../model/address.ts';
import { LIMITS } from '../model/limits.ts';
import type { Limits } from '../model/limits.ts';
import { SERVICE_SETTINGS, SETTINGS, limitSetting } from './settings/settings.ts';
import type { SettingValues } from './settings/settings.ts';
import { flagOf, variableOf } from './sources/names.ts';

/** Values with absolute paths, and with derived defaults filled in. */
export type ResolvedValues = SettingValues & { readonly 'storage.root': string; readonly catalogFile: string };

/** The settings `<name>.…` without their common prefix. */
type Group<Name extends string> = {
  readonly [
    N in keyof typeof SERVICE_SETTINGS as N extends `${Name}.${infer Field}` ? Field : never
  ]: ResolvedValues[N];
};

type Plain = 'data' | 'host' | 'port' | 'basePath' | 'hostSuffix' | 'adminKey' | 'catalogFile' | 'watchdogSeconds';

/**
 * All settings, read once and checked together. Plain data, so that it can be sent to the worker. `adminKey`,
 * `catalog.url`, `node.secret`, `embeddings.apiKey` and the values of `storage.options` are secret: never log them.
 */
export interface Config extends Pick<ResolvedValues, Plain> {
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly http: Group<'http'>;
  readonly auth: Group<'auth'>;
  readonly storage: Group<'storage'>;
  /** With a `url`, the catalog is there instead of in `catalogFile`. */
  readonly catalog: Group<'catalog'>;
  /** With a `url`, this server is one of several nodes. */
  readonly node: Group<'node'>;
  readonly log: Group<'log'>;
  readonly metrics: Group<'metrics'>;
  readonly mcp: Group<'mcp'>;
  readonly webhooks: Group<'webhooks'>;
  /** Without a `url` there is no provider. */
  readonly embeddings: Group<'embeddings'>;
  readonly limits: Limits;
  /** Every setting in a form that operators may see. */
  readonly shown: readonly ShownSetting[];
}

/** `origin` is a flag, a variable, a key of the file, or `default`. */
export interface ShownSetting {
  readonly name: string;
  readonly value: string;
  readonly origin: string;
}

/** The values must have been validated together. */
export function toConfig(values: ResolvedValues, shown: readonly ShownSetting[]): Config {
  const { data, host, port, basePath, hostSuffix, adminKey, catalogFile, watchdogSeconds } = values;
  const plain = { data, host, port, basePath, hostSuffix, adminKey, catalogFile, watchdogSeconds };
  const { 'tls.cert': certFile, 'tls.key': keyFile } = values;
  return freezeDeep({
    ...plain,
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    http: group(values, 'http'),
    auth: group(values, 'auth'),
    storage: group(values, 'storage'),
    catalog: group(values, 'catalog'),
    node: group(values, 'node'),
    log: group(values, 'log'),
    metrics: group(values, 'metrics'),
    mcp: group(values, 'mcp'),
    webhooks: group(values, 'webhooks'),
    embeddings: group(values, 'embeddings'),
    limits: limitsOf(values),
    shown,
  });
}

function group<Name extends string>(values: ResolvedValues, groupName: Name): Group<Name> {
  const names = Object.keys(SERVICE_SETTINGS).filter((name) => name.startsWith(`${groupName}.`));
  const fields = names.map((name) => [name.slice(groupName.length + 1), values[name]] as const);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The same names as in the type.
  return Object.fromEntries(fields) as Group<Name>;
}

function limitsOf(values: ResolvedValues): Limits {
  const groups = Object.entries(LIMITS).map(([groupName, limits]) => {
    const fields = Object.keys(limits).map((field) => [field, values[limitSetting(groupName, field)]] as const);
    return [groupName, Object.fromEntries(fields)] as const;
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Every field of LIMITS has the value of its setting.
  return Object.fromEntries(groups) as Limits;
}

/** Structured cloning does not preserve frozenness, so a Config from another process is frozen again. */
export function freezeDeep<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freezeDeep(part);
  }
  return value;
}

/** The path of the token endpoint, relative to the base path. */
export const TOKEN_ENDPOINT_PATH = '/oauth';

/**
 * The address of our own token endpoint, or `undefined` without one. Never taken from a request: its sender chooses the
 * host, and clients send their secrets to the address in the discovery document.
 */
export function findOwnIssuer(config: Config): string | undefined {
  const { auth, host } = config;
  if (!auth.tokenEndpoint) return undefined;
  if (auth.issuerUrl !== undefined) return auth.issuerUrl;
  return isLoopback(host) ? `${localUrlOf(config, config)}${TOKEN_ENDPOINT_PATH}` : undefined;
}

/** For programs on this machine. A server that listens on all addresses also listens on the loopback address. */
export function localUrlOf({ tls, basePath }: Config, { host, port }: Pick<Config, 'host' | 'port'>): string {
  const local = isEveryAddress(host) ? '127.0.0.1' : host;
  return `${tls === undefined ? 'http' : 'https'}://${local.includes(':') ? `[${local}]` : local}:${port}${basePath}`;
}

export function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** One line per setting: name, value, origin. Secrets only show that they are set. */
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
  return Array.from(SETTINGS, ([name, { type, range, help, ...setting }]) => ({
    name,
    env: variableOf(name),
    flag: flagOf(name),
    type,
    default: setting.defaultText ?? setting.show(setting.default),
    range,
    help,
  }));
}
