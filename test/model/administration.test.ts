import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  administeredDatabases,
  administersAnything,
  administersEverything,
  mayChange,
  mayGive,
  ROLES,
  isPermitted,
  isVisible,
} from '../../src/model/access.ts';
import type { Caller, Grant } from '../../src/model/access.ts';

const DATABASES = ['a', 'b'];
const PERMISSIONS = ['read', 'write', 'manage', 'administer'] as const;
const path = fc.array(fc.constantFrom('x', 'y'), { maxLength: 3 });
const database = fc.option(fc.constantFrom(...DATABASES), { nil: undefined });
const grant: fc.Arbitrary<Grant> = fc.record({ role: fc.constantFrom(...ROLES), database, path });
const grants = fc.array(grant, { maxLength: 4 });

const callerWith = (given: readonly Grant[]): Caller => ({ id: 'key:k', kind: 'key', grants: given });

test('a caller can grant roles only on what it administers', () => {
  const place = fc.record({ database: fc.constantFrom(...DATABASES, 'new'), path });
  fc.assert(
    fc.property(grants, grant, place, (held, given, at) => {
      const caller = callerWith(held);
      fc.pre(mayGive(caller, given));
      for (const permission of PERMISSIONS) {
        const isGiven = isPermitted(callerWith([given]), permission, at.database, at.path);
        if (isGiven) assert.ok(isPermitted(caller, 'administer', at.database, at.path));
      }
    }),
    { numRuns: 5000 },
  );
});

test('giving on and on never leaves the scope of the first giver', () => {
  fc.assert(
    fc.property(grants, fc.array(grant, { maxLength: 12 }), (held, wishes) => {
      const first = callerWith(held);
      let reached: readonly Grant[] = [];
      for (const wish of wishes) {
        if (mayGive(first, wish) || mayGive(callerWith(reached), wish)) reached = [...reached, wish];
      }
      for (const each of reached) assert.ok(mayGive(first, each));
    }),
    { numRuns: 5000 },
  );
});

test('who may change a credential administers all of it, and who administers none of it changes nothing', () => {
  fc.assert(
    fc.property(grants, grants, (held, kept) => {
      const caller = callerWith(held);
      const all = kept.length > 0 && kept.every((each) => mayGive(caller, each));
      assert.equal(mayChange(caller, kept), administersEverything(caller) || all);
    }),
  );
});

test('a database in which nothing is administered is not among the administered ones', () => {
  fc.assert(
    fc.property(grants, grant, (held, given) => {
      const caller = callerWith(held);
      const databases = administeredDatabases(caller);
      if (databases === undefined) assert.ok(administersEverything(caller));
      else if (mayGive(caller, given) && caller.grants.every((each) => each.database !== undefined)) {
        assert.ok(given.database !== undefined && databases.includes(given.database));
        assert.ok(isVisible(caller, given.database, []));
      }
      if (mayGive(caller, given)) assert.ok(administersAnything(caller));
    }),
  );
});
