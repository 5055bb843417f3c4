import assert from 'node:assert/strict';
import { ADMIN_KEY } from '../support/server.ts';

export interface SentEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of the server.
  readonly data: any;
}

export interface StreamOptions {
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>> | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A reader of server-sent events, as users may write one. */
export class EventStream {
  /** The cursor: the last id, also of messages without data. */
  cursor: string | undefined;
  comments = 0;
  readonly status: number;
  readonly #abort: AbortController;
  readonly #messages: AsyncGenerator<SentEvent>;

  private constructor(response: Response, abort: AbortController) {
    this.status = response.status;
    this.#abort = abort;
    this.#messages = this.#read(response);
  }

  static async open(url: string, { key = ADMIN_KEY, query = {}, headers = {} }: StreamOptions = {}) {
    const abort = new AbortController();
    const parameters = new URLSearchParams(query).toString();
    const response = await fetch(`${url}/v1/events?${parameters}`, {
      headers: { 'x-api-key': key, ...headers },
      signal: abort.signal,
    });
    assert.equal(response.status, 200, response.status === 200 ? '' : await response.text());
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    const stream = new EventStream(response, abort);
    // The first message tells the cursor.
    await stream.#messages.next();
    return stream;
  }

  /** The next events with data. Without a number, all until the stream ends. */
  async take(count = Infinity): Promise<readonly SentEvent[]> {
    const taken: SentEvent[] = [];
    while (taken.length < count) {
      const { done, value } = await this.#messages.next();
      if (done === true) break;
      if (value.data !== undefined) taken.push(value);
    }
    return taken;
  }

  close(): void {
    this.#abort.abort();
  }

  async *#read(response: Response): AsyncGenerator<SentEvent> {
    const decoder = new TextDecoder();
    let text = '';
    try {
      for await (const piece of response.body ?? []) {
        text += decoder.decode(piece, { stream: true });
        const messages = text.split('\n\n');
        text = messages.pop() ?? '';
        for (const message of messages) yield this.#parse(message);
      }
    } catch (error) {
      if (!this.#abort.signal.aborted) throw error;
    }
  }

  #parse(message: string): SentEvent {
    const fields = new Map<string, string>();
    for (const line of message.split('\n')) {
      if (line.startsWith(':')) this.comments += 1;
      const at = line.indexOf(': ');
      if (at > 0) fields.set(line.slice(0, at), line.slice(at + 2));
    }
    const data = fields.get('data');
    this.cursor = fields.get('id') ?? this.cursor;
    return {
      id: fields.get('id'),
      event: fields.get('event'),
      data: data === undefined ? undefined : JSON.parse(data),
    };
  }
}
