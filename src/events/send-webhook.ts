import { createHmac } from 'node:crypto';
import { lookup as lookUp } from 'node:dns';
import type { LookupOptions } from 'node:dns';
import { request as requestHttp } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { invalidInput } from '../errors/service-error.ts';
import { createReach } from './public-address.ts';
import type { MayReach } from './public-address.ts';

export interface SenderSettings {
  readonly allowHttp: boolean;
  readonly allowedNetworks: readonly string[];
  readonly timeoutSeconds: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface Delivery {
  readonly url: string;
  readonly secret: string;
  /** Identifies the delivery: the same for each attempt. */
  readonly id: string;
  readonly body: string;
}

/** `error` is for people: why it does not count as delivered. */
export interface DeliveryOutcome {
  readonly status?: number;
  readonly error?: string;
}

export type WebhookSender = ReturnType<typeof createWebhookSender>;

const URL_CHARACTERS_MAX = 2048;
const ERROR_CHARACTERS_MAX = 200;

/** The resolved address does not belong to the public internet. */
class RefusedAddress extends Error {}

/**
 * Sends one request, only to a public address: checked after the name was resolved, and the connection uses that very
 * address.
 */
export function createWebhookSender({ allowHttp, allowedNetworks, timeoutSeconds, now }: SenderSettings) {
  const mayReach = createReach(allowedNetworks);
  const lookup = createLookup(mayReach);
  return {
    /** Refuses URLs that can never receive deliveries. Names are resolved when something is sent. */
    checkUrl(text: string): string {
      const protocols = allowHttp ? 'an http or https' : 'an https';
      const isUrl = text.length <= URL_CHARACTERS_MAX && URL.canParse(text);
      const { protocol, username, password, hash, hostname } = isUrl ? new URL(text) : NO_URL;
      const isSpoken = protocol === 'https:' || (allowHttp && protocol === 'http:');
      if (!isSpoken || username !== '' || password !== '' || hash !== '') {
        const hint = protocol === 'http:' && !allowHttp ? HTTP_HINT : undefined;
        throw invalidInput(`url must be ${protocols} URL without user, password or fragment.`, hint);
      }
      const address = bare(hostname);
      if (isIP(address) === 0 || mayReach(address)) return text;
      throw invalidInput('url points to an address that is not public.', ALLOWED_HINT);
    },

    async send({ url, secret, id, body }: Delivery, ended: AbortSignal): Promise<DeliveryOutcome> {
      const target = new URL(url);
      const address = bare(target.hostname);
      if (isIP(address) !== 0 && !mayReach(address)) return { error: NOT_PUBLIC };
      const send = target.protocol === 'https:' ? requestHttps : requestHttp;
      // Not `AbortSignal.timeout`: inside `AbortSignal.any`, Node 20 may discard it before it fires.
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), timeoutSeconds * 1000);
      const request = send(target, {
        method: 'POST',
        agent: false,
        lookup,
        signal: AbortSignal.any([late.signal, ended]),
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'tiltyard-webhook',
          'tiltyard-delivery': id,
          'tiltyard-signature': sign(secret, Math.floor(now() / 1000), body),
        },
      });
      try {
        return toOutcome(await receive(request, body));
      } catch (error) {
        return { error: explain(error, timeoutSeconds) };
      } finally {
        clearTimeout(timer);
        request.destroy();
      }
    },
  };
}

const NO_URL = { protocol: '', username: '', password: '', hash: '', hostname: '' };
const NOT_PUBLIC = 'The address is not public.';
const HTTP_HINT = 'An operator can allow http with webhooks.allowHttp.';
const ALLOWED_HINT = 'An operator can allow private networks with webhooks.allowedNetworks.';

function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** `t=<seconds>,v1=<hex>`: HMAC-SHA256 of the seconds, a dot and the body. */
export function sign(secret: string, seconds: number, body: string): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

async function receive(request: ClientRequest, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('error', reject).once('response', (reply) => {
      // Its content is ignored.
      reply.on('error', () => {}).resume();
      resolve(reply);
    });
    // Without a listener, Node closes the socket without an error.
    request.once('upgrade', (reply, socket) => {
      socket.destroy();
      resolve(reply);
    });
    request.once('close', () => reject(new Error('The receiver closed the connection.')));
    request.end(body);
  });
}

/** A redirect could lead anywhere, so it is not followed. */
function toOutcome({ statusCode: status = 0 }: IncomingMessage): DeliveryOutcome {
  if (status >= 200 && status < 300) return { status };
  const isRedirect = status >= 300 && status < 400;
  return {
    status,
    error: isRedirect
      ? 'The receiver sent a redirect, which is not followed.'
      : `The receiver responded with status ${status}.`,
  };
}

/** Refuses a name if any of its addresses is not public, because the system chooses which one a connection uses. */
function createLookup(mayReach: MayReach): LookupFunction {
  return (hostname, options: LookupOptions, callback) => {
    lookUp(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null) callback(error, '');
      else if (first === undefined || !addresses.every(({ address }) => mayReach(address))) {
        callback(new RefusedAddress(NOT_PUBLIC), '');
      } else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function explain(error: unknown, timeoutSeconds: number): string {
  if (!(error instanceof Error)) return 'The receiver cannot be reached.';
  if (error.name === 'TimeoutError' || error.name === 'AbortError') {
    return `The receiver did not respond within ${timeoutSeconds} s.`;
  }
  if (error instanceof RefusedAddress) return error.message;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return `The receiver cannot be reached (${(code ?? error.name).slice(0, ERROR_CHARACTERS_MAX)}).`;
}
