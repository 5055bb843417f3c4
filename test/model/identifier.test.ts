import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../src/errors/service-error.ts';
import {
  checkName,
  checkNames,
  comparePaths,
  formatPath,
  isWithin,
  nameOf,
  namespaceOf,
  parseNamespacePath,
  parseTablePath,
  pathSegment,
  quoteForMessage,
  toTablePath,
} from '../../src/model/identifier.ts';

const delimiter = fc.constantFrom('$', '.', '::', '->', 'aba', '$$', 'x', '/', '%', '日');
const names = fc.array(fc.string({ unit: fc.constantFrom(...'ab:$.->x日é _'.split('')), minLength: 1, maxLength: 6 }), {
  maxLength: 5,
});

describe('parseNamespacePath', () => {
  it('reads the delimiter alone as the root', () => {
    assert.deepEqual(parseNamespacePath('$', '$'), []);
    assert.deepEqual(parseNamespacePath('::', '::'), []);
  });

  it('splits at every delimiter', () => {
    assert.deepEqual(parseNamespacePath('sales$eu$2024', '$'), ['sales', 'eu', '2024']);
    assert.deepEqual(parseNamespacePath('sales$eu', '.'), ['sales$eu']);
  });

  it('keeps spaces, marks and letters of any script as they are', () => {
    const odd = ' a"b\'c`d:e;f|g*h<i>j&k=l+m~n!o@p^q(r)s[t]u{v}, é日本😀 ';
    assert.deepEqual(parseNamespacePath(odd, '$'), [odd]);
  });

  for (const text of ['', '$$', 'a$', '$a', 'a$$b']) {
    it(`refuses the empty name in ${JSON.stringify(text)}`, () => {
      assert.match(refused(() => parseNamespacePath(text, '$')).message, /^The name "" is empty\.$/);
    });
  }

  for (const wrong of ['', 'x'.repeat(9), '\n', 'a\u0000', '\u200b', '\ud800']) {
    it(`refuses the delimiter ${JSON.stringify(wrong)}`, () => {
      assert.match(refused(() => parseNamespacePath('a', wrong)).message, /^The delimiter .* is not valid\.$/);
    });
  }

  it('refuses a path of too many names', () => {
    assert.equal(parseNamespacePath('a$'.repeat(31) + 'a', '$').length, 32);
    assert.match(refused(() => parseNamespacePath('a$'.repeat(32) + 'a', '$')).message, /has 33 names; at most 32/);
  });

  it('reads back every path that it would accept, with any delimiter', () => {
    fc.assert(
      fc.property(names, delimiter, (path, separator) => {
        fc.pre(accepts(() => checkNames(path, separator)));
        assert.deepEqual(parseNamespacePath(formatPath(path, separator), separator), path);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('parseTablePath and toTablePath', () => {
  it('read a table below its namespaces', () => {
    const path = parseTablePath('sales$eu$orders', '$');
    assert.equal(nameOf(path), 'orders');
    assert.deepEqual(namespaceOf(path), ['sales', 'eu']);
    assert.deepEqual(toTablePath(['sales', 'eu', 'orders'], '$'), path);
    assert.deepEqual(namespaceOf(parseTablePath('orders', '$')), []);
  });

  it('refuse the root', () => {
    for (const action of [() => parseTablePath('$', '$'), () => toTablePath([], '$')]) {
      assert.match(refused(action).message, /that of the root namespace/);
    }
  });

  it('refuse a name with the delimiter in it, which would be another path', () => {
    assert.match(refused(() => toTablePath(['a$b'], '$')).message, /"a\$b" contains the delimiter "\$"/);
    assert.match(
      refused(() => toTablePath(['a:', 'b'], '::')).message,
      /"a:" ends with the start of the delimiter "::"/,
    );
  });
});

describe('checkName', () => {
  for (const [name, fault] of [
    ['.', /is reserved/],
    ['..', /is reserved/],
    ['a/b', /contains the character "\/"/],
    ['a\\b', /contains the character "\\\\"/],
    ['a?b', /contains the character "\?"/],
    ['a#b', /contains the character "#"/],
    ['a%2fb', /contains the character "%"/],
    ['a\nb', /contains the character "\\n"/],
    ['a\u0000', /contains the character "\\u0000"/],
    ['a\u007f', /contains the character "\\u\{7f\}"/],
    ['a\u200bb', /contains the character "\\u\{200b\}"/],
    ['a\u202eb', /contains the character "\\u\{202e\}"/],
    ['a\ufeff', /contains the character "\\u\{feff\}"/],
    ['a\u2028', /contains the character "\\u\{2028\}"/],
    ['a\ud800', /contains the character "\\ud800"/],
    ['x'.repeat(256), /is longer than 255 bytes/],
    ['é'.repeat(128), /is longer than 255 bytes/],
  ] as const) {
    it(`refuses ${JSON.stringify(name.slice(0, 20))} and says why`, () => {
      const error = refused(() => checkName(name, '$'));
      assert.equal(error.kind, 'InvalidInput');
      assert.match(error.message, fault);
    });
  }

  it('accepts names up to 255 bytes, and dots among other characters', () => {
    for (const name of ['x'.repeat(255), '日'.repeat(85), '...', '.a', 'a.b', '-', ' ']) checkName(name, '$');
  });
});

describe('comparePaths', () => {
  it('puts a path before those below it, and orders by UTF-8 bytes', () => {
    const ordered = [[], ['a'], ['a', 'b'], ['a!'], ['b'], ['é'], ['\uffee'], ['😀']];
    assert.deepEqual(ordered.toReversed().toSorted(comparePaths), ordered);
  });

  it('is an order', () => {
    fc.assert(
      fc.property(names, names, names, (one, two, three) => {
        assert.equal(Math.sign(comparePaths(one, two)), -Math.sign(comparePaths(two, one)) || 0);
        if (comparePaths(one, two) <= 0 && comparePaths(two, three) <= 0) assert.ok(comparePaths(one, three) <= 0);
        assert.equal(comparePaths(one, [...one]), 0);
      }),
    );
  });
});

describe('quoteForMessage', () => {
  it('shows what is invisible and cuts what is long', () => {
    assert.equal(quoteForMessage('a"b'), '"a\\"b"');
    assert.equal(quoteForMessage('a\u202eb\u200b\u2028\u0085'), '"a\\u{202e}b\\u{200b}\\u{2028}\\u{85}"');
    assert.equal(quoteForMessage('x'.repeat(1000)), `"${'x'.repeat(80)}…"`);
  });

  it('never gives a line break, a control character or half of a pair, and stays short', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const shown = quoteForMessage(text);
        assert.doesNotMatch(shown, /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
        assert.ok(shown.length <= 80 * 9 + 3);
      }),
    );
  });
});

function accepts(action: () => unknown): boolean {
  try {
    action();
    return true;
  } catch {
    return false;
  }
}

function refused(action: () => unknown): ServiceError {
  try {
    action();
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    return error;
  }
  return assert.fail('accepted');
}

describe('pathSegment', () => {
  it('gives a segment that URL parsers keep', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (text) => {
        fc.pre(text !== '.' && text !== '..');
        const { pathname } = new URL(`http://host/a/${pathSegment(text)}/b`);
        assert.deepEqual(pathname.split('/').map(decodeURIComponent), ['', 'a', text, 'b']);
      }),
    );
  });

  for (const text of ['', '.', '..', '\ud800']) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => pathSegment(text), ServiceError);
    });
  }
});

describe('isWithin', () => {
  for (const [path, outer, expected] of [
    [['a'], [], true],
    [['a'], ['a'], true],
    [['a', 'b'], ['a'], true],
    [['a'], ['a', 'b'], false],
    [['ab'], ['a'], false],
    [['b', 'a'], ['a'], false],
  ] as const) {
    it(`is ${expected} for ${path.join('/')} and "${outer.join('/')}"`, () => {
      assert.equal(isWithin(path, outer), expected);
    });
  }
});
