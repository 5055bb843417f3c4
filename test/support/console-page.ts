import { mkdir } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { openBrowser } from './browser.ts';
import type { Browser } from './browser.ts';
import { ADMIN_KEY } from './server.ts';

const FOLDER = 'docs/pictures/console';

/** A browser in which somebody is signed in to the console. */
export async function openConsole(key = ADMIN_KEY): Promise<Browser> {
  const browser = await openBrowser();
  const session = JSON.stringify({ credential: { kind: 'key', text: key }, database: 'default' });
  // A text: the tests are not compiled for browsers, and know nothing of what is in a page.
  await browser.page.addInitScript({
    content: `if (location.protocol !== 'about:') sessionStorage['tiltyard-session'] ??= ${JSON.stringify(session)};`,
  });
  return browser;
}

/** Pictures of a view for the docs, light and dark; written only when `TILTYARD_PICTURES` is 1. */
export async function keepPictures(page: Page, name: string): Promise<void> {
  if (process.env['TILTYARD_PICTURES'] !== '1') return;
  await mkdir(FOLDER, { recursive: true });
  const view = page.viewportSize();
  await page.setViewportSize({ width: 1440, height: 900 });
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.screenshot({ path: `${FOLDER}/${name}-${scheme}.png` });
  }
  await page.emulateMedia({ colorScheme: 'light' });
  if (view !== null) await page.setViewportSize(view);
}
