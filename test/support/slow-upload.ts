import { ADMIN_KEY } from './server.ts';

export interface SlowUpload {
  readonly reply: Promise<Response>;
  /** Sends the rest of the body. */
  readonly finish: () => void;
}

/** An Arrow body whose last bytes are sent when the test says so. */
export function uploadSlowly(url: string, stream: Uint8Array, key = ADMIN_KEY): SlowUpload {
  let finish = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(stream.subarray(0, -8));
      finish = () => {
        controller.enqueue(stream.subarray(-8));
        controller.close();
      };
    },
  });
  const headers = { 'x-api-key': key, 'content-type': 'application/vnd.apache.arrow.stream' };
  const reply = fetch(url, { method: 'POST', headers, body, duplex: 'half' });
  // A test that fails earlier does not wait for it.
  reply.catch(() => {});
  return { reply, finish };
}
