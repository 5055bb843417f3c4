export type BytesToSend = Uint8Array | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** As `fetch` takes it. Streams are sent as they come; browsers can do that over HTTP/2 alone, so they send blobs. */
export function toRequestBody(bytes: BytesToSend): RequestInit & { readonly duplex?: 'half' } {
  if (bytes instanceof Blob) return { body: bytes };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Shared memory, which the type leaves open, is never sent.
  if (bytes instanceof Uint8Array) return { body: bytes as Uint8Array<ArrayBuffer> };
  return { body: bytes instanceof ReadableStream ? bytes : toStream(bytes), duplex: 'half' };
}

function toStream(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
