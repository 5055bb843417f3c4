import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const PROVIDER_KEY = 'sk-provider-key-that-must-stay-secret';
export const MODEL = 'concepts-8';

/** The number of dimensions of each model. */
const DIMENSIONS: ReadonlyMap<string, number> = new Map([
  [MODEL, 8],
  ['concepts-4', 4],
]);

/** Words with the same meaning; each concept is a dimension. */
const CONCEPTS = [
  ['chair', 'sit', 'seat', 'stool'],
  ['lamp', 'light', 'bright', 'lantern'],
  ['boat', 'sail', 'harbour', 'sea'],
];

/** The embedding of a text: the number of its words for each concept, of length 1. Other words fill the last dimension. */
export function embed(text: string, dimension = 8): number[] {
  const vector = Array.from({ length: dimension }, () => 0);
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    const concept = CONCEPTS.findIndex((words) => words.some((each) => word.startsWith(each)));
    const at = concept === -1 ? dimension - 1 : concept;
    vector[at] = (vector[at] ?? 0) + (concept === -1 ? 0.1 : 1);
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => Math.fround(value / length));
}

export interface ProviderCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly model: string;
  readonly input: readonly string[];
  readonly dimensions?: number;
}

type Answer = (call: ProviderCall, response: ServerResponse) => void;

/** A provider of embeddings with the protocol of OpenAI, on a real socket. */
export class EmbeddingProvider {
  readonly calls: ProviderCall[] = [];
  /** What it does in place of embedding. */
  answer: Answer = answerWell;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const { model, input, dimensions } = JSON.parse(Buffer.concat(pieces).toString());
        const call = { path: request.url ?? '', headers: request.headers, model, input, dimensions };
        this.calls.push(call);
        this.answer(call, response);
      });
    });
  }

  static async start(): Promise<EmbeddingProvider> {
    const provider = new EmbeddingProvider();
    await provider.listen(0);
    return provider;
  }

  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
  }

  get port(): number {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  /** Of a server that uses it, and waits for it even on a busy machine; the key is given in the environment. */
  flags(timeoutSeconds = 300): readonly string[] {
    return [
      `--embeddings-url=${this.url}`,
      `--embeddings-models=${[...DIMENSIONS.keys()].join(',')},retired`,
      `--embeddings-timeout-seconds=${timeoutSeconds}`,
    ];
  }

  get env(): Readonly<Record<string, string>> {
    return { TILTYARD_EMBEDDINGS_API_KEY: PROVIDER_KEY };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export function answerWell({ path, headers, model, input, dimensions }: ProviderCall, response: ServerResponse): void {
  if (path !== '/v1/embeddings') return sendJson(response, 404, { error: { message: 'no such path' } });
  if (headers.authorization !== `Bearer ${PROVIDER_KEY}`) {
    return sendJson(response, 401, { error: { message: `Incorrect API key provided: ${headers.authorization}` } });
  }
  const whole = DIMENSIONS.get(model);
  if (whole === undefined) return sendJson(response, 404, { error: { message: `no model ${model}` } });
  const dimension = dimensions ?? whole;
  const data = input.map((text, index) => ({ object: 'embedding', index, embedding: embed(text, dimension) }));
  sendJson(response, 200, { object: 'list', data, model, usage: { prompt_tokens: 1, total_tokens: 1 } });
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
