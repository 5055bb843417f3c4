import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { readWord } from '../../../src/operations/shared/parameters.ts';

const WORDS = ['create', 'exist_ok', 'overwrite'] as const;

test('is the first word when none is given', () => {
  assert.equal(readWord('mode', undefined, WORDS), 'create');
});

test('knows a word in any case, with or without underscores and quotes', () => {
  const spelt = fc.record({
    word: fc.constantFrom(...WORDS),
    isPlain: fc.boolean(),
    isQuoted: fc.boolean(),
    isLoud: fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }),
  });
  fc.assert(
    fc.property(spelt, ({ word, isPlain, isQuoted, isLoud }) => {
      const letters = [...(isPlain ? word.replaceAll('_', '') : word)];
      const text = letters.map((letter, index) => (isLoud[index] === true ? letter.toUpperCase() : letter)).join('');
      assert.equal(readWord('mode', isQuoted ? `"${text}"` : text, WORDS), word);
    }),
  );
});

test('refuses any other text, and tells it', () => {
  const other = fc.string().filter((text) => !WORDS.some((word) => text.toLowerCase().includes(word.slice(0, 3))));
  fc.assert(
    fc.property(other, (text) => {
      assert.throws(
        () => readWord('mode', text, WORDS),
        (error) =>
          error instanceof ServiceError && error.kind === 'InvalidInput' && error.message.startsWith('The mode '),
      );
    }),
  );
});
