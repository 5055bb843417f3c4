import { openBrowser } from './browser.ts';
import type { Browser } from './browser.ts';
import { ADMIN_KEY } from './server.ts';

/** A browser that is signed in to the console. */
export async function openConsole(key = ADMIN_KEY): Promise<Browser> {
  const browser = await openBrowser();
  const session = JSON.stringify({ credential: { kind: 'key', text: key }, database: 'default' });
  // A text: the tests are not compiled for browsers, and know nothing of what is in a page.
  await browser.page.addInitScript({
    content: `if (location.protocol !== 'about:') sessionStorage['tiltyard-session'] ??= ${JSON.stringify(session)};`,
  });
  return browser;
}
