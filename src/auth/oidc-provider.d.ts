/** The package brings no types: these are the parts that the tests use. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export interface Context {
    get(header: string): string;
  }

  export interface StructuredToken {
    header: Record<string, unknown> | undefined;
    payload: Record<string, unknown>;
  }

  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
  }
}
