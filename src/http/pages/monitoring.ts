import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Authenticator } from '../../auth/authenticator.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { administersEverything } from '../../model/access.ts';
import type { MetricsText } from '../../telemetry/metrics/metrics.ts';
import { readHeaderCredentials, refuseDoubledHeaders } from '../request/headers.ts';
import type { RefusalCache } from '../admission/refusal-cache.ts';

export interface MetricsSettings {
  readonly access: 'administrators' | 'everyone' | 'off';
  readonly read: () => Promise<MetricsText>;
}

export interface MetricsParts {
  readonly metrics: MetricsSettings;
  readonly authenticator: Authenticator;
  readonly flood: Pick<RefusalCache, 'tell'>;
}

/** `/metrics`, for Prometheus. Reads that come while one is under way share its text. */
export function mountMetrics(server: FastifyInstance, prefixes: readonly string[], parts: MetricsParts): void {
  const { access, read } = parts.metrics;
  if (access === 'off') return;
  let reading: Promise<MetricsText> | undefined;
  const readOnce = async (): Promise<MetricsText> => {
    parts.flood.tell();
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  for (const prefix of prefixes) {
    server.get(`${prefix}/metrics`, async (request, reply) => {
      if (access === 'administrators') await requireAdministrator(request, parts.authenticator);
      const { mediaType, text } = await readOnce();
      return reply.header('content-type', mediaType).send(text);
    });
  }
}

async function requireAdministrator({ raw }: FastifyRequest, authenticator: Authenticator): Promise<void> {
  refuseDoubledHeaders(raw);
  const caller = await authenticator.authenticate(readHeaderCredentials(raw));
  if (administersEverything(caller)) return;
  throw new ServiceError('PermissionDenied', 'The metrics are for administrators of the server.', {
    hint: 'Use a key with the role admin on every database, or set metrics.access to everyone.',
  });
}

export interface Health {
  /** Whether requests can be served: resolves to the reason why not, or to `undefined`. */
  readonly fault: () => Promise<string | undefined>;
}

/** `/healthz`: the process answers. `/readyz`: requests can be served. Neither needs a credential nor tells more. */
export function mountProbes(server: FastifyInstance, prefixes: readonly string[], health: Health): void {
  for (const prefix of prefixes) {
    server.get(`${prefix}/healthz`, async (_request, reply) => reply.send({ status: 'ok' }));
    server.get(`${prefix}/readyz`, async (_request, reply) => {
      const fault = await health.fault();
      if (fault === undefined) return reply.send({ status: 'ready' });
      return reply.code(503).header('retry-after', '1').send({ status: 'not ready', reason: fault });
    });
  }
}
