import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { CallerCounts } from '../model/limits/caller-counts.ts';
import type { EmbeddingLimits } from '../model/limits/integration-limits.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { ProviderFailure } from './embedding-provider.ts';
import type { EmbeddingProvider, EmbeddingRequest } from './embedding-provider.ts';

interface EmbeddingsParts {
  readonly provider: EmbeddingProvider;
  /** The models that callers may use. */
  readonly models: readonly string[];
  readonly limits: EmbeddingLimits;
  readonly telemetry: Telemetry;
}

interface Waiting {
  readonly caller: string;
  /** Fires when the caller disconnects. */
  readonly signal: AbortSignal;
}

/** Memory for the key and the entry of a vector. */
const ENTRY_BYTES = 256;

/** Vectors of texts, from the provider or the cache. Concurrent requests for the same text share a call. */
export class Embeddings {
  readonly models: readonly string[];
  readonly #parts: EmbeddingsParts;
  readonly #cache: LRUCache<string, Float32Array> | undefined;
  readonly #calls = new Map<string, Promise<Float32Array>>();
  readonly #callsOf = new CallerCounts();
  readonly #closed = new AbortController();
  readonly #lookups = { hit: 0, miss: 0, shared: 0 };

  constructor(parts: EmbeddingsParts) {
    this.#parts = parts;
    this.models = parts.models;
    const { cacheBytes } = parts.limits;
    if (cacheBytes <= ENTRY_BYTES) return;
    const sizeCalculation = ({ byteLength }: Float32Array): number => byteLength + ENTRY_BYTES;
    this.#cache = new LRUCache({ maxSize: cacheBytes, sizeCalculation });
  }

  /** For a caller who may use the result; the model must be one of `models`. */
  async embed(request: EmbeddingRequest, { caller, signal }: Waiting): Promise<readonly number[]> {
    const key = hash('sha256', JSON.stringify([request.model, request.text, request.dimensions]), 'base64url');
    const cached = this.#cache?.get(key);
    if (cached !== undefined) {
      this.#lookups.hit += 1;
      return Array.from(cached);
    }
    const running = this.#calls.get(key);
    this.#lookups[running === undefined ? 'miss' : 'shared'] += 1;
    const call = running ?? this.#start(key, request, caller);
    return Array.from(await untilAborted(call, signal));
  }

  counts() {
    const { size = 0, calculatedSize = 0 } = this.#cache ?? {};
    return { entries: size, bytes: calculatedSize, running: this.#calls.size, lookups: { ...this.#lookups } };
  }

  close(): void {
    this.#closed.abort();
  }

  /** Continues if the caller disconnects: others may wait for it, and the vector is cached. */
  #start(key: string, request: EmbeddingRequest, caller: string): Promise<Float32Array> {
    this.#requireCapacity(caller);
    this.#callsOf.add(caller, 1);
    const call = this.#call(request)
      .then((vector) => {
        this.#cache?.set(key, vector);
        return vector;
      })
      .finally(() => {
        this.#calls.delete(key);
        this.#callsOf.add(caller, -1);
      });
    this.#calls.set(key, call);
    return call;
  }

  async #call(request: EmbeddingRequest): Promise<Float32Array> {
    const { provider, telemetry } = this.#parts;
    const { model } = request;
    const startedAt = performance.now();
    try {
      const vector = await provider(request, this.#closed.signal);
      telemetry.emit({ kind: 'embedding-fetched', model, milliseconds: performance.now() - startedAt });
      return vector;
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      const milliseconds = performance.now() - startedAt;
      const { kind: reason, status, cause } = error;
      telemetry.emit({ kind: 'embedding-failed', model, reason, status, milliseconds, cause });
      throw toRefusal(error, model);
    }
  }

  /** Checks the caller's share first: a caller that has used it up must not be told that the server is busy. */
  #requireCapacity(caller: string): void {
    const { callsMax, callsPerCallerMax } = this.#parts.limits;
    const own = this.#callsOf.of(caller);
    if (own >= callsPerCallerMax) throw busy(`${own} texts of this caller are being embedded.`);
    if (this.#calls.size >= callsMax) throw busy(`${this.#calls.size} texts are being embedded.`);
  }
}

async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () =>
      reject(new ServiceError('ServiceUnavailable', 'The client disconnected before its text was embedded.'));
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}

function busy(message: string): ServiceError {
  return new ServiceError('ServiceUnavailable', message, { hint: 'Send fewer at once.', retryAfterSeconds: 1 });
}

/** Statuses by which a provider refuses the text itself. */
const TEXT_STATUSES: ReadonlySet<number | undefined> = new Set([400, 413, 422]);
const OVERLOADED = 429;
const RETRY_SECONDS = 5;
/** Until an operator has changed a setting, here or at the provider. */
const MISCONFIGURED_SECONDS = 30;

function toRefusal({ kind, status, message, retryAfterSeconds }: ProviderFailure, model: string): ServiceError {
  const sentence = `The embedding provider ${message}.`;
  if (TEXT_STATUSES.has(status)) {
    return invalidInput(
      sentence,
      `The text may be too long for the model ${model}, or the provider does not have this model.`,
    );
  }
  const isForAWhile = kind !== 'refused' || (status ?? 0) >= 500 || status === OVERLOADED;
  return new ServiceError('ServiceUnavailable', sentence, {
    hint: isForAWhile
      ? 'Try again later, or send a vector instead of the text.'
      : 'An operator of the server should check embeddings.url, embeddings.apiKey and embeddings.models.',
    retryAfterSeconds: retryAfterSeconds ?? (isForAWhile ? RETRY_SECONDS : MISCONFIGURED_SECONDS),
  });
}
