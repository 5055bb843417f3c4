import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { authorize } from '../../src/model/access.ts';
import type { Decision, Target, Caller, Grant, Permission, Role } from '../../src/model/access.ts';

const MAY: Readonly<Record<Role, readonly Permission[]>> = {
  reader: ['read'],
  writer: ['read', 'write'],
  owner: ['read', 'write', 'manage'],
  admin: ['read', 'write', 'manage', 'administer'],
};
const PERMISSIONS: readonly Permission[] = ['read', 'write', 'manage', 'administer'];

interface Relation {
  readonly title: string;
  readonly target: Target;
  /** What the caller gets for what the role allows, and for what it does not. */
  readonly allowed: Decision;
  readonly beyond: Decision;
}

const table = (database: string, ...path: string[]): Target => ({ database, path, kind: 'table' });
const namespace = (database: string, ...path: string[]): Target => ({ database, path, kind: 'namespace' });
const wholeDatabase = (database: string): Target => ({ database, path: [], kind: 'database' });

const COVERED = { allowed: 'permitted', beyond: 'forbidden' } as const;
const ABOVE = { allowed: 'forbidden', beyond: 'forbidden' } as const;
const FOREIGN = { allowed: 'hidden', beyond: 'hidden' } as const;

/** With a role on the namespace `sales$eu` of the database `main`. */
const RELATIONS: readonly Relation[] = [
  { title: 'its own namespace', target: namespace('main', 'sales', 'eu'), ...COVERED },
  { title: 'a namespace below', target: namespace('main', 'sales', 'eu', 'old'), ...COVERED },
  { title: 'a table below', target: table('main', 'sales', 'eu', 'orders'), ...COVERED },
  { title: 'a table far below', target: table('main', 'sales', 'eu', 'old', 'orders'), ...COVERED },
  { title: 'the namespace above', target: namespace('main', 'sales'), ...ABOVE },
  { title: 'the database above', target: wholeDatabase('main'), ...ABOVE },
  { title: 'a table named like the namespace above', target: table('main', 'sales'), ...FOREIGN },
  { title: 'a namespace beside', target: namespace('main', 'sales', 'us'), ...FOREIGN },
  { title: 'a namespace whose name begins alike', target: namespace('main', 'sales', 'eu2'), ...FOREIGN },
  { title: 'a table beside', target: table('main', 'sales', 'orders'), ...FOREIGN },
  { title: 'the same path in another database', target: namespace('other', 'sales', 'eu'), ...FOREIGN },
  { title: 'a table below in another database', target: table('other', 'sales', 'eu', 'orders'), ...FOREIGN },
  { title: 'another database', target: wholeDatabase('other'), ...FOREIGN },
];

function callerWith(...grants: Grant[]): Caller {
  return { id: 'key:1', kind: 'key', grants };
}

for (const role of ['reader', 'writer', 'owner', 'admin'] as const) {
  suite(`a ${role} of a namespace`, () => {
    const caller = callerWith({ role, database: 'main', path: ['sales', 'eu'] });
    for (const permission of PERMISSIONS) {
      for (const { title, target, allowed, beyond } of RELATIONS) {
        const expected = MAY[role].includes(permission) ? allowed : beyond;
        test(`is answered ${expected} who wants to ${permission} ${title}`, () => {
          assert.equal(authorize(caller, permission, target), expected);
        });
      }
    }
  });
}

suite('permissions', () => {
  test('on a database cover all that is in it, and nothing of another', () => {
    const caller = callerWith({ role: 'admin', database: 'main', path: [] });
    assert.equal(authorize(caller, 'administer', wholeDatabase('main')), 'permitted');
    assert.equal(authorize(caller, 'manage', table('main', 'orders')), 'permitted');
    assert.equal(authorize(caller, 'read', wholeDatabase('other')), 'hidden');
  });

  test('without a database cover every database', () => {
    const caller = callerWith({ role: 'writer', database: undefined, path: [] });
    assert.equal(authorize(caller, 'write', table('any', 'orders')), 'permitted');
    assert.equal(authorize(caller, 'administer', wholeDatabase('any')), 'forbidden');
  });

  test('on one table leave its neighbours hidden and its namespace known', () => {
    const caller = callerWith({ role: 'owner', database: 'main', path: ['sales', 'orders'] });
    assert.equal(authorize(caller, 'manage', table('main', 'sales', 'orders')), 'permitted');
    assert.equal(authorize(caller, 'read', table('main', 'sales', 'returns')), 'hidden');
    assert.equal(authorize(caller, 'read', namespace('main', 'sales')), 'forbidden');
  });

  test('of several grants add up, without transferring a role to another path', () => {
    const caller = callerWith(
      { role: 'reader', database: 'main', path: [] },
      { role: 'writer', database: 'main', path: ['sales'] },
    );
    assert.equal(authorize(caller, 'write', table('main', 'sales', 'orders')), 'permitted');
    assert.equal(authorize(caller, 'read', table('main', 'stock')), 'permitted');
    assert.equal(authorize(caller, 'write', table('main', 'stock')), 'forbidden');
  });

  test('of a caller without grants are none, and everything is hidden', () => {
    for (const permission of PERMISSIONS) {
      assert.equal(authorize(callerWith(), permission, table('main', 'orders')), 'hidden');
      assert.equal(authorize(callerWith(), permission, wholeDatabase('main')), 'hidden');
    }
  });
});
