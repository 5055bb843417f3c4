import { DAY, HOUR, KiB, LIMITS, MiB, TiB, bytes, integer, seconds } from '../../model/limits.ts';
import { readIssuers, showIssuer } from './issuers.ts';
import { boolean, choice, json, list, number, options, path, secret, text } from './setting-types.ts';
import type { Setting } from './setting-types.ts';
import * as Rule from './text-rules.ts';

/** All settings except limits. */
export const SERVICE_SETTINGS = {
  config: path({ default: undefined, help: 'JSON file with settings.' }),
  data: path({
    default: './data',
    help: 'Folder of the catalog and, without storage.root, of the tables; also the argument DATA.',
    rule: Rule.readDataFolder,
  }),
  host: text({ default: '127.0.0.1', help: 'Host name or address to listen on.', rule: Rule.readHost }),
  port: number(integer(2333, [0, 65_535], 'Port to listen on; 0 for any free port.')),
  basePath: text({ default: '', help: 'Path in front of every route, such as /lance.', rule: Rule.readBasePath }),
  hostSuffix: text({
    default: undefined,
    help: 'Host names that end with this suffix choose the database: sales.SUFFIX is the database sales.',
    rule: Rule.readHostSuffix,
  }),
  'http.trustedProxies': list(
    [],
    'Proxies, such as 10.0.0.0/8, whose X-Forwarded-For or Forwarded header identifies the client.',
    Rule.readNetwork,
  ),
  'tls.cert': path({ default: undefined, help: 'PEM file with the certificate chain; needs tls.key.' }),
  'tls.key': path({ default: undefined, help: 'PEM file with the private key; needs tls.cert.' }),
  adminKey: secret(
    'API key with all permissions, at least 32 characters; as a flag, other users of the machine can see it.',
    Rule.readSecret,
  ),
  'auth.required': boolean(true, 'Whether every request needs a credential.'),
  'auth.allowOpenNetwork': boolean(false, 'Allows listening beyond this machine without authentication.'),
  'auth.issuers': json({
    range: 'JSON list of issuers',
    help: 'Identity providers whose access tokens are accepted, and what their claims permit.',
    read: readIssuers,
    show: showIssuer,
  }),
  'auth.tokenEndpoint': boolean(true, 'Whether the server issues access tokens to its own OAuth clients, at /oauth.'),
  'auth.issuerUrl': text({
    default: undefined,
    defaultText: 'on a loopback host its own address and /oauth, else none',
    help: 'Address of /oauth as clients see it, such as https://tables.example.com/oauth; needed beyond this machine.',
    rule: Rule.readIssuerUrl,
  }),
  'auth.tokenSeconds': number(integer(900, [60, DAY], 'Lifetime of access tokens that the server issues.')),
  'auth.failuresPerMinuteMax': number(
    integer(20, [1, 10_000], 'Failed sign-ins per minute for one client from one address.'),
  ),
  'auth.tokenBytesMax': number(bytes(16 * KiB, [256, 256 * KiB], 'Longest access token that is accepted.')),
  'auth.clockSkewSeconds': number(seconds(30, [0, 600], 'Allowed clock difference to an issuer.')),
  'auth.keySetCooldownSeconds': number(seconds(30, [1, HOUR], 'Minimum time between two fetches of a key set.')),
  'auth.keySetSeconds': number(seconds(600, [1, DAY], 'How long a fetched key set is used.')),
  'auth.fetchSeconds': number(seconds(5, [0.1, 60], 'Timeout of requests to an issuer.')),
  'storage.root': text({
    default: undefined,
    defaultText: 'the data folder',
    help: 'Where tables are stored: a folder, or an s3://, gs:// or az:// address.',
    rule: Rule.readStorageRoot,
  }),
  'storage.options': options('Options of the storage layer, such as aws_region; values are never shown.'),
  'storage.requestSeconds': number(
    seconds(30, [0.1, HOUR], "Timeout of the server's own requests to an object store."),
  ),
  'storage.requestAttemptsMax': number(
    integer(5, [1, 100], "Maximum attempts of each of the server's own requests to an object store."),
  ),
  'storage.retentionSecondsMin': number(
    seconds(
      600,
      [600, 30 * DAY],
      'On an object store, how long a replaced version is kept at least; longer than the engine retries a commit.',
    ),
  ),
  'storage.vending': choice(
    'off',
    ['off', 'sts'],
    'Credentials for one table of an s3:// root, for callers that ask for vend_credentials: off, or sts (AssumeRole).',
  ),
  'storage.vendingRole': text({
    default: undefined,
    help: 'ARN of the role of vended credentials; required on AWS.',
    rule: Rule.readRole,
  }),
  'storage.vendingEndpoint': text({
    default: undefined,
    defaultText: 'that of AWS for the region, or the endpoint of a compatible store',
    help: 'Address of the STS service.',
    rule: Rule.readHttpAddress,
  }),
  'storage.vendingSeconds': number(integer(900, [900, 12 * HOUR], 'Lifetime of vended credentials.')),
  'storage.sync': choice(
    'full',
    ['full', 'os'],
    'When a write on a local disk is acknowledged: full, once it is on disk; os, once the operating system has it.',
  ),
  'storage.lockSeconds': number(
    seconds(
      5,
      [0, HOUR],
      'How long a start waits for another server on the same folder to exit; one that shuts down gets its drain time.',
    ),
  ),
  'storage.allowedCallerOptions': list([], 'Storage options that callers may set when they create a table.'),
  'storage.pollSeconds': number(
    seconds(5, [0.1, DAY], 'On an object store, how long a commit of an external writer may stay unseen.'),
  ),
  catalogFile: path({
    default: undefined,
    defaultText: 'tiltyard.db in the data folder',
    help: 'File of the SQLite catalog.',
  }),
  'catalog.url': secret(
    'PostgreSQL database of the catalog, in place of catalogFile: postgres://USER:PASSWORD@HOST:PORT/DATABASE.',
    Rule.readCatalogUrl,
  ),
  'catalog.cacheBytes': number(
    bytes(
      64 * MiB,
      [MiB, TiB],
      'Memory for cached lookups in the catalog, such as tables with their properties, and keys.',
    ),
  ),
  'node.url': text({
    default: undefined,
    help: 'Address of this node for other nodes, with the base path, such as http://10.0.0.7:2333.',
    rule: Rule.readHttpAddress,
  }),
  'node.secret': secret(
    'Signs requests between nodes; at least 32 characters, the same on every node.',
    Rule.readSecret,
  ),
  'node.leaseSeconds': number(
    seconds(5, [1, 300], 'How long heartbeats of a node may be missing before other nodes take over its tables.'),
  ),
  'node.forwardsMax': number(integer(256, [1, 100_000], 'Maximum number of writes that this node forwards at once.')),
  'log.level': choice('info', ['error', 'warn', 'info', 'debug'], 'Minimum level of log lines.'),
  'log.format': choice('auto', ['auto', 'json', 'text'], 'Log lines: auto is text on a terminal, else JSON.'),
  'metrics.access': choice(
    'administrators',
    ['administrators', 'everyone', 'off'],
    'Who may read /metrics: administrators, everyone (no credential), or off.',
  ),
  'mcp.enabled': boolean(true, 'Whether /mcp offers the operations as tools of the Model Context Protocol.'),
  'mcp.writes': boolean(
    false,
    'Whether tools may write where the role of the caller allows it; otherwise they are read-only.',
  ),
  'mcp.allowedHosts': list(
    [],
    'Host names, besides those of this machine, that Host and Origin may have at /mcp and where auth.required is off.',
    Rule.readHost,
  ),
  'webhooks.allowHttp': boolean(false, 'Whether webhooks may have http addresses, which send events unencrypted.'),
  'webhooks.allowedNetworks': list(
    [],
    'Private networks, such as 10.1.0.0/16, that webhooks may reach; otherwise only public addresses.',
    Rule.readNetwork,
  ),
  'embeddings.url': text({
    default: undefined,
    defaultText: 'none: no search by meaning',
    help: 'OpenAI-compatible API that embeds texts to search for, such as https://api.openai.com/v1; needs embeddings.models.',
    rule: Rule.readHttpAddress,
  }),
  'embeddings.apiKey': secret('Key of that API, sent as a bearer token.', Rule.readProviderKey),
  'embeddings.models': list([], 'Models of that API that texts may be embedded with; columns name one of them.'),
  watchdogSeconds: number(seconds(10, [0.5, HOUR], 'How long the worker may be unresponsive before it is restarted.')),
};

/** Limits whose settings keep an older public name. */
const OLDER_NAMES: Readonly<Record<string, string>> = {
  'http.unauthenticatedJsonBytesMax': 'http.strangerJsonBytesMax',
  'engine.queueWaitingMax': 'engine.laneWaitingMax',
  'engine.queueWaitSeconds': 'engine.laneWaitSeconds',
  'engine.queueHoldSeconds': 'engine.laneTurnSeconds',
  'engine.orphanedQueriesMax': 'engine.abandonedMax',
  'maintenance.blockingBytesMax': 'maintenance.laneBytesMax',
  'maintenance.scanSeconds': 'maintenance.roundSeconds',
};

/** The name of a limit's setting. */
export function limitSetting(group: string, field: string): string {
  return OLDER_NAMES[`${group}.${field}`] ?? `${group}.${field}`;
}

/** All settings, in the order of the docs. */
export const SETTINGS: ReadonlyMap<string, Setting<unknown>> = new Map<string, Setting<unknown>>([
  ...Object.entries(SERVICE_SETTINGS),
  ...Object.entries(LIMITS).flatMap(([group, limits]) =>
    Object.entries(limits).map(([field, spec]) => [limitSetting(group, field), number(spec)] as const),
  ),
]);

/** By name; the values of limits are numbers. */
export type SettingValues = Readonly<Record<string, unknown>> & {
  readonly [N in keyof typeof SERVICE_SETTINGS]: (typeof SERVICE_SETTINGS)[N] extends Setting<infer T> ? T : never;
};
