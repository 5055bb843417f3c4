import { invalidInput } from '../errors/service-error.ts';
import type { ServiceError } from '../errors/service-error.ts';
import { COMPUTED_KEY } from '../model/schema.ts';
import { VIEW_PROPERTY, VIEW_STATE_PROPERTY } from '../model/derived/view.ts';
import { quoteForMessage } from '../model/identifier.ts';
import type { MetadataLimits } from '../model/limits.ts';
import { MANAGED_PROPERTY } from '../model/table.ts';
import { formatByteLimit, formatCount } from '../model/value-text.ts';

/** Keys that control the storage format: a wrong value makes the table unreadable. */
const RESERVED_KEY = /^(?:lance[-:]|packed$|arrow:extension:|computed_(?:column|refresh)(?:\.|$))/i;
/** Reserved for the service. */
const OWN_KEYS: ReadonlySet<string> = new Set([COMPUTED_KEY]);

type Entries = Readonly<Record<string, string | null>>;

const STORAGE_VALUE_BYTES_MAX = 1024;
const HINT_KEYS_MAX = 20;
const BOOLEAN = /^(?:true|false)$/;
const COUNT = /^[0-9]$/;
const SECONDS = /^[0-9]{1,3}$/;
const DURATION = /^[0-9]{1,5} ?(?:ms|s|m)$/;

/** Storage options that define how a table is written, never where or with which identity, and their valid values. */
const WRITE_OPTIONS: ReadonlyMap<string, RegExp> = new Map([
  ['new_table_data_storage_version', /^(?:2\.[0-2]|stable)$/],
  ['new_table_enable_v2_manifest_paths', BOOLEAN],
  ['new_table_enable_stable_row_ids', BOOLEAN],
  ['timeout', DURATION],
  ['connect_timeout', DURATION],
  ['download_retry_count', COUNT],
  ['client_max_retries', COUNT],
  ['client_retry_timeout', SECONDS],
]);

export function isReservedKey(key: string): boolean {
  return RESERVED_KEY.test(key) || OWN_KEYS.has(key);
}

/** `null` deletes a key. */
export function guardMetadata(entries: Entries, field: string, limits: MetadataLimits): void {
  checkSize(entries, field, limits, limits.entriesMax);
  for (const key of Object.keys(entries)) {
    if (OWN_KEYS.has(key)) {
      const hint = 'To define a computed column, add it with "computed".';
      throw invalidInput(`The key ${quoteForMessage(key)} in ${field} is reserved: only the server sets it.`, hint);
    }
    if (!isReservedKey(key)) continue;
    throw invalidInput(
      `The key ${quoteForMessage(key)} in ${field} belongs to the storage format and could make the table unreadable.`,
      'Choose a key that does not start with lance-, lance:, ARROW:extension: or computed_column, and is not packed.',
    );
  }
}

export function guardProperties(properties: Entries, field: string, limits: MetadataLimits): void {
  checkSize(properties, field, limits, limits.propertiesMax);
  const total = Object.entries(properties).flat().join('');
  const bytes = Buffer.byteLength(total);
  if (bytes <= limits.propertiesBytesMax) return;
  const allowed = formatByteLimit(limits.propertiesBytesMax);
  throw invalidInput(`${field} has ${formatCount(bytes)} bytes in total; at most ${allowed} are allowed.`);
}

/** Metadata of a version: its total size is bounded, because replies list many versions. */
export function guardVersionMetadata(metadata: Readonly<Record<string, string>>, limits: MetadataLimits): void {
  checkSize(metadata, 'metadata', limits, limits.entriesMax);
  requireBytes(Object.entries(metadata).flat().join(''), limits.versionBytesMax, 'metadata');
}

/**
 * Like `guardProperties`, for a table, one of whose properties is a switch. Existing properties count towards the
 * limits too.
 */
export function guardTableProperties(properties: Entries, limits: MetadataLimits, present: Entries = {}): void {
  guardProperties({ ...present, ...properties }, 'properties', limits);
  const own = Object.keys(properties).find((key) => key === VIEW_PROPERTY || key === VIEW_STATE_PROPERTY);
  if (own !== undefined) {
    const hint = 'Create a materialized view: its properties are set automatically.';
    throw invalidInput(`The property ${quoteForMessage(own)} is reserved: only the server sets it.`, hint);
  }
  const managed = properties[MANAGED_PROPERTY] ?? 'false';
  if (BOOLEAN.test(managed)) return;
  throw invalidInput(
    `The property ${MANAGED_PROPERTY} is ${quoteForMessage(managed)}.`,
    'It must be "true" or "false".',
  );
}

/**
 * Allows only known options: an option with an endpoint could send the service's own credentials to a third party. The
 * storage layer ignores the case of keys. The administrator sets `allowed`.
 */
export function guardStorageOptions(options: Readonly<Record<string, string>>, allowed: readonly string[]): void {
  const alsoAllowed = new Set(allowed.map((key) => key.toLowerCase()));
  for (const [key, value] of Object.entries(options)) {
    const name = key.toLowerCase();
    const values = WRITE_OPTIONS.get(name);
    const isAllowed = alsoAllowed.has(name);
    if (values === undefined && !isAllowed) throw unknownOption(key, allowed);
    const fits = isAllowed ? Buffer.byteLength(value) <= STORAGE_VALUE_BYTES_MAX : values?.test(value) === true;
    if (fits) continue;
    throw invalidInput(`The value of ${quoteForMessage(key)} in storage_options is not valid.`);
  }
}

function checkSize(entries: Entries, field: string, limits: MetadataLimits, countMax: number): void {
  const pairs = Object.entries(entries);
  if (pairs.length > countMax) {
    throw invalidInput(
      `${field} has ${formatCount(pairs.length)} entries; at most ${formatCount(countMax)} are allowed.`,
    );
  }
  for (const [key, value] of pairs) {
    requireBytes(key, limits.keyBytesMax, `The key ${quoteForMessage(key)} in ${field}`);
    requireBytes(value ?? '', limits.valueBytesMax, `The value of ${quoteForMessage(key)} in ${field}`);
  }
}

function requireBytes(text: string, bytesMax: number, what: string): void {
  if (Buffer.byteLength(text) > bytesMax) throw invalidInput(`${what} is longer than ${formatByteLimit(bytesMax)}.`);
}

function unknownOption(key: string, allowed: readonly string[]): ServiceError {
  const known = [...WRITE_OPTIONS.keys(), ...allowed].slice(0, HINT_KEYS_MAX);
  const hint = `Accepted are ${known.join(', ')}. The administrator sets all others, such as credentials and endpoints.`;
  return invalidInput(`The key ${quoteForMessage(key)} is not accepted in storage_options.`, hint);
}
