import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findRootFault, isLoopback } from '../../src/model/address.ts';

test('knows the hosts that reach this machine only', () => {
  for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.9.8.7', '::1', '[::1]', '0:0:0:0:0:0:0:1']) {
    assert.equal(isLoopback(host), true, host);
  }
});

test('takes every other host for reachable', () => {
  const hosts = ['0.0.0.0', '::', '10.0.0.1', '127.example.com', '127.0.0.1.example.com', 'localhost.example.com', ''];
  for (const host of hosts) assert.equal(isLoopback(host), false, host);
});

test('names what the address of a storage root must not contain', () => {
  const refused: [root: string, found: RegExp][] = [
    ['s3://bucket/a#b', /"#", which ends the path/],
    ['gs://bucket/a?b', /"\?", which ends the path/],
    ['az://container/a%20b', /"%20", which the engine decodes/],
    ['s3://bucket/%c3%a9/x', /"%c3"/],
    ['s3://bucket/a//b', /"\/\/" in its path/],
    ['s3://bucket//a', /"\/\/" in its path/],
    ['s3://bucket/a/../b', /the segment "\.\."/],
    ['s3://bucket/.', /the segment "\."/],
    ['s3://bucket/a ', /a space at its end/],
    ['s3://bucket/a\nb', /the control character "\\n"/],
    ['s3://user:secret@bucket/a', /^":" in the bucket$/],
    ['s3://user@bucket/a', /^"@" in the bucket$/],
    ['s3://bucket:9000/a', /^":" in the bucket$/],
    ['s3://bucket#a', /^"#" in the bucket$/],
    ['/srv/a\tb', /the control character "\\t"/],
    ['/srv/a?b', /"\?", which ends the path/],
  ];
  for (const [root, found] of refused) {
    const fault = findRootFault(root);
    assert.match(fault?.found ?? '', found, root);
    assert.match(fault?.advice ?? '', /^[A-Z].*\.$/, root);
    assert.doesNotMatch(JSON.stringify(fault), /secret/);
  }
});

test('takes what the engine reads as it is written', () => {
  const paths = [
    '',
    '/',
    '/a b/c',
    '/a~b',
    '/a*b',
    '/é/漢',
    '/100%',
    '/a%zz',
    '/a+b=c&d',
    "/it's",
    '/[a]',
    '/a\\b',
    '/...',
  ];
  const addresses = paths.map((path) => `s3://my_bucket.x-1${path}`);
  for (const root of [...addresses, 'az://$web/a', '/srv/a#b', '/srv/100%', '/home/josé', 'a b', 'C:\\tables']) {
    assert.equal(findRootFault(root), undefined, root);
  }
});
