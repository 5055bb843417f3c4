import type { FastifyInstance } from 'fastify';

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
