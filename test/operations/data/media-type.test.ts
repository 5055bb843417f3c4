import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { chooseMediaType } from '../../../src/operations/data/media-type.ts';
import { refusalOf } from '../../support/refusal.ts';

const OFFERED = ['application/json', 'text/plain', 'application/vnd.tiltyard.plan+json'] as const;

const choices: readonly (readonly [accept: string | undefined, chosen: string])[] = [
  [undefined, 'application/json'],
  ['', 'application/json'],
  ['  ', 'application/json'],
  ['*/*', 'application/json'],
  ['text/plain', 'text/plain'],
  ['Text/Plain; charset=utf-8', 'text/plain'],
  ['text/*', 'text/plain'],
  ['application/*', 'application/json'],
  ['application/vnd.tiltyard.plan+json', 'application/vnd.tiltyard.plan+json'],
  ['image/png, text/plain', 'text/plain'],
  ['text/plain, application/json', 'application/json'],
  ['text/plain;q=0.9, application/json;q=0.8', 'text/plain'],
  ['application/json;q=0.2, */*;q=0.1', 'application/json'],
  ['text/plain;q=0.5, */*', 'application/json'],
  ['*/*, application/json;q=0', 'text/plain'],
  ['application/*, application/json;q=0', 'application/vnd.tiltyard.plan+json'],
  ['text/plain ; Q=1 , application/json ; q=0.5', 'text/plain'],
  ['text/plain;q=7, application/json', 'application/json'],
  ['text/plain;q=high, application/json;q=0.1', 'application/json'],
];

for (const [accept, chosen] of choices) {
  test(`chooses ${chosen} for ${accept === undefined ? 'no Accept' : `Accept: ${accept}`}`, () => {
    assert.equal(chooseMediaType(accept, OFFERED), chosen);
  });
}

test('refuses when nothing that is accepted is offered', () => {
  for (const accept of ['image/png', '*/*;q=0', 'application/json;q=0', 'text', 'text/plain;q=0, application/xml']) {
    const refusal = refusalOf(() => chooseMediaType(accept, OFFERED));
    assert.equal(refusal.kind, 'NotAcceptable');
    assert.equal(refusal.traits.status, 406);
    assert.match(refusal.detail, /Offered are application\/json, text\/plain/);
  }
});

test('chooses one of those offered, or refuses, whatever the header says', () => {
  const piece = fc.constantFrom('text/plain', '*/*', 'application/*', ';q=', '0', '0.5', ',', ';', ' ', '=', '"', 'x');
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      try {
        assert.ok(OFFERED.some((type) => type === chooseMediaType(pieces.join(''), OFFERED)));
      } catch (error) {
        assert.equal((error as Error).name, 'ServiceError');
      }
    }),
  );
});
