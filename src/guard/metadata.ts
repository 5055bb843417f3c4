import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { quoteForMessage } from '../model/identifier.ts';
import type { MetadataLimits } from '../model/limits.ts';

/** Keys by which the storage format steers itself. A wrong value in one of them makes the table unreadable. */
const RESERVED_KEY = /^(?:lance[-:]|packed$|arrow:extension:)/i;

const STORAGE_VALUE_BYTES_MAX = 1024;
const HINT_KEYS_MAX = 20;
const BOOLEAN = /^(?:true|false)$/;
const COUNT = /^[0-9]$/;
const SECONDS = /^[0-9]{1,3}$/;
const DURATION = /^[0-9]{1,5} ?(?:ms|s|m)$/;

/** Options of the storage layer that say how a table is written, never where or as whom, with the values that fit. */
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

/** Whether a key steers the storage format. */
export function isReservedKey(key: string): boolean {
  return RESERVED_KEY.test(key);
}

/** For the metadata of one field, where `null` deletes a key. */
export function guardMetadata(
  entries: Readonly<Record<string, string | null>>,
  field: string,
  limits: MetadataLimits,
): void {
  checkSize(entries, field, { ...limits, countMax: limits.entriesMax });
  for (const key of Object.keys(entries)) {
    if (!isReservedKey(key)) continue;
    throw invalidInput(
      `The key ${quoteForMessage(key)} in ${field} belongs to the storage format and could make the table unreadable.`,
      'Choose a key that does not begin with lance- or lance: or ARROW:extension: and is not packed.',
    );
  }
}

export function guardProperties(
  properties: Readonly<Record<string, string>>,
  field: string,
  limits: MetadataLimits,
): void {
  checkSize(properties, field, { ...limits, countMax: limits.propertiesMax });
}

/**
 * Only known options pass, whatever the store: one that names an endpoint could send the service's own credentials to a
 * stranger. The storage layer disregards the case of keys. `allowed` holds keys that the administrator let through.
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
    throw invalidInput(`The value of ${quoteForMessage(key)} in storage_options is not usable.`);
  }
}

interface SizeLimits extends MetadataLimits {
  readonly countMax: number;
}

function checkSize(entries: Readonly<Record<string, string | null>>, field: string, limits: SizeLimits): void {
  const pairs = Object.entries(entries);
  if (pairs.length > limits.countMax) {
    throw invalidInput(`${field} has ${pairs.length} entries; at most ${limits.countMax} are allowed.`);
  }
  for (const [key, value] of pairs) {
    if (Buffer.byteLength(key) > limits.keyBytesMax) {
      throw tooLong(`The key ${quoteForMessage(key)} in ${field}`, limits.keyBytesMax);
    }
    if (value !== null && Buffer.byteLength(value) > limits.valueBytesMax) {
      throw tooLong(`The value of ${quoteForMessage(key)} in ${field}`, limits.valueBytesMax);
    }
  }
}

function tooLong(what: string, bytesMax: number): ServiceError {
  return invalidInput(`${what} is longer than ${bytesMax} bytes.`);
}

function unknownOption(key: string, allowed: readonly string[]): ServiceError {
  const known = [...WRITE_OPTIONS.keys(), ...allowed].slice(0, HINT_KEYS_MAX);
  return invalidInput(
    `The key ${quoteForMessage(key)} is not accepted in storage_options.`,
    `Credentials, endpoints and the like are set by the administrator; accepted are ${known.join(', ')}.`,
  );
}
