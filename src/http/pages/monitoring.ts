import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../errors/service-error.ts';
import { administersEverything } from '../../model/access.ts';
import type { ActivityPoint } from '../../telemetry/metrics/activity-history.ts';
import type { MetricsText } from '../../telemetry/metrics/metrics.ts';
import type { HttpDependencies } from '../handle-request.ts';
import { readHeaderCredentials, refuseDoubledHeaders } from '../request/headers.ts';
import { requireOwnPage } from '../request/own-host.ts';
import type { HostSettings } from '../request/own-host.ts';

/** Why requests cannot be served; `undefined` if they can. */
export type FindFault = () => Promise<string | undefined>;

/** `/healthz`: the process is running. `/readyz`: requests can be served. Neither needs a credential. */
export function mountProbes(server: FastifyInstance, prefixes: readonly string[], findFault: FindFault): void {
  for (const prefix of prefixes) {
    server.get(`${prefix}/healthz`, async (_request, reply) => reply.send({ status: 'ok' }));
    server.get(`${prefix}/readyz`, async (_request, reply) => {
      const fault = await findFault();
      if (fault === undefined) return reply.send({ status: 'ready' });
      return reply.code(503).header('retry-after', '1').send({ status: 'not ready', reason: fault });
    });
  }
}

export interface MetricsSettings {
  readonly access: 'administrators' | 'everyone' | 'off';
  readonly read: () => Promise<MetricsText>;
  readonly history: () => readonly ActivityPoint[];
}

interface MetricsDependencies extends HostSettings, Pick<HttpDependencies, 'authenticator' | 'refusalCache'> {
  readonly metrics: MetricsSettings;
}

/** `/metrics` for Prometheus, whose concurrent requests share one reading; `/metrics/history` for the console. */
export function mountMetrics(server: FastifyInstance, prefixes: readonly string[], http: MetricsDependencies): void {
  const { access, read, history } = http.metrics;
  if (access === 'off') return;
  let reading: Promise<MetricsText> | undefined;
  const readOnce = async (): Promise<MetricsText> => {
    http.refusalCache.report();
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  for (const prefix of prefixes) {
    server.get(`${prefix}/metrics`, async (request, reply) => {
      if (access === 'administrators') await requireAdministrator(request, http);
      const { mediaType, text } = await readOnce();
      return reply.header('content-type', mediaType).send(text);
    });
    server.get(`${prefix}/metrics/history`, async (request, reply) => {
      if (access === 'administrators') await requireAdministrator(request, http);
      return reply.send({ points: history() });
    });
  }
}

async function requireAdministrator({ raw }: FastifyRequest, http: MetricsDependencies): Promise<void> {
  refuseDoubledHeaders(raw);
  const caller = await http.authenticator.authenticate(readHeaderCredentials(raw));
  if (caller.kind === 'anonymous') requireOwnPage(raw, http);
  if (administersEverything(caller)) return;
  throw new ServiceError('PermissionDenied', 'Only administrators of the server can read the metrics.', {
    hint: 'Use a key with the role admin on every database, or set metrics.access to everyone.',
  });
}
