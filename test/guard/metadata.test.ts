import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../src/errors/service-error.ts';
import {
  guardMetadata,
  guardProperties,
  guardStorageOptions,
  guardTableProperties,
  guardVersionMetadata,
} from '../../src/guard/metadata.ts';
import { metadataLimits } from './limits.ts';

describe('guardMetadata', () => {
  it('passes ordinary keys, values and deletions', () => {
    metadata({ unit: 'EUR', lance: 'x', 'lancelot-x': 'y', packed_size: '1', 'my:lance-x': 'z', gone: null, '': '' });
  });

  for (const key of [
    'lance-schema:unenforced-primary-key',
    'lance-encoding:blob',
    'LANCE-encoding:packed',
    'lance:x',
    'packed',
    'Packed',
    'ARROW:extension:name',
    'arrow:extension:metadata',
  ]) {
    it(`refuses the key ${key}, which belongs to the storage format`, () => {
      const error = refused(() => metadata({ fine: 'x', [key]: null }));
      assert.match(error.message, /updates\[1\]\.metadata belongs to the storage format/);
      assert.ok(error.message.includes(JSON.stringify(key)));
    });
  }

  it('refuses more entries than allowed, and longer keys and values in bytes', () => {
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`k${index}`, 'v']));
    assert.match(refused(() => metadata(many)).message, /has 9 entries; at most 8/);
    metadata({ ['é'.repeat(32)]: 'é'.repeat(128) });
    assert.match(refused(() => metadata({ ['é'.repeat(33)]: 'x' })).message, /^The key .* longer than 64 bytes/);
    assert.match(refused(() => metadata({ k: 'é'.repeat(129) })).message, /^The value of "k" .* longer than 256 bytes/);
  });

  it('checks a key that is named like a member of every object', () => {
    const entries: Record<string, string> = JSON.parse('{"__proto__": "x", "constructor": "y"}');
    metadata(entries);
    assert.match(
      refused(() => metadata(JSON.parse(`{"__proto__": ${JSON.stringify('x'.repeat(300))}}`))).message,
      /The value of "__proto__"/,
    );
  });
});

describe('guardProperties', () => {
  it('passes what fits and refuses what does not', () => {
    guardProperties({ owner: 'x', 'lance-x': 'allowed here' }, 'properties', metadataLimits);
    const many = { a: '', b: '', c: '', d: '', e: '' };
    const error = refused(() => guardProperties(many, 'properties', metadataLimits));
    assert.equal(error.message, 'properties has 5 entries; at most 4 are allowed.');
  });

  it('bounds the bytes of all keys and values together, and counts those that a table has already', () => {
    const present = { a: 'x'.repeat(250) };
    guardTableProperties({ b: 'x'.repeat(48) }, metadataLimits, present);
    guardTableProperties({ a: 'é'.repeat(100) }, metadataLimits, present);
    const error = refused(() => guardTableProperties({ b: 'x'.repeat(49) }, metadataLimits, present));
    assert.equal(error.message, 'properties has 301 bytes in total; at most 300 bytes are allowed.');
    const many = { b: '', c: '', d: '', e: '' };
    assert.match(refused(() => guardTableProperties(many, metadataLimits, present)).message, /5 entries; at most 4/);
  });
});

describe('guardVersionMetadata', () => {
  it('bounds the entries, and the bytes of all keys and values together', () => {
    // 4 bytes of keys, 508 of values.
    const entries = { a: 'x'.repeat(250), b: 'x'.repeat(250), c: 'é'.repeat(4), d: '' };
    guardVersionMetadata(entries, metadataLimits);
    const error = refused(() => guardVersionMetadata({ ...entries, d: 'x' }, metadataLimits));
    assert.match(error.message, /^metadata is longer than 512 /);
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`${index}`, '']));
    assert.match(
      refused(() => guardVersionMetadata(many, metadataLimits)).message,
      /metadata has 9 entries; at most 8/,
    );
  });
});

describe('guardStorageOptions', () => {
  it('passes options that say how a table is written', () => {
    guardStorageOptions({}, []);
    guardStorageOptions({ new_table_data_storage_version: '2.2', new_table_enable_stable_row_ids: 'true' }, []);
    guardStorageOptions({ timeout: '30s', connect_timeout: '500 ms', client_max_retries: '3', Timeout: '1m' }, []);
  });

  const forbidden = `aws_access_key_id AWS_SECRET_ACCESS_KEY aws_session_token aws_endpoint endpoint aws_region region
    allow_http allow_invalid_certificates proxy_url proxy_ca_certificate user_agent azure_storage_account_name
    azure_storage_sas_token google_service_account google_storage_token host access_key_id bucket
    virtual_hosted_style_request skip_signature nonsense __proto__`.split(/\s+/);
  for (const key of ['', ...forbidden]) {
    it(`refuses the key ${JSON.stringify(key)}`, () => {
      const options: Record<string, string> = JSON.parse(`{${JSON.stringify(key)}: "x"}`);
      const error = refused(() => guardStorageOptions(options, []));
      assert.ok(error.message.includes(JSON.stringify(key)));
      assert.match(error.hint ?? '', /new_table_data_storage_version/);
    });
  }

  it('passes what the administrator allowed, in any case of letters, up to a length', () => {
    guardStorageOptions({ AWS_Region: 'eu-west-1' }, ['aws_region']);
    guardStorageOptions({ aws_region: 'eu-west-1' }, ['AWS_REGION']);
    assert.ok(refused(() => guardStorageOptions({ aws_region: 'x'.repeat(1025) }, ['aws_region'])));
    assert.ok(refused(() => guardStorageOptions({ aws_endpoint: 'x' }, ['aws_region'])));
  });

  it('refuses values that do not fit a known option, and never shows them', () => {
    for (const [key, value] of [
      ['new_table_data_storage_version', 'zzz'],
      ['new_table_enable_v2_manifest_paths', 'yes'],
      ['timeout', '999999999s'],
      ['client_max_retries', '1000000'],
      ['client_retry_timeout', '-1'],
    ] as const) {
      const error = refused(() => guardStorageOptions({ [key]: value }, []));
      assert.ok(error.message.includes(key) && !error.detail.includes(value), error.detail);
    }
  });

  it('lets no unknown key through', () => {
    fc.assert(
      fc.property(fc.string(), (key) => {
        fc.pre(!/^(new_table_|timeout|connect_|download_|client_)/i.test(key));
        refused(() => guardStorageOptions(Object.fromEntries([[key, 'true']]), ['aws_region_x']));
      }),
    );
  });
});

function metadata(entries: Readonly<Record<string, string | null>>): void {
  guardMetadata(entries, 'updates[1].metadata', metadataLimits);
}

function refused(action: () => void): ServiceError {
  try {
    action();
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.kind === 'InvalidInput', String(error));
    return error;
  }
  return assert.fail('passed');
}
