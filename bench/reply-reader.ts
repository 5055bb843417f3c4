/** Called with the body of a refusal; otherwise it is empty. */
type OnReply = (status: number, refusal: string) => void;

/**
 * Finds the end of HTTP/1.1 replies on one connection with as little work as possible: bodies are only kept for
 * refusals.
 */
export class ReplyReader {
  readonly #onReply: OnReply;
  #head = '';
  #status = 0;
  /** Remaining bytes of the body, or of the current chunk including its line end. */
  #remaining = 0;
  #place: 'head' | 'body' | 'chunk-size' | 'chunk' | 'last-chunk' = 'head';
  #line = '';
  #refusal = '';

  constructor(onReply: OnReply) {
    this.#onReply = onReply;
  }

  take(piece: Buffer): void {
    let at = 0;
    while (at < piece.length) at = this.#step(piece, at);
  }

  #step(piece: Buffer, at: number): number {
    switch (this.#place) {
      case 'head':
        return this.#readHead(piece, at);
      case 'body':
        return this.#skip(piece, at, () => this.#finish());
      case 'chunk-size':
        return this.#readChunkSize(piece, at);
      case 'chunk':
        return this.#skip(piece, at, () => (this.#place = 'chunk-size'));
      case 'last-chunk':
        return this.#skip(piece, at, () => this.#finish());
    }
  }

  #readHead(piece: Buffer, at: number): number {
    const before = this.#head.length;
    this.#head += piece.toString('latin1', at);
    const end = this.#head.indexOf('\r\n\r\n');
    if (end < 0) return piece.length;
    const head = this.#head.slice(0, end);
    this.#head = '';
    this.#status = Number(head.slice(9, 12));
    if (/\r\ntransfer-encoding: chunked/i.test(head)) this.#place = 'chunk-size';
    else this.#expectBody(Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0));
    return at + end + 4 - before;
  }

  #expectBody(bytes: number): void {
    this.#place = 'body';
    this.#remaining = bytes;
    if (bytes === 0) this.#finish();
  }

  #readChunkSize(piece: Buffer, at: number): number {
    const end = piece.indexOf(0x0a, at);
    this.#line += piece.toString('latin1', at, end < 0 ? piece.length : end);
    if (end < 0) return piece.length;
    const size = Number.parseInt(this.#line, 16);
    this.#line = '';
    this.#place = size === 0 ? 'last-chunk' : 'chunk';
    this.#remaining = size + 2;
    return end + 1;
  }

  #skip(piece: Buffer, at: number, done: () => void): number {
    const bytes = Math.min(this.#remaining, piece.length - at);
    this.#remaining -= bytes;
    if (this.#status >= 400) this.#refusal += piece.toString('utf8', at, at + bytes);
    if (this.#remaining === 0) done();
    return at + bytes;
  }

  #finish(): void {
    const refusal = this.#refusal.trim();
    this.#refusal = '';
    this.#place = 'head';
    this.#onReply(this.#status, refusal);
  }
}
