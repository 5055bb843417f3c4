import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { sampleStream } from '../../support/arrow-tables.ts';
import { noBrowser } from '../../support/browser.ts';
import type { Browser } from '../../support/browser.ts';
import { Client } from '../../support/client.ts';
import { takePicture } from '../../support/console.ts';
import { openConsole } from '../../support/console-page.ts';
import { auditPage, findOverflow } from '../../support/page-audit.ts';
import { becomes, holdNext } from '../../support/page-state.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
let browser: Browser;
let client: Client;
let page: Page;

suite('comparing versions', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer({ flags: ['--maintenance-running-max=0'] });
    client = new Client(server.url);
    await client.arrow('/v1/table/items/create', sampleStream(60));
    await client.post('/v1/table/items/tags/create', { tag: 'first', version: 1 });
    await client.post('/v1/table/items/branches/create', { name: 'trial' });
    await client.post('/v1/table/items/update', { updates: [['price', '1000']], predicate: 'id in (3, 4)' });
    await client.post('/v1/table/items/delete', { predicate: 'id = 7' });
    await client.post('/v1/table/items/update', {
      branch: 'trial',
      updates: [['name', "'other'"]],
      predicate: 'id = 1',
    });
    browser = await openConsole();
    ({ page } = browser);
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  const open = async (place: string): Promise<void> => {
    await page.goto('about:blank');
    await page.goto(`${server.url}/ui/#/table/items?tab=versions${place}`);
  };
  const differences = () => page.getByRole('region', { name: 'Differences' });

  test('two versions show the rows that were removed and the cells that were changed, with counts', async () => {
    await open('');
    await page.getByLabel('Select version 1').check();
    await page.getByLabel('Select version 3').check();
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await differences().getByText('2 changed').waitFor();
    await differences().getByText('−1 removed').waitFor();
    await differences().getByText('+0 added').waitFor();
    await becomes(async () => page.locator('.before-after del').allInnerTexts(), ['4.5', '6']);
    await becomes(async () => page.locator('.before-after ins').allInnerTexts(), ['1000', '1000']);
    await becomes(async () => page.locator('tr.diff-removed').count(), 1);
    const heads = await page.getByRole('columnheader').allInnerTexts();
    assert.deepEqual(
      heads.slice(0, 3).map((text) => text.split(/\s/)[0]),
      ['Change', 'id', 'price'],
    );
    assert.deepEqual(await auditPage(page), []);
    await takePicture(page, 'diff');
    assert.match(page.url(), /from=1&to=3$/);
    await page.reload();
    await differences().getByText('2 changed').waitFor();
    await page.getByRole('link', { name: 'Swap' }).click();
    await differences().getByText('+1 added').waitFor();
    await page.getByText('Added', { exact: true }).click();
    await becomes(async () => page.getByRole('grid').locator('tbody tr').count(), 1);
    await page.getByRole('link', { name: 'All versions' }).click();
    await page.getByLabel('Select version 1').waitFor();
  });

  test('until a comparison has loaded, no rows of the one before are shown', async () => {
    await open('&from=1&to=3');
    await differences().getByText('−1 removed').waitFor();
    const request = holdNext(page, '**/diff*');
    await page.getByRole('link', { name: 'Swap' }).click();
    await request.reached;
    await differences().getByRole('heading', { name: 'From version 3 to version 1' }).waitFor();
    assert.equal(await differences().getByText('−1 removed').count(), 0);
    request.letGo();
    await differences().getByText('+1 added').waitFor();
  });

  test('the latest version is compared with a tag and with a branch', async () => {
    await open('');
    await page.getByRole('button', { name: 'Compare with' }).click();
    await page.getByRole('button', { name: /^first/ }).click();
    await differences().getByText('2 changed').waitFor();
    assert.match(page.url(), /from=tag%3Afirst&to=latest$/);
    await open('&from=branch%3Atrial&to=latest');
    await differences().getByText('3 changed').waitFor();
    await page.getByRole('grid').getByText('other').waitFor();
  });

  test('versions with the same rows say so, and a missing version is reported', async () => {
    await open('&from=3&to=3');
    await page.getByRole('heading', { name: 'No row differs' }).waitFor();
    await open('&from=3&to=99');
    await differences().getByRole('alert').waitFor();
  });

  test('at the width of a phone the differences can be read', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    try {
      await open('&from=1&to=3');
      await differences().getByText('2 changed').waitFor();
      assert.deepEqual(await findOverflow(page), []);
      assert.deepEqual(await auditPage(page), []);
    } finally {
      await page.setViewportSize({ width: 1280, height: 800 });
    }
  });
});
