import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { BrowserContext, Page } from 'playwright-core';

const EXECUTABLE = '/usr/bin/chromium';

/** For the option `skip` of a test: false, or why there is nothing to drive. */
export const noBrowser = existsSync(EXECUTABLE) ? false : 'chromium is not installed';

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

export interface Browser {
  readonly page: Page;
  /** What went wrong in the page: errors, refused loads, words on the console. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

/** A browser with an empty profile and one page. */
export async function openBrowser(colorScheme: 'light' | 'dark' = 'light'): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'tiltyard-browser-'));
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    executablePath: EXECUTABLE,
    args: FLAGS,
    colorScheme,
    viewport: { width: 1280, height: 800 },
  });
  const [page = await context.newPage()] = context.pages();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return {
    page,
    complaints,
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
