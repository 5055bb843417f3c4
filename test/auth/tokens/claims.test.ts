import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { findSubject, grantsOfClaims } from '../../../src/auth/tokens/claims.ts';
import type { Grant } from '../../../src/model/access.ts';

const GRANT: Grant = { role: 'writer', database: 'main', path: ['sales'] };

suite('grants by claim', () => {
  const cases: readonly [title: string, claim: unknown, isGiven: boolean][] = [
    ['the claim equals the value', 'team a', true],
    ['the value is an element of the claim', ['x', 'team a'], true],
    ['no element equals the value', ['x', 'team', 'a'], false],
    ['an element only contains the value as a word', ['the team a'], false],
    ['the claim differs in case', 'Team a', false],
    ['the claim is an object', { 'team a': true }, false],
    ['the claim is null', null, false],
  ];
  for (const [title, claim, isGiven] of cases) {
    test(`are ${isGiven ? 'given' : 'not given'} when ${title}`, () => {
      const grants = grantsOfClaims({ groups: claim }, [{ claim: 'groups', value: 'team a', grant: GRANT }]);
      assert.deepEqual(grants, isGiven ? [GRANT] : []);
    });
  }

  test('are given for each whole word of a space-separated text', () => {
    const rules = ['read', 'write', 'rea'].map((value) => ({
      claim: 'scope',
      value,
      grant: { ...GRANT, path: [value] },
    }));
    const grants = grantsOfClaims({ scope: 'openid read  write' }, rules);
    assert.deepEqual(
      grants.map(({ path }) => path),
      [['read'], ['write']],
    );
  });

  test('are not given by what every object inherits', () => {
    const rules = [{ claim: 'constructor', value: 'Object', grant: GRANT }];
    assert.deepEqual(grantsOfClaims({}, rules), []);
  });
});

suite('subject', () => {
  test('is the text of the claim that the settings name', () => {
    assert.equal(findSubject({ sub: 'a', email: 'ada@example.test' }, 'email'), 'ada@example.test');
  });

  const unusable = [undefined, null, 7, '', ['ada'], 'a\nb', 'a\u0000', 'a\u202eb', 'a\u2028b', 'x'.repeat(256)];
  for (const subject of unusable) {
    test(`is not usable when it is ${JSON.stringify(subject)?.slice(0, 20)}`, () => {
      assert.equal(findSubject({ claim: subject }, 'claim'), undefined);
    });
  }
});
