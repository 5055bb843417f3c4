/** The package brings no types: these are the parts that are used here and in the tests. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export interface Context {
    readonly req: IncomingMessage;
    readonly oidc: { readonly route: string; readonly client: { readonly clientId: string } | undefined } | undefined;
    type: string;
    body: unknown;
    get(header: string): string;
    set(header: string, value: string): void;
  }

  export class Provider {
    constructor(issuer: string, configuration: object);
    /** The context of the request that is being answered, when one is. */
    static readonly ctx: Context | undefined;
    readonly Client: {
      readonly prototype: {
        compareClientSecret(this: { readonly clientId: string }, actual: string): Promise<boolean>;
      };
    };
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): this;
    on(event: 'error', listener: (error: unknown, context: Context | undefined) => void): this;
    on(event: 'server_error', listener: (context: Context, error: unknown) => void): this;
    on(event: 'grant.success', listener: (context: Context) => void): this;
    urlFor(route: 'token' | 'jwks'): string;
  }

  export namespace errors {
    export class CustomOIDCProviderError extends Error {
      constructor(error: string, description: string);
      statusCode: number;
    }
    export class InvalidTarget extends Error {}
  }
}
