import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { Config } from '../../src/config/config.ts';
import type { App } from '../../src/app.ts';
import { runWorker } from '../../src/process/worker.ts';

/** A small service for the tests of the supervisor, whose paths make it misbehave. */
async function start(config: Config): Promise<App> {
  if (existsSync(`${config.data}/refuse`)) throw new ServiceError('InvalidInput', 'The catalog is locked.');
  if (existsSync(`${config.data}/crash`)) process.exit(7);
  const slow: ServerResponse[] = [];
  let isHung = false;
  let probes = 0;
  const server = createServer((request, response) => {
    if (request.url === '/slow') {
      slow.push(response);
      response.write('started ');
      return;
    }
    if (request.url === '/hang') isHung = true;
    if (request.url === '/frozen') response.setHeader('x-frozen', String(Object.isFrozen(config.limits.http)));
    response.end(String(request.url === '/probes' ? probes : process.pid));
  });
  server.emit('listening');
  return {
    ready: { adminKey: 'made', adopted: 1, swept: 2, databases: 3, engine: { version: '1.2.3', isFallback: false } },
    accept: (socket) => void server.emit('connection', socket),
    probe: async () => {
      probes += 1;
      if (isHung) await new Promise(() => {});
    },
    drain: async () => {
      for (const response of slow) response.end('finished');
      if (existsSync(`${config.data}/stubborn`)) await new Promise(() => {});
      await Promise.all(slow.map((response) => new Promise((resolve) => response.once('close', resolve))));
    },
  };
}

runWorker(start);
