import type { EmbeddingLimits } from '../model/limits/integration-limits.ts';
import { isObject, parseJson } from '../model/strict-json.ts';

export interface ProviderSettings {
  /** The address of an OpenAI-compatible API, without a trailing slash. */
  readonly url: string;
  readonly apiKey: string | undefined;
}

export interface EmbeddingRequest {
  readonly model: string;
  readonly text: string;
  /** Only models that can shorten their vectors accept it. */
  readonly dimensions?: number;
}

/** Throws `ProviderFailure`. */
export type EmbeddingProvider = (request: EmbeddingRequest, closed: AbortSignal) => Promise<Float32Array>;

type FailureKind = 'timeout' | 'unreachable' | 'refused' | 'unusable';

/** Why the provider returned no vector. The message is public: it contains nothing that the provider sent. */
export class ProviderFailure extends Error {
  readonly kind: FailureKind;
  /** The provider's status, if it replied. */
  readonly status: number | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(kind: FailureKind, message: string, { status, retryAfterSeconds, cause }: FailureDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

interface FailureDetails {
  readonly status?: number;
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

type ReplyLimits = Pick<EmbeddingLimits, 'timeoutSeconds' | 'replyBytesMax'>;

/** Embeds one text per call. Redirects are not followed: the key and the text are for the configured address only. */
export function createOpenAiProvider({ url, apiKey }: ProviderSettings, limits: ReplyLimits): EmbeddingProvider {
  const { timeoutSeconds, replyBytesMax } = limits;
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };
  return async ({ model, text, dimensions }, closed) => {
    // Not `AbortSignal.timeout`: inside `AbortSignal.any`, Node 20 may discard it before it fires.
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeoutSeconds * 1000);
    try {
      const response = await fetch(`${url}/embeddings`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model, input: [text], dimensions }),
        redirect: 'manual',
        signal: AbortSignal.any([late.signal, closed]),
      });
      await requireSuccess(response);
      return toVector(await readBounded(response, replyBytesMax));
    } catch (error) {
      if (error instanceof ProviderFailure) throw error;
      if (late.signal.aborted) {
        throw new ProviderFailure('timeout', `did not respond within ${timeoutSeconds} s`, { cause: error });
      }
      throw new ProviderFailure('unreachable', 'cannot be reached', { cause: error });
    } finally {
      clearTimeout(timer);
    }
  };
}

async function requireSuccess(response: Response): Promise<void> {
  const { status, headers } = response;
  if (status === 200) return;
  await response.body?.cancel();
  const isRedirect = status >= 300 && status < 400;
  const words = isRedirect ? 'redirects, which is not followed' : 'refused the request';
  const retryAfterSeconds = readRetryAfter(headers.get('retry-after'));
  throw new ProviderFailure('refused', `${words} (status ${status})`, { status, retryAfterSeconds });
}

const RETRY_SECONDS_MAX = 60;

/** Does not support dates. */
function readRetryAfter(text: string | null): number | undefined {
  if (text === null || !/^\d{1,6}$/.test(text)) return undefined;
  return Math.min(Math.max(Number(text), 1), RETRY_SECONDS_MAX);
}

async function readBounded(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw unusable(`it is larger than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** In the precision of the engine. */
function toVector(text: string): Float32Array {
  const numbers = findNumbers(text);
  if (!Array.isArray(numbers) || numbers.length === 0) throw unusable('it has no list of numbers');
  const vector = new Float32Array(numbers.length);
  for (const [index, number] of numbers.entries()) {
    vector[index] = typeof number === 'number' ? number : Number.NaN;
  }
  if (vector.every((number) => Number.isFinite(number))) return vector;
  throw unusable('one of its values is not a 32-bit float');
}

/** `{"data": [{"embedding": […]}]}` */
function findNumbers(text: string): unknown {
  const reply = parseJson(text);
  if (reply === undefined) throw unusable('it is not JSON');
  const data: readonly unknown[] = isObject(reply) && Array.isArray(reply['data']) ? reply['data'] : [];
  const [first] = data;
  return isObject(first) ? first['embedding'] : undefined;
}

function unusable(reason: string): ProviderFailure {
  return new ProviderFailure('unusable', `sent a reply that cannot be used: ${reason}`);
}
