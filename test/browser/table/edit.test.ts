import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import {
  Bool,
  DateDay,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  Int64,
  List,
  Schema,
  TimestampMillisecond,
  Utf8,
} from 'apache-arrow';
import { connect, makeArrowTable } from '@lancedb/lancedb';
import type { Page, Route } from 'playwright-core';
import { toStream } from '../../support/arrow-tables.ts';
import type { Column } from '../../support/arrow-tables.ts';
import { noBrowser } from '../../support/browser.ts';
import type { Browser } from '../../support/browser.ts';
import { Client } from '../../support/client.ts';
import { signOut, takePicture } from '../../support/console.ts';
import { openConsole } from '../../support/console-page.ts';
import { eventually } from '../../support/eventually.ts';
import { auditPage, findOverflow } from '../../support/page-audit.ts';
import { becomes, loseReply, whenSettled } from '../../support/page-state.ts';
import { ADMIN_KEY, startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
let browser: Browser;
let client: Client;
let page: Page;

const GOODS: Readonly<Record<string, Column>> = {
  id: [new Int64(), (row) => BigInt(row)],
  title: [new Utf8(), (row) => `good ${row}`],
  price: [new Float64(), (row) => row * 1.5],
  in_stock: [new Bool(), (row) => row % 2 === 0],
  day: [new DateDay(), (row) => new Date(1_700_000_000_000 + row * 86_400_000)],
  added: [new TimestampMillisecond(), (row) => new Date(1_700_000_000_000 + row * 3_600_000)],
  tags: [new List(new Field('item', new Utf8(), true)), (row) => [`t${row}`]],
  vec: [new FixedSizeList(3, new Field('item', new Float32(), true)), (row) => [row / 10, row / 3, 1]],
};

/** A table of another program, which declares a key of two columns. */
async function createStock(folder: string): Promise<void> {
  const key = (position: number) => new Map([['lance-schema:unenforced-primary-key:position', String(position)]]);
  const schema = new Schema([
    new Field('region', new Utf8(), false, key(1)),
    new Field('sku', new Int32(), false, key(2)),
    new Field('amount', new Int32(), true),
  ]);
  const rows = Array.from({ length: 4 }, (_unused, at) => {
    return { region: at % 2 === 0 ? 'eu' : 'us', sku: Math.floor(at / 2), amount: 10 + at };
  });
  const connection = await connect(folder);
  (await connection.createTable('stock', makeArrowTable(rows, { schema }))).close();
  connection.close();
}

suite('editing rows', { skip: noBrowser }, () => {
  before(async () => {
    server = await startServer({ flags: ['--maintenance-running-max=0'] });
    client = new Client(server.url);
    browser = await openConsole();
    ({ page } = browser);
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  /** A new table of 20 rows, open in edit mode. */
  const edit = async (name: string, { rows = 20, place = '' } = {}): Promise<void> => {
    await client.arrow(`/v1/table/${name}/create`, toStream(GOODS, rows));
    await open(name, place);
  };
  const open = async (name: string, place = ''): Promise<void> => {
    await page.goto('about:blank');
    await page.goto(`${server.url}/ui/#/table/${name}${place}`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByRole('region', { name: 'Edits' }).waitFor();
    await whenSettled(page);
  };
  const read = async (name: string, filter: string, state: object = {}): Promise<Record<string, unknown>[]> => {
    const { json } = await client.post(`/v1/table/${name}/query`, { ...state, filter }, { accept: 'application/json' });
    return json.rows;
  };
  const version = async (name: string): Promise<number> => {
    return (await client.post(`/v1/table/${name}/describe`, {})).json.version;
  };
  /** The columns of the grid in edit mode: the choice of rows, then those of the table. */
  const PLACES = ['', ...Object.keys(GOODS)];
  const cell = (row: number, column: string) => page.locator(`[data-cell="${row}:${PLACES.indexOf(column)}"]`);
  const type = async (row: number, column: string, text: string): Promise<void> => {
    await cell(row, column).dblclick();
    await page.getByLabel(`New value of ${column}`).fill(text);
    await page.keyboard.press('Enter');
  };
  const apply = async (): Promise<void> => page.getByRole('button', { name: 'Apply', exact: true }).click();
  const toasted = (text: RegExp | string) => page.locator('.toast').filter({ hasText: text });

  test('cells of every type are edited, counted and marked, sent as one version, and undone as one', async () => {
    await edit('goods');
    await type(2, 'title', "it's new");
    await type(2, 'price', '99.5');
    await cell(3, 'in_stock').dblclick();
    await page.getByLabel('New value of in_stock').selectOption('true');
    await type(3, 'day', '2026-05-06');
    await type(4, 'added', '2026-05-06T07:08:09');
    await cell(4, 'vec').dblclick();
    await page.getByRole('dialog').getByRole('textbox').fill('[1, 2.5, -3]');
    await page.getByRole('button', { name: 'Save' }).click();
    await cell(5, 'tags').dblclick();
    await page.getByRole('dialog').getByRole('textbox').fill('["a", "b"]');
    await page.getByRole('button', { name: 'Save' }).click();
    await cell(5, 'title').dblclick();
    await page.getByRole('button', { name: 'null', exact: true }).click();
    await page.getByText('Not applied yet: 4 rows changed.').waitFor();
    await becomes(async () => page.locator('td.edited').count(), 8);
    await takePicture(page, 'edit-rows');
    const before = await read('goods', 'id between 2 and 5');
    const first = await version('goods');
    await apply();
    await toasted('4 rows changed.').waitFor();
    assert.equal(await version('goods'), first + 1);
    const rows = await read('goods', 'id between 2 and 5');
    const byId = new Map(rows.map((row) => [row['id'], row]));
    assert.deepEqual([byId.get(2)?.['title'], byId.get(2)?.['price']], ["it's new", 99.5]);
    assert.deepEqual([byId.get(3)?.['in_stock'], byId.get(3)?.['day']], [true, '2026-05-06']);
    assert.match(String(byId.get(4)?.['added']), /^2026-05-06T07:08:09/);
    assert.deepEqual(byId.get(4)?.['vec'], [1, 2.5, -3]);
    assert.deepEqual([byId.get(5)?.['title'], byId.get(5)?.['tags']], [null, ['a', 'b']]);
    assert.deepEqual(await read('goods', 'id = 6'), await read('goods', 'id = 6', { version: first }));
    // Another row changes in between: only these edits are undone.
    await client.post('/v1/table/goods/update', { updates: [['price', '0.25']], predicate: 'id = 9' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await toasted('Undone').waitFor();
    const sorted = (list: Record<string, unknown>[]) => list.toSorted((a, b) => Number(a['id']) - Number(b['id']));
    assert.deepEqual(sorted(await read('goods', 'id between 2 and 5')), sorted(before));
    assert.deepEqual(
      (await read('goods', 'id = 9')).map((row) => row['price']),
      [0.25],
    );
  });

  test('rows that are applied again after their reply was lost are added once, whatever was committed since', async () => {
    await edit('lost');
    const first = await version('lost');
    await page.getByRole('button', { name: 'Add row' }).click();
    await type(0, 'id', '100');
    await loseReply(page, '/insert');
    await apply();
    await page.getByText('did not respond').waitFor();
    assert.equal(await version('lost'), first + 1);
    await client.post('/v1/table/lost/update', { updates: [['price', '0.25']], predicate: 'id = 9' });
    await apply();
    await toasted(`1 row added. The table is at version ${first + 1}.`).waitFor();
    assert.equal((await read('lost', 'id = 100')).length, 1);
  });

  test('rows whose request never arrived are applied to the newest version', async () => {
    await edit('late');
    await page.getByRole('button', { name: 'Add row' }).click();
    await type(0, 'id', '100');
    await page.route('**/insert*', async (route) => route.abort(), { times: 1 });
    await apply();
    await page.getByText('did not respond').waitFor();
    await client.post('/v1/table/late/update', { updates: [['price', '0.25']], predicate: 'id = 9' });
    await apply();
    await toasted('1 row added.').waitFor();
    assert.equal((await read('late', 'id = 100')).length, 1);
  });

  test('rows are added and deleted together with changes, after a preview, in one version', async () => {
    await edit('mixed');
    await page.getByRole('button', { name: 'Add row' }).click();
    await type(0, 'id', '100');
    await type(0, 'title', 'brand new');
    await cell(3, 'title').focus();
    await page.keyboard.press(' ');
    await cell(4, '').getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Delete 2 rows' }).click();
    await type(6, 'price', '7');
    await page.getByText('Not applied yet: 1 row added, 1 row changed, 2 rows deleted.').waitFor();
    await page.getByRole('button', { name: 'Preview' }).click();
    const dialog = page.getByRole('dialog', { name: 'What Apply sends' });
    await dialog.getByText('brand new').waitFor();
    await becomes(async () => dialog.getByRole('row').count(), 5);
    assert.deepEqual(await auditPage(page), []);
    const first = await version('mixed');
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await toasted('1 row added, 1 row changed, 2 rows deleted.').waitFor();
    assert.equal(await version('mixed'), first + 1);
    const titles = async () => (await read('mixed', 'id in (2, 3, 5, 100)')).map((row) => [row['id'], row['price']]);
    assert.deepEqual((await titles()).toSorted(), [
      [100, null],
      [5, 7],
    ]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await toasted('Undone').waitFor();
    assert.deepEqual((await titles()).toSorted(), [
      [2, 3],
      [3, 4.5],
      [5, 7.5],
    ]);
  });

  test('rows with a key of several columns are found by all of them, changed, added, deleted and undone', async () => {
    await createStock(server.folder);
    const made = await client.post('/v1/table/stock/register', { location: 'stock.lance' });
    assert.equal(made.status, 200, made.text);
    await open('stock');
    const at = (row: number, column: number) => page.locator(`[data-cell="${row}:${column}"]`);
    const enter = async (row: number, column: number, name: string, text: string): Promise<void> => {
      await at(row, column).dblclick();
      await page.getByLabel(`New value of ${name}`).fill(text);
      await page.keyboard.press('Enter');
    };
    const count = async (): Promise<readonly string[]> =>
      (await read('stock', 'true'))
        .map((row) => [row['region'], row['sku'], row['amount'] ?? 'null'].join(' '))
        .toSorted();
    const before = await count();
    assert.deepEqual(before, ['eu 0 10', 'eu 1 12', 'us 0 11', 'us 1 13']);
    await page.getByRole('button', { name: 'Add row' }).click();
    await enter(0, 1, 'region', 'us');
    await enter(0, 2, 'sku', '0');
    await apply();
    await page.getByText('There is already a row with region us, sku 0. Nothing was changed.').waitFor();
    await enter(0, 2, 'sku', '2');
    await enter(1, 3, 'amount', '99');
    await at(2, 1).focus();
    await page.keyboard.press('Delete');
    const first = await version('stock');
    await apply();
    await toasted('1 row added, 1 row changed, 1 row deleted.').waitFor();
    assert.equal(await version('stock'), first + 1);
    assert.deepEqual(await count(), ['eu 0 99', 'eu 1 12', 'us 1 13', 'us 2 null']);
    // Another row changes in between: by row id the edits could not be undone.
    await client.post('/v1/table/stock/update', { updates: [['amount', '5']], predicate: "region = 'eu' AND sku = 1" });
    await page.getByRole('button', { name: 'Undo' }).click();
    await toasted('Undone').waitFor();
    assert.deepEqual(await count(), ['eu 0 10', 'eu 1 5', 'us 0 11', 'us 1 13']);
  });

  test('rows without a unique key are edited too, and undone only while nothing else was written', async () => {
    await client.arrow('/v1/table/twins/create', toStream(GOODS, 5));
    await client.arrow('/v1/table/twins/insert', toStream(GOODS, 5));
    await open('twins');
    await type(1, 'price', '77');
    await cell(2, 'id').focus();
    await page.keyboard.press('Delete');
    await apply();
    await toasted('1 row changed, 1 row deleted.').waitFor();
    assert.deepEqual((await read('twins', 'id = 1')).map((row) => row['price']).toSorted(), [1.5, 77]);
    assert.equal((await read('twins', 'id = 2')).length, 1);
    await page.getByRole('button', { name: 'Undo' }).click();
    await toasted('Undone').waitFor();
    assert.deepEqual(
      (await read('twins', 'id = 1')).map((row) => row['price']),
      [1.5, 1.5],
    );
    await whenSettled(page);
    await type(0, 'title', 'changed');
    await apply();
    await toasted('1 row changed.').waitFor();
    await client.post('/v1/table/twins/delete', { predicate: 'id = 4' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await toasted('The table was written to since').waitFor();
    assert.equal((await read('twins', "title = 'changed'")).length, 1);
    assert.equal((await read('twins', 'id = 4')).length, 0);
  });

  test('rows without a key are written once when the reply to their deletion is lost, or the request', async () => {
    for (const [name, isApplied] of [
      ['halfway', false],
      ['finished', true],
    ] as const) {
      await client.arrow(`/v1/table/${name}/create`, toStream(GOODS, 3));
      await client.arrow(`/v1/table/${name}/insert`, toStream(GOODS, 3));
      await open(name);
      await type(1, 'title', 'changed');
      const first = await version(name);
      if (isApplied) await loseReply(page, '/delete');
      else await page.route('**/delete', async (route) => route.abort(), { times: 1 });
      await apply();
      const fault = page.getByRole('region', { name: 'Edits' }).getByRole('alert');
      await fault
        .getByText(/new rows were added, but it is not known whether the old ones were deleted.*did not resp/)
        .waitFor();
      assert.equal(await fault.getByText(/another writer|Restore/).count(), 0);
      assert.equal((await read(name, "title = 'changed'")).length, 1);
      // Other edits would be another request.
      await cell(2, 'title').dblclick();
      await page.getByLabel('New value of title').fill('more');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').filter({ hasText: 'Apply them again' }).waitFor();
      await page.keyboard.press('Escape');
      await apply();
      await toasted(`1 row changed. The table is at version ${first + 2}.`).waitFor();
      const titles = (await read(name, 'true')).map((row) => row['title']).toSorted();
      assert.deepEqual(titles, ['changed', 'good 0', 'good 0', 'good 1', 'good 2', 'good 2']);
      await page.getByRole('button', { name: 'Undo' }).click();
      await toasted('Undone').waitFor();
      assert.equal((await read(name, "title = 'good 1'")).length, 2);
    }
  });

  test('rows without a key are not added again when another writer commits before the old ones are deleted', async () => {
    await client.arrow('/v1/table/raced/create', toStream(GOODS, 3));
    await client.arrow('/v1/table/raced/insert', toStream(GOODS, 3));
    await open('raced');
    await type(1, 'title', 'changed');
    const first = await version('raced');
    const write = async (route: Route): Promise<void> => {
      await client.post('/v1/table/raced/update', { updates: [['price', '0.25']], predicate: 'id = 2' });
      await route.continue();
    };
    await page.route('**/delete', write, { times: 1 });
    for (const _attempt of [1, 2]) {
      await apply();
      const fault = page.getByRole('region', { name: 'Edits' }).getByRole('alert');
      await fault.getByText(/because another writer committed in between/).waitFor();
      await fault.getByText(`Restore version ${first} `).waitFor();
      await whenSettled(page);
    }
    assert.equal((await read('raced', "title = 'changed'")).length, 1);
    await page.getByRole('button', { name: 'Discard' }).click();
  });

  test('rows whose deletion was not answered are deleted once', async () => {
    await edit('dropped');
    await cell(1, 'title').focus();
    await page.keyboard.press('Delete');
    const first = await version('dropped');
    await loseReply(page, '/delete');
    await apply();
    await page.getByText('did not respond').waitFor();
    await client.post('/v1/table/dropped/update', { updates: [['price', '0.25']], predicate: 'id = 9' });
    await apply();
    await toasted(`1 row deleted. The table is at version ${first + 1}.`).waitFor();
  });

  test('a row that another writer changed stays as it is, and the other edits can go on without it', async () => {
    await edit('contested');
    await type(1, 'price', '10');
    await type(2, 'price', '20');
    await client.post('/v1/table/contested/update', { updates: [['title', "'mine'"]], predicate: 'id = 1' });
    await apply();
    await page.getByText(/The row with id 1 changed \(title was good 1, is mine\) since you read it/).waitFor();
    assert.deepEqual((await read('contested', 'id in (1, 2)')).map((row) => row['price']).toSorted(), [1.5, 3]);
    await page.getByRole('button', { name: 'Leave out 1 row' }).click();
    await apply();
    await toasted('1 row changed.').waitFor();
    assert.deepEqual((await read('contested', 'id in (1, 2)')).map((row) => row['price']).toSorted(), [1.5, 20]);
  });

  test('a value that does not fit its column is refused in the cell, and edits are kept until they are discarded', async () => {
    await client.arrow('/v1/table/typed/create', toStream(GOODS, 20));
    // Editing begins when the types are known, however long that takes.
    const held: (() => void)[] = [];
    await page.route('**/query', async (route) => {
      const isOfTypes = route.request().headers()['accept']?.includes('arrow') === true;
      if (isOfTypes) await new Promise<void>((resolve) => held.push(resolve));
      await route.continue();
    });
    await page.goto('about:blank');
    await page.goto(`${server.url}/ui/#/table/typed`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await eventually(async () => held.length > 0);
    assert.equal(await page.getByRole('region', { name: 'Edits' }).count(), 0);
    for (const release of held) release();
    await page.getByRole('region', { name: 'Edits' }).waitFor();
    await page.unroute('**/query');
    await cell(0, 'price').focus();
    await page.keyboard.press('F2');
    await page.getByLabel('New value of price').fill('cheap');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'The value of price' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator(`[data-cell="0:${PLACES.indexOf('price')}"]:focus`).waitFor();
    await cell(0, 'vec').dblclick();
    await page.getByRole('dialog').getByRole('textbox').fill('[1, 2]');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.keyboard.press('Escape');
    await becomes(async () => page.getByRole('button', { name: 'Apply', exact: true }).isDisabled(), true);
    await type(0, 'title', 'other');
    await page.getByRole('link', { name: 'Schema' }).click();
    await page.getByRole('link', { name: 'Rows' }).click();
    await page.getByText('Not applied yet: 1 row changed.').waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await cell(0, 'title').getByText('good 0').waitFor();
  });

  /** Looks at the other tables, and comes back. */
  const comeBack = async (name: string, meanwhile: () => Promise<unknown>): Promise<void> => {
    await page.goto(`${server.url}/ui/#/`);
    await page.getByRole('link', { name: 'kept', exact: true }).first().waitFor();
    await meanwhile();
    await page.goto(`${server.url}/ui/#/table/${name}`);
    await page.getByRole('grid').waitFor();
    await whenSettled(page);
  };

  test('edits outlive commits, and say at which version they began', async () => {
    await edit('kept');
    await type(1, 'price', '10');
    await type(2, 'price', '20');
    const column = { name: 'twice', expression: 'id * 2' };
    await comeBack('kept', async () => {
      await client.post('/v1/table/kept/add_columns', { new_columns: [column] });
      await client.post('/v1/table/kept/update', { updates: [['title', "'mine'"]], predicate: 'id = 2' });
    });
    await page.getByText('Not applied yet: 2 rows changed. Begun at version 1, the table is at version 3.').waitFor();
    await page.goto(`${server.url}/ui/#/table/kept?version=1`);
    await page.getByText('You are looking at version 1').waitFor();
    await page.goto(`${server.url}/ui/#/table/kept`);
    await page.getByText('Begun at version 1').waitFor();
    await whenSettled(page);
    await becomes(async () => cell(1, 'price').innerText(), '10');
    await apply();
    await page.getByText(/The row with id 2 changed \(title was good 2, is mine\) since you read it/).waitFor();
    await page.getByRole('button', { name: 'Leave out 1 row' }).click();
    await apply();
    await toasted('1 row changed.').waitFor();
    const rows = await read('kept', 'id in (1, 2)');
    assert.deepEqual(rows.map((row) => [row['id'], row['price'], row['twice']]).toSorted(), [
      [1, 10, 2],
      [2, 3, 4],
    ]);
  });

  test('a row without a key that others changed since the edit began is a conflict', async () => {
    await client.arrow('/v1/table/moved/create', toStream(GOODS, 1));
    await client.arrow('/v1/table/moved/insert', toStream(GOODS, 1));
    await open('moved');
    await type(0, 'price', '10');
    const other = { updates: [['price', '5.5']], predicate: 'true' };
    await comeBack('moved', async () => client.post('/v1/table/moved/update', other));
    await apply();
    await page.getByText(/The row with id 0 was deleted or moved since you read it/).waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
  });

  test('edits of a column that is gone say so, and can be discarded', async () => {
    await edit('narrowed');
    await type(1, 'price', '10');
    await comeBack('narrowed', async () => client.post('/v1/table/narrowed/drop_columns', { columns: ['price'] }));
    await page.getByText('The table no longer has a column price that can be edited.').waitFor();
    await apply();
    await whenSettled(page);
    await page.getByText('The table no longer has a column price that can be edited.').waitFor();
    assert.equal(await version('narrowed'), 2);
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByText('Nothing is sent until you apply.').waitFor();
    await becomes(async () => page.getByText('The table no longer has').count(), 0);
  });

  test('edits do not move to another table that was created under the same name', async () => {
    await edit('again');
    await type(1, 'price', '10');
    await comeBack('again', async () => {
      await client.post('/v1/table/again/drop', {});
      await client.arrow('/v1/table/again/create', toStream(GOODS, 20));
    });
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor();
    assert.equal(await page.getByText('Not applied yet').count(), 0);
  });

  test('edits that were not applied are gone after signing out', async () => {
    await edit('left');
    await type(0, 'title', 'other');
    await page.getByText('Not applied yet: 1 row changed.').waitFor();
    await signOut(page);
    await page.getByLabel('API key').fill(ADMIN_KEY);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'left', exact: true }).first().click();
    await cell(0, 'title').waitFor();
    await whenSettled(page);
    assert.equal(await page.getByText('Not applied yet').count(), 0);
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor();
  });

  test('edits of a branch go to the branch, and past versions and views are read-only', async () => {
    await client.arrow('/v1/table/forked/create', toStream(GOODS, 5));
    await client.post('/v1/table/forked/branches/create', { name: 'trial' });
    await open('forked', '?branch=trial');
    await type(1, 'title', 'on trial');
    await apply();
    await toasted('1 row changed.').waitFor();
    assert.equal((await read('forked', "title = 'on trial'", { branch: 'trial' })).length, 1);
    assert.equal((await read('forked', "title = 'on trial'")).length, 0);
    await page.goto(`${server.url}/ui/#/table/forked?version=1`);
    await page.getByText('You are looking at version 1').waitFor();
    const button = page.getByRole('button', { name: 'Edit', exact: true });
    assert.ok((await button.isDisabled()) || (await button.getAttribute('aria-disabled')) === 'true');
  });

  test('a row is added to an empty table, and computed columns are left to the server', async () => {
    await client.arrow('/v1/table/bare/create', toStream(GOODS, 1));
    await client.post('/v1/table/bare/delete', { predicate: 'true' });
    await client.post('/v1/table/bare/add_columns', { new_columns: [{ name: 'gross', computed: 'price * 2' }] });
    await open('bare');
    await page.getByRole('button', { name: 'Add row' }).click();
    await type(0, 'id', '1');
    await type(0, 'price', '4');
    await apply();
    await toasted('1 row added.').waitFor();
    assert.deepEqual(
      (await read('bare', 'id = 1')).map((row) => row['gross']),
      [8],
    );
  });

  test('at the width of a phone the rows can be edited, and nothing is cut off', async () => {
    await edit('narrow');
    await page.setViewportSize({ width: 390, height: 800 });
    try {
      const tap = `new PointerEvent('click', { bubbles: true, pointerType: 'touch' })`;
      await cell(1, 'title').waitFor();
      await page.evaluate(`document.querySelector('[data-cell="1:2"]').dispatchEvent(${tap})`);
      await page.getByLabel('New value of title').fill('by thumb');
      await page.keyboard.press('Enter');
      await page.getByText('Not applied yet: 1 row changed.').waitFor();
      assert.deepEqual(await findOverflow(page), []);
      assert.deepEqual(await auditPage(page), []);
      await apply();
      await toasted('1 row changed.').waitFor();
    } finally {
      await page.setViewportSize({ width: 1280, height: 800 });
    }
  });

  test('nothing in the page complained', () => {
    // Those of lost requests and replies, and of the version that was outdated then.
    const expected = /ERR_CONNECTION_CLOSED|ERR_FAILED|412/;
    assert.deepEqual(
      browser.complaints.filter((complaint) => !expected.test(complaint)),
      [],
    );
  });
});
