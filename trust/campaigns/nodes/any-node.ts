import { HttpClient } from '../../http.ts';
import type { Reply, Sent } from '../../http.ts';
import type { LeakScanner } from '../../leak-scanner.ts';

/** Longer than any request may take: one without a reply by then counts as hung. */
const MILLISECONDS_MAX = 60_000;

export interface AnyNodeParts {
  readonly scanner: LeakScanner;
  readonly key: string;
  readonly random: (below: number) => number;
}

/** A client that sends each request to an arbitrary node: what one acknowledges must hold on all. */
export class AnyNode extends HttpClient {
  readonly #urls: readonly string[];
  readonly #parts: AnyNodeParts;
  #nodes: readonly HttpClient[];

  constructor(urls: readonly string[], parts: AnyNodeParts) {
    const headers = { 'x-api-key': parts.key };
    super('', parts.scanner, headers);
    this.#urls = urls;
    this.#parts = parts;
    this.#nodes = urls.map((url) => new HttpClient(url, parts.scanner, headers, MILLISECONDS_MAX));
  }

  at(node: number): HttpClient {
    const client = this.#nodes[node];
    if (client === undefined) throw new Error(`There is no node ${node}.`);
    return client;
  }

  pick(): number {
    return this.#parts.random(this.#nodes.length);
  }

  pickOther(node: number): number {
    const count = this.#nodes.length;
    return count === 1 ? 0 : (node + 1 + this.#parts.random(count - 1)) % count;
  }

  override patient(): AnyNode {
    const client = new AnyNode(this.#urls, this.#parts);
    client.#nodes = client.#nodes.map((node) => node.patient());
    return client;
  }

  override async send(path: string, sent: Sent): Promise<Reply> {
    return this.at(this.pick()).send(path, sent);
  }

  override close(): void {
    for (const node of this.#nodes) node.close();
  }
}
