import { inspect, isDeepStrictEqual } from 'node:util';
import type { BrowserContext, Page, Request, Route } from 'playwright-core';
import { eventually } from './eventually.ts';

/** Requests without a reply, of all pages of a context. */
const unanswered = new WeakMap<BrowserContext, Set<Request>>();

/** Before the first page of a context is opened. */
export function watchRequests(context: BrowserContext): void {
  const open = new Set<Request>();
  unanswered.set(context, open);
  context.on('request', (request) => {
    const { protocol, pathname } = new URL(request.url());
    // A stream of events never ends.
    if (protocol.startsWith('http') && pathname !== '/v1/events') open.add(request);
  });
  const close = (request: Request): void => void open.delete(request);
  context.on('requestfinished', close);
  context.on('requestfailed', close);
}

/** After two frames, in which what has arrived is drawn: what in the page stands for something that still loads. */
const PLACEHOLDERS = `new Promise((resolve) => {
  const look = () => resolve([...document.querySelectorAll('.skeleton, .waiting, [aria-busy=true], #main:empty')]
    .map((each) => each.outerHTML.slice(0, 80)));
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(look)));
})`;

/** Waits until the page has asked for everything and shows it. */
export async function whenSettled(page: Page): Promise<void> {
  const open = unanswered.get(page.context()) ?? new Set();
  let missing: readonly string[] = [];
  await eventually(
    async () => {
      missing = [...open].map((request) => request.url());
      if (missing.length > 0) return false;
      missing = (await page.evaluate(PLACEHOLDERS)) as readonly string[];
      return missing.length === 0 && open.size === 0;
    },
    () => `the page still loads ${missing.join(', ')}`,
  );
}

/** Waits until what is read is as expected, or matches it. */
export async function becomes<Value>(read: () => Promise<Value>, expected: NoInfer<Value> | RegExp): Promise<void> {
  let last: Value | undefined;
  await eventually(
    async () => {
      last = await read();
      return expected instanceof RegExp ? expected.test(String(last)) : isDeepStrictEqual(last, expected);
    },
    () => `${inspect(last)} is not ${inspect(expected)}`,
  );
}

/** The server applies the next request to an address that contains this text; its reply never arrives. */
export async function loseReply(page: Page, text: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  session.once('Fetch.requestPaused', ({ requestId }) => {
    void session
      .send('Fetch.failRequest', { requestId, errorReason: 'ConnectionClosed' })
      .then(async () => session.detach());
  });
  await session.send('Fetch.enable', { patterns: [{ urlPattern: `*${text}*`, requestStage: 'Response' }] });
}

/** Holds the next request to such an address until it is let go. */
export function holdNext(page: Page, address: string): { readonly reached: Promise<void>; readonly letGo: () => void } {
  let letGo = (): void => undefined;
  const reached = new Promise<void>((resolve) => {
    const hold = async (route: Route): Promise<void> => {
      const released = new Promise<void>((release) => (letGo = release));
      resolve();
      await released;
      await route.continue();
    };
    void page.route(address, hold, { times: 1 });
  });
  return { reached, letGo: () => letGo() };
}
