import { createServer } from 'node:net';
import type { Server } from 'node:net';
import type { Config } from '../config/config.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

export type Listening = { readonly server: Server; readonly address: Address } | { readonly fault: string };

/** Accepts connections without reading them: the first byte is for the worker. */
export async function listen(config: Config): Promise<Listening> {
  const { host, port } = config;
  const server = createServer({ pauseOnConnect: true, noDelay: true });
  const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    server.once('error', resolve);
    server.listen({ host, port }, () => resolve(undefined));
  });
  if (error !== undefined) return { fault: explain(error, config) };
  const bound = server.address();
  return { server, address: { host, port: typeof bound === 'object' && bound !== null ? bound.port : port } };
}

function explain(error: NodeJS.ErrnoException, { host, port }: Config): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is already in use: stop the other program, or choose a port with --port.`;
    case 'EACCES':
      return `Port ${port} of ${host} may not be used by this user: choose one above 1023 with --port.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The host ${host} is not an address of this machine: choose another with --host.`;
    default:
      return `Port ${port} of ${host} cannot be opened: ${error.message}.`;
  }
}
