import { resolve } from 'node:path';
import { toConfig } from './config.ts';
import type { Config, ResolvedValues, ShownSetting } from './config.ts';
import { readConfigFile } from './sources/config-file.ts';
import { readEnvironment } from './sources/environment.ts';
import { readFlags } from './sources/flags.ts';
import type { Given, Source } from './sources/names.ts';
import { isObjectStore } from './settings/text-rules.ts';
import { isLoopback } from '../model/address.ts';
import { SETTINGS } from './settings/settings.ts';
import type { SettingValues } from './settings/settings.ts';

export interface ConfigInput {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly readFile: (path: string) => string;
  /** The base of relative paths, even in a file; by default the working folder of the process. */
  readonly workingFolder?: string;
}

export type LoadedConfig = { readonly config: Config } | { readonly faults: readonly string[] };

/** A flag overrides a variable, and a variable the file. Overridden values are validated too. */
export function loadConfig(input: ConfigInput): LoadedConfig {
  const folder = input.workingFolder ?? process.cwd();
  const sources = readSources(input, folder);
  const reading = readValues(sources.flatMap((source) => source.given));
  const values = resolveValues(reading.values, folder);
  const faults = [
    ...sources.flatMap((source) => source.faults),
    ...reading.faults,
    ...checkTogether(values, reading.origins),
  ];
  return faults.length > 0 ? { faults } : { config: toConfig(values, showValues(values, reading.origins)) };
}

/** Later sources override earlier ones. */
function readSources(input: ConfigInput, folder: string): readonly Source[] {
  const flags = readFlags(input.argv);
  const environment = readEnvironment(input.env, (path) => input.readFile(resolve(folder, path)));
  const file = [...environment.given, ...flags.given].findLast((given) => given.name === 'config')?.raw;
  if (typeof file !== 'string' || file === '') return [environment, flags];
  return [readConfigFile(resolve(folder, file), input.readFile), environment, flags];
}

/** Replaces an invalid value by its default, so that later checks can still run. */
function readValues(given: readonly Given[]) {
  const values: Record<string, unknown> = {};
  const origins = new Map<string, string>();
  const faults: string[] = [];
  for (const [name, setting] of SETTINGS) {
    values[name] = setting.default;
    for (const { origin, raw } of given.filter((each) => each.name === name)) {
      const reading = setting.read(raw);
      if ('faults' in reading) {
        faults.push(...reading.faults.map((fault) => toSentence(origin, fault)));
      } else {
        values[name] = reading.value;
        origins.set(name, origin);
      }
    }
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Each value came from its own setting.
  return { values: values as SettingValues, origins, faults };
}

/** Faults inside a JSON value begin with their path: `auth.issuers[0].role must be …`. */
function toSentence(origin: string, fault: string): string {
  const sentence = fault.startsWith('[') ? `${origin}${fault}` : `${origin} ${fault}`;
  return sentence.endsWith('.') ? sentence : `${sentence}.`;
}

function resolveValues(values: SettingValues, folder: string): ResolvedValues {
  const absolute = (path: string | undefined): string | undefined =>
    path === undefined ? path : resolve(folder, path);
  const data = resolve(folder, values.data);
  const root = values['storage.root'] ?? data;
  return {
    ...values,
    config: absolute(values.config),
    data,
    'tls.cert': absolute(values['tls.cert']),
    'tls.key': absolute(values['tls.key']),
    'storage.root': isObjectStore(root) ? root : resolve(folder, root),
    catalogFile: resolve(folder, values.catalogFile ?? resolve(data, 'tiltyard.db')),
  };
}

function checkTogether(values: ResolvedValues, origins: ReadonlyMap<string, string>): readonly string[] {
  const faults: string[] = [];
  if ((values['tls.cert'] === undefined) !== (values['tls.key'] === undefined)) {
    faults.push('tls.cert and tls.key go together: give both or neither.');
  }
  if (values['auth.issuers'].some(({ issuer }) => issuer === values['auth.issuerUrl'])) {
    faults.push('auth.issuerUrl is also in auth.issuers: each address can belong to only one issuer.');
  }
  if (!isLoopback(values.host) && !values['auth.required'] && !values['auth.allowOpenNetwork']) {
    faults.push(
      `Without authentication, anyone who can reach ${values.host} could use the server. Keep auth.required, listen on a loopback host, ` +
        'or set auth.allowOpenNetwork if this is intended.',
    );
  }
  if (values['catalog.url'] !== undefined && origins.has('catalogFile')) {
    faults.push('catalog.url and catalogFile are two different catalogs: give only one of them.');
  }
  return [...faults, ...checkNode(values), ...checkEmbeddings(values)];
}

/** Texts are only embedded with models that the operator has named: some cost a hundred times as much as others. */
function checkEmbeddings(values: ResolvedValues): readonly string[] {
  const { 'embeddings.url': url, 'embeddings.apiKey': key, 'embeddings.models': models } = values;
  if (url === undefined && (key !== undefined || models.length > 0)) {
    return ['embeddings.apiKey and embeddings.models need embeddings.url, the address of the API.'];
  }
  if (url === undefined || models.length > 0) return [];
  return ['embeddings.url needs embeddings.models: name the models that texts may be embedded with.'];
}

/** Settings that several nodes need to share. */
function checkNode(values: ResolvedValues): readonly string[] {
  const { 'node.url': url, 'node.secret': key, 'storage.root': root } = values;
  const faults: string[] = [];
  if ((url === undefined) !== (key === undefined)) {
    faults.push('node.url and node.secret go together: give both, or neither for a single node.');
  }
  if (url === undefined) return faults;
  if (values['catalog.url'] === undefined) {
    faults.push(
      'node.url needs catalog.url: a SQLite catalog supports only one node. Set catalog.url to a PostgreSQL database that ' +
        'all nodes can reach, or omit node.url.',
    );
  }
  if (!isObjectStore(root)) {
    faults.push(
      `node.url needs a storage root that all nodes share, and ${root} is a local folder. Set storage.root to an ` +
        's3://, gs:// or az:// address, or omit node.url.',
    );
  }
  return faults;
}

function showValues(values: SettingValues, origins: ReadonlyMap<string, string>): readonly ShownSetting[] {
  return Array.from(SETTINGS, ([name, setting]) => ({
    name,
    value: setting.show(values[name]),
    origin: origins.get(name) ?? 'default',
  }));
}
