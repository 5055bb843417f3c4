import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { titleStream } from '../../contract/embeddings/embedded-tables.ts';
import { noBrowser } from '../../support/browser.ts';
import type { Browser } from '../../support/browser.ts';
import { Client } from '../../support/client.ts';
import { takePicture } from '../../support/console.ts';
import { openConsole } from '../../support/console-page.ts';
import { EmbeddingProvider, MODEL } from '../../support/embedding-provider.ts';
import { auditPage, findOverflow } from '../../support/page-audit.ts';
import { becomes, whenSettled } from '../../support/page-state.ts';
import { ADMIN_KEY, startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let provider: EmbeddingProvider;
let server: TestServer;
let browser: Browser;

suite('a search by meaning in the lab', { skip: noBrowser }, () => {
  before(async () => {
    provider = await EmbeddingProvider.start();
    server = await startServer({ flags: ['--maintenance-running-max=0', ...provider.flags()], env: provider.env });
    await new Client(server.url).arrow('/v1/table/titles/create', titleStream());
    browser = await openConsole();
  });
  after(async () => {
    await browser.close();
    await server.close();
    await provider.close();
  });

  const open = async ({ page }: Browser, url: string, address: string): Promise<void> => {
    await page.goto('about:blank');
    await page.goto(`${url}/ui/#/lab/titles${address}`);
    await page.getByRole('radiogroup', { name: 'Search' }).waitFor();
  };

  test('a reader sees why the model cannot be recorded', async () => {
    const grants = [{ role: 'reader', database: 'default' }];
    const { json } = await new Client(server.url).post('/v1/access/key/create', { name: 'reports', grants });
    const reader = await openConsole(json.key);
    try {
      await open(reader, server.url, '?search=vector&source=meaning');
      const button = reader.page.getByRole('button', { name: 'Record model' });
      await button.and(reader.page.locator('[aria-disabled=true]')).waitFor();
      assert.equal(await button.getAttribute('title'), 'Needs the writer role on titles.');
    } finally {
      await reader.close();
    }
  });

  test('the model is recorded where it is missing, and a text finds rows that mean the same', async () => {
    const { page } = browser;
    await open(browser, server.url, '?search=vector&columns=title&k=2&exact=1');
    await page.getByRole('radio', { name: 'Meaning' }).check({ force: true });
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('Record the model of its vectors first.').waitFor();
    await takePicture(page, 'lab-record-model');
    assert.deepEqual(await auditPage(page), []);
    await becomes(async () => page.getByLabel('Model', { exact: true }).inputValue(), MODEL);
    await page.getByRole('button', { name: 'Record model' }).click();
    await page.getByText(`Recorded ${MODEL} as the model of vector.`).waitFor();
    const text = page.getByLabel('Near the meaning of');
    await text.fill('something to sit on');
    await text.press('Enter');
    const grid = page.getByRole('grid', { name: 'Results' });
    await grid.getByText('A wooden stool').waitFor();
    await grid.getByText('A comfortable chair').waitFor();
    await page.waitForURL(/source=meaning&meaning=something\+to\+sit\+on/);
    await takePicture(page, 'lab-by-meaning');
    assert.deepEqual(await auditPage(page), []);
    for (const width of [390, 768, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      assert.deepEqual(await findOverflow(page), [], String(width));
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test('its link runs it again, and its code sends the text', async () => {
    const { page } = browser;
    await open(browser, server.url, '?search=vector&source=meaning&meaning=a+bright+light&columns=title&k=1&exact=1');
    const grid = page.getByRole('grid', { name: 'Results' });
    await grid.getByText('A desk lamp').or(grid.getByText('A lantern')).first().waitFor();
    await page.getByRole('button', { name: 'Copy as code' }).click();
    const dialog = page.getByRole('dialog', { name: 'Copy as code' });
    for (const language of ['curl', 'Python', 'TypeScript']) {
      await dialog.getByText(language, { exact: true }).click();
      await dialog.locator('pre').getByText('vector_text').waitFor();
      const code = (await dialog.locator('pre').textContent()) ?? '';
      assert.match(code, /a bright light/);
      assert.ok(!code.includes('import lancedb') && !code.includes('@lancedb/lancedb') && !code.includes(ADMIN_KEY));
    }
    await page.keyboard.press('Escape');
  });

  test('its plan is that of a vector search, and an empty text is asked for', async () => {
    const { page } = browser;
    await open(browser, server.url, '?search=vector&source=meaning&meaning=a+boat&tab=plan');
    await page.getByText('Compare vectors').first().waitFor();
    await open(browser, server.url, '?search=vector&source=meaning');
    await page.getByText('Enter a text.').first().waitFor();
  });

  test('what the provider refuses is shown', async () => {
    const { page } = browser;
    provider.answer = (_call, response) => void response.writeHead(500).end();
    await open(browser, server.url, '?search=vector&source=meaning&meaning=never+seen+before');
    await page.getByText('The embedding provider refused the request (status 500).').first().waitFor();
  });

  test('a server without a provider does not offer it', async () => {
    const plain = await startServer({ flags: ['--maintenance-running-max=0'] });
    try {
      await new Client(plain.url).arrow('/v1/table/titles/create', titleStream());
      await open(browser, plain.url, '?search=vector');
      await browser.page.getByText('Like a row', { exact: true }).waitFor();
      await whenSettled(browser.page);
      assert.equal(await browser.page.getByRole('radio', { name: 'Meaning' }).count(), 0);
      await open(browser, plain.url, '?search=vector&source=meaning');
      await browser.page.getByText('This server has no embedding provider').first().waitFor();
    } finally {
      await plain.close();
    }
  });
});
