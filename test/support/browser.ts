import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { Browser as BrowserProcess, ConsoleMessage, Page } from 'playwright-core';
import { watchRequests } from './page-state.ts';
import { closeAtEnd } from './shared.ts';

/** As `scripts/install-browser.mjs` installs them; the first one takes less processor time. */
const EXECUTABLE = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((file) => existsSync(file)) ?? '';

/** For the option `skip` of a test: false, or why there is nothing to drive. */
export const noBrowser = EXECUTABLE === '' ? 'Chromium is not installed' : false;

/** It keeps to itself: without these it looks for its maker's servers. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Far more than anything takes on a machine that is busy with other tests. */
const MILLISECONDS_MAX = 120_000;

export interface Browser {
  readonly page: Page;
  /** What went wrong in the page: errors, refused loads, words on the console. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

let running: Promise<BrowserProcess> | undefined;

closeAtEnd(async () => {
  const closed = await running;
  running = undefined;
  await closed?.close();
});

/** An empty profile and one page, in the one browser of this process. */
export async function openBrowser(colorScheme: 'light' | 'dark' = 'light'): Promise<Browser> {
  running ??= chromium.launch({ executablePath: EXECUTABLE, args: FLAGS });
  const context = await (await running).newContext({ colorScheme, viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(MILLISECONDS_MAX);
  watchRequests(context);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(describe(message));
  });
  return { page, complaints, close: async () => context.close() };
}

/** With what was asked for: the browser's note of a refused load does not say it. */
function describe(message: ConsoleMessage): string {
  const { url } = message.location();
  return url === '' ? message.text() : `${message.text()} ${new URL(url).pathname}`;
}
