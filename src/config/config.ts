import type { Limits } from '../model/limits.ts';
import type { IssuerSettings } from '../model/access.ts';
import { LIMIT_SETTINGS, RENAMED_LIMITS, SETTING_NAMES } from './settings/settings.ts';
import type { SettingName, SettingValues } from './settings/settings.ts';
import { isLoopback } from './settings/text-rules.ts';

/** All that the service was told, read once and checked whole. Plain data, so that it can be sent to the worker. */
export interface Config {
  readonly data: string;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Empty, or `/x/y`. */
  readonly basePath: string;
  readonly hostSuffix: string | undefined;
  readonly tls: TlsConfig | undefined;
  /** Secret: never to be logged. */
  readonly adminKey: string | undefined;
  readonly auth: AuthConfig;
  readonly storage: StorageConfig;
  readonly catalogFile: string;
  readonly log: LogConfig;
  readonly metrics: MetricsConfig;
  readonly watchdogSeconds: number;
  readonly limits: Limits;
  /** Every setting as an operator may see it. */
  readonly shown: readonly ShownSetting[];
}

export interface TlsConfig {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface AuthConfig {
  readonly required: boolean;
  readonly allowOpenNetwork: boolean;
  readonly issuers: readonly IssuerSettings[];
  readonly tokenEndpoint: boolean;
  readonly issuerUrl: string | undefined;
  readonly tokenSeconds: number;
  readonly failuresPerMinuteMax: number;
  readonly tokenBytesMax: number;
  readonly clockSkewSeconds: number;
  readonly keySetCooldownSeconds: number;
  readonly keySetSeconds: number;
  readonly fetchSeconds: number;
}

export interface StorageConfig {
  /** An absolute folder, or the address of an object store. */
  readonly root: string;
  /** Values may be secret: never to be logged. */
  readonly options: Readonly<Record<string, string>>;
  readonly allowedCallerOptions: readonly string[];
  /** Of local storage; object stores keep what they have acknowledged. */
  readonly sync: 'full' | 'os';
  /** How long a start waits for another server that uses the same folder. */
  readonly lockSeconds: number;
}

export interface LogConfig {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly format: 'auto' | 'json' | 'text';
}

export interface MetricsConfig {
  readonly access: 'administrators' | 'everyone' | 'off';
}

/** `origin` is a flag, a variable, a place in the file, or `default`. */
export interface ShownSetting {
  readonly name: SettingName;
  readonly value: string;
  readonly origin: string;
}

/** Values whose paths are absolute, and whose derived defaults are filled in. */
export type ResolvedValues = SettingValues & { readonly 'storage.root': string; readonly catalogFile: string };

/** Takes values that have been checked together. */
export function toConfig(values: ResolvedValues, shown: readonly ShownSetting[]): Config {
  const { 'tls.cert': certFile, 'tls.key': keyFile } = values;
  return freezeDeep({
    data: values.data,
    host: values.host,
    port: values.port,
    basePath: values.basePath,
    hostSuffix: values.hostSuffix,
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    adminKey: values.adminKey,
    auth: toAuthConfig(values),
    storage: {
      root: values['storage.root'],
      options: values['storage.options'],
      allowedCallerOptions: values['storage.allowedCallerOptions'],
      sync: values['storage.sync'],
      lockSeconds: values['storage.lockSeconds'],
    },
    catalogFile: values.catalogFile,
    log: { level: values['log.level'], format: values['log.format'] },
    metrics: { access: values['metrics.access'] },
    watchdogSeconds: values.watchdogSeconds,
    limits: toLimits(values),
    shown,
  });
}

/** Structured cloning loses frozenness: whoever receives a Config from another process freezes it again. */
export function freezeDeep<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freezeDeep(part);
  }
  return value;
}

function toAuthConfig(values: SettingValues): AuthConfig {
  return {
    required: values['auth.required'],
    allowOpenNetwork: values['auth.allowOpenNetwork'],
    issuers: values['auth.issuers'],
    tokenEndpoint: values['auth.tokenEndpoint'],
    issuerUrl: values['auth.issuerUrl'],
    tokenSeconds: values['auth.tokenSeconds'],
    failuresPerMinuteMax: values['auth.failuresPerMinuteMax'],
    tokenBytesMax: values['auth.tokenBytesMax'],
    clockSkewSeconds: values['auth.clockSkewSeconds'],
    keySetCooldownSeconds: values['auth.keySetCooldownSeconds'],
    keySetSeconds: values['auth.keySetSeconds'],
    fetchSeconds: values['auth.fetchSeconds'],
  };
}

function toLimits(values: SettingValues): Limits {
  const groups: Record<string, Record<string, number>> = {};
  const renamed: Readonly<Record<string, string>> = RENAMED_LIMITS;
  for (const name of SETTING_NAMES.filter(isLimitName)) {
    const [group = '', field = ''] = name.split('.');
    (groups[group] ??= {})[renamed[name] ?? field] = values[name];
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- LIMIT_SETTINGS has exactly the fields of Limits.
  return groups as unknown as Limits;
}

function isLimitName(name: SettingName): name is keyof typeof LIMIT_SETTINGS {
  return Object.hasOwn(LIMIT_SETTINGS, name);
}

/** Where the token endpoint stands below the base path. */
export const TOKEN_ENDPOINT_PATH = '/oauth';

/**
 * The address of our own token endpoint, or `undefined` when there is none. It is never taken from a request: whoever
 * sends one chooses its host, and clients send their secrets to the address that the discovery document names.
 */
export function findOwnIssuer(config: Config): string | undefined {
  const { auth, host, port, tls, basePath } = config;
  if (!auth.tokenEndpoint) return undefined;
  if (auth.issuerUrl !== undefined) return auth.issuerUrl;
  if (!isLoopback(host)) return undefined;
  const shown = host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${shown}:${port}${basePath}${TOKEN_ENDPOINT_PATH}`;
}
