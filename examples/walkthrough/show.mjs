// The console shows the table: in a browser without a window, or at the address that is printed.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const { TILTYARD_URL: url, TILTYARD_KEY: key, CHROMIUM = '/usr/bin/chromium' } = process.env;
const address = `${url}/ui/#/tables/articles`;
if (existsSync(CHROMIUM)) {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  const page = await browser.newPage();
  const session = JSON.stringify({ credential: { kind: 'key', text: key }, database: 'default' });
  await page.addInitScript(`sessionStorage['tiltyard-session'] ??= ${JSON.stringify(session)};`);
  await page.goto(`${url}/ui/`);
  await page.getByRole('link', { name: /articles/ }).first().click();
  await page.getByText('Notes on the sea, part 0').first().waitFor();
  await page.getByText('words').first().waitFor();
  await browser.close();
  console.log('The console shows the rows, with the column of Spark');
} else {
  console.log(`Open ${address} and sign in with the key`);
}
