import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  ROLES,
  covers,
  isPermitted,
  isVisible,
  readableScopes,
  readableTables,
  visibleNamespaces,
} from '../../src/model/access.ts';
import type { Caller, Grant, Permission, Role } from '../../src/model/access.ts';

const NEEDS: readonly (readonly [Permission, Role])[] = [
  ['read', 'reader'],
  ['write', 'writer'],
  ['manage', 'owner'],
  ['administer', 'admin'],
];

const path = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 });
const database = fc.constantFrom('one', 'two');
const grant = fc.record({
  role: fc.constantFrom(...ROLES),
  database: fc.option(database, { nil: undefined }),
  path,
});

const callers = fc.array(grant, { maxLength: 4 }).map((grants) => callerWith(...grants));

describe('the names directly below a path', () => {
  it('are those namespaces that the caller may see', () => {
    fc.assert(
      fc.property(callers, database, path, fc.constantFrom('a', 'b', 'c'), (caller, name, parent, child) => {
        const children = visibleNamespaces(caller, name, parent);
        const isListed = children === 'all' || children.includes(child);
        assert.equal(isListed, isVisible(caller, name, [...parent, child]));
      }),
    );
  });

  it('are those tables that the caller may read', () => {
    fc.assert(
      fc.property(callers, database, path, fc.constantFrom('a', 'b', 'c'), (caller, name, parent, child) => {
        const children = readableTables(caller, name, parent);
        const isListed = children === 'all' || children.includes(child);
        assert.equal(isListed, isPermitted(caller, 'read', name, [...parent, child]));
      }),
    );
  });
});

describe('the scopes below a path', () => {
  it('hold what the caller may read there, and nothing else', () => {
    fc.assert(
      fc.property(callers, database, path, path, (caller, name, below, rest) => {
        const target = [...below, ...rest];
        const scopes = readableScopes(caller, name, below);
        const isInside = scopes.some((scope) => scope.every((part, index) => part === target[index]));
        assert.equal(isInside, isPermitted(caller, 'read', name, target));
        for (const scope of scopes) assert.deepEqual(scope.slice(0, below.length), below);
      }),
    );
  });
});

describe('isPermitted', () => {
  for (const [index, role] of ROLES.entries()) {
    it(`lets the ${role} do what the roles up to it may, and no more`, () => {
      const caller = callerWith({ role, database: 'main', path: ['sales'] });
      for (const [permission, needed] of NEEDS) {
        const expected = index >= ROLES.indexOf(needed);
        assert.equal(isPermitted(caller, permission, 'main', ['sales', 'orders']), expected, permission);
      }
    });
  }

  it('reaches downward from where the grant is, and nowhere else', () => {
    const caller = callerWith({ role: 'admin', database: 'main', path: ['sales', 'eu'] });
    assert.ok(isPermitted(caller, 'read', 'main', ['sales', 'eu']));
    assert.ok(isPermitted(caller, 'read', 'main', ['sales', 'eu', 'x', 'y']));
    assert.ok(!isPermitted(caller, 'read', 'main', ['sales']));
    assert.ok(!isPermitted(caller, 'read', 'main', []));
    assert.ok(!isPermitted(caller, 'read', 'main', ['sales', 'europe']));
    assert.ok(!isPermitted(caller, 'read', 'other', ['sales', 'eu']));
  });

  it('reaches every database with a grant that names none', () => {
    const caller = callerWith({ role: 'reader', database: undefined, path: ['sales'] });
    assert.ok(isPermitted(caller, 'read', 'main', ['sales', 'orders']));
    assert.ok(isPermitted(caller, 'read', 'other', ['sales']));
    assert.ok(!isPermitted(caller, 'read', 'main', ['hr']));
  });

  it('takes the greatest of several grants', () => {
    const caller = callerWith(
      { role: 'reader', database: 'main', path: [] },
      { role: 'writer', database: 'main', path: ['sales'] },
    );
    assert.ok(isPermitted(caller, 'write', 'main', ['sales', 'orders']));
    assert.ok(!isPermitted(caller, 'write', 'main', ['hr']));
  });

  it('permits nothing without a grant', () => {
    for (const [permission] of NEEDS) assert.ok(!isPermitted(callerWith(), permission, 'main', []));
    assert.ok(!isPermitted(callerWith(), 'see', 'main', []));
  });

  it('never permits what is not visible, and permits below what it permits above', () => {
    fc.assert(
      fc.property(
        fc.array(grant, { maxLength: 4 }),
        database,
        path,
        fc.constantFrom('a', 'b'),
        (grants, where, at, next) => {
          const caller = callerWith(...grants);
          for (const [permission] of NEEDS) {
            if (!isPermitted(caller, permission, where, at)) continue;
            assert.ok(isVisible(caller, where, at));
            assert.ok(isPermitted(caller, permission, where, [...at, next]));
          }
        },
      ),
    );
  });
});

describe('isVisible', () => {
  it('shows what lies above a grant, and hides what lies beside it', () => {
    const caller = callerWith({ role: 'reader', database: 'main', path: ['sales', 'eu'] });
    for (const shown of [[], ['sales'], ['sales', 'eu'], ['sales', 'eu', 'orders']]) {
      assert.ok(isVisible(caller, 'main', shown), shown.join('$'));
      assert.equal(isPermitted(caller, 'see', 'main', shown), true);
    }
    for (const hidden of [['hr'], ['sales', 'us'], ['sale']]) assert.ok(!isVisible(caller, 'main', hidden));
    assert.ok(!isVisible(caller, 'other', []));
  });

  it('shows the way to a grant in every database, when the grant names none', () => {
    const caller = callerWith({ role: 'reader', database: undefined, path: ['sales', 'eu'] });
    assert.ok(isVisible(caller, 'main', []));
    assert.ok(isVisible(caller, 'other', ['sales']));
  });
});

describe('readableScopes', () => {
  it('gives the outermost paths of a database in order', () => {
    const caller = callerWith(
      { role: 'reader', database: 'main', path: ['b', 'x'] },
      { role: 'writer', database: 'main', path: ['b'] },
      { role: 'reader', database: undefined, path: ['a', 'y'] },
      { role: 'reader', database: 'other', path: [] },
      { role: 'admin', database: 'main', path: ['b'] },
    );
    assert.deepEqual(readableScopes(caller, 'main'), [['a', 'y'], ['b']]);
    assert.deepEqual(readableScopes(caller, 'other'), [[]]);
    assert.deepEqual(readableScopes(callerWith(), 'main'), []);
  });

  it('has none inside another', () => {
    fc.assert(
      fc.property(fc.array(grant, { maxLength: 8 }), database, path, (grants, where, below) => {
        const scopes = readableScopes(callerWith(...grants), where, below);
        for (const [index, path] of scopes.entries()) {
          const others = scopes.filter((_other, at) => at !== index);
          assert.ok(!others.some((other) => covers({ role: 'reader', database: where, path: other }, where, path)));
        }
      }),
    );
  });

  it('covers exactly what may be read', () => {
    fc.assert(
      fc.property(fc.array(grant, { maxLength: 5 }), database, path, (grants, where, at) => {
        const caller = callerWith(...grants);
        const scopes = readableScopes(caller, where);
        const covered = scopes.some((scope) => covers({ role: 'reader', database: where, path: scope }, where, at));
        assert.equal(covered, isPermitted(caller, 'read', where, at));
      }),
    );
  });
});

function callerWith(...grants: readonly Grant[]): Caller {
  return { id: 'someone', kind: 'key', grants };
}
