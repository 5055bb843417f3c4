import type { Scheme, ObjectAddress } from './address.ts';
import { createAzure } from './client/azure.ts';
import { createGcs } from './client/gcs.ts';
import type { HttpSettings } from './client/http.ts';
import { OptionReader } from './client/options.ts';
import type { StoreOptions } from './client/options.ts';
import { createS3 } from './client/s3.ts';
import type { ObjectStore } from './object-store.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { probeConditionalWrites } from './probe.ts';

export interface ObjectSettings extends StoreOptions, HttpSettings {
  /** No version that was the latest within this time is removed. */
  readonly retentionSecondsMin: number;
  /** Larger objects are copied in parts; for tests. */
  readonly copyBytesMax?: number;
  /** Blobs that Azure lists per reply; for tests. */
  readonly pageKeysMax?: number;
}

type OpenBucket = (bucket: string) => ObjectStore;

const CREATORS: Readonly<Record<Scheme, (options: OptionReader, settings: ObjectSettings) => OpenBucket>> = {
  s3: createS3,
  gs: createGcs,
  az: createAzure,
};

/** The object stores of the service, with the options that the engine gets too. */
export class ObjectStores {
  readonly settings: ObjectSettings;
  readonly #openers = new Map<Scheme, OpenBucket>();
  /** By store; bounded by the number of databases in the catalog. */
  readonly #verified = new Map<string, Promise<void>>();

  constructor(settings: ObjectSettings) {
    const { retentionSecondsMin, options } = settings;
    const retrySeconds = Number.parseFloat(options['client_retry_timeout'] ?? '0') || 0;
    // Longer than the engine retries a request, by default three minutes.
    this.settings = { ...settings, retentionSecondsMin: Math.max(retentionSecondsMin, 2 * retrySeconds) };
  }

  open({ scheme, bucket }: ObjectAddress): ObjectStore {
    let opener = this.#openers.get(scheme);
    if (opener === undefined) {
      opener = CREATORS[scheme](new OptionReader(this.settings), this.settings);
      this.#openers.set(scheme, opener);
    }
    return opener(bucket);
  }

  /** Probes a store once; again if it could not be reached. */
  async verify(address: ObjectAddress): Promise<void> {
    const key = `${address.scheme}://${address.bucket}`;
    const known = this.#verified.get(key);
    if (known !== undefined) return known;
    const probing = probeConditionalWrites(this.open(address), address.path);
    this.#verified.set(key, probing);
    try {
      await probing;
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'Unsupported') throw error;
      this.#verified.delete(key);
      throw error instanceof ServiceError ? nameStore(key, error) : error;
    }
  }
}

/** On the first use of a store, its address or credentials may be wrong, so name it. */
function nameStore(store: string, { kind, message, cause, retryAfterSeconds }: ServiceError): ServiceError {
  return new ServiceError(kind, `The object store ${store} cannot be used. ${message}`, {
    hint: 'Check the storage root, the storage options and the network.',
    cause,
    retryAfterSeconds,
  });
}
