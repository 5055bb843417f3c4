import { createSign } from 'node:crypto';
import { storeMisconfigured } from '../object-store.ts';
import type { ObjectStore } from '../object-store.ts';
import { BucketStore } from './bucket-store.ts';
import type { Dialect } from './bucket-store.ts';
import { StoreHttp } from './http.ts';
import type { HttpSettings, Sign } from './http.ts';
import { fetchToken, keepFresh, readTextFile } from './options.ts';
import type { OptionReader } from './options.ts';

/** https://cloud.google.com/storage/docs/xml-api/reference-headers */
const DIALECT: Dialect = {
  headerPrefix: 'x-goog-',
  ifAbsent: { 'x-goog-if-generation-match': '0' },
  identityHeader: 'x-goog-generation',
  conditionHeader: 'x-goog-if-generation-match',
  hasBulkRemoval: false,
  copyBytesMax: Infinity,
};

interface Token {
  readonly token: string;
  readonly expiresAtMilliseconds?: number;
}

interface ServiceAccount {
  readonly client_email?: string;
  readonly private_key?: string;
  readonly private_key_id?: string;
  readonly token_uri?: string;
  readonly gcs_base_url?: string;
  readonly disable_oauth?: boolean;
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly refresh_token?: string;
}

/** Opens buckets of Google Cloud Storage, with the engine's options. */
export function createGcs(options: OptionReader, settings: HttpSettings): (bucket: string) => ObjectStore {
  const account = findAccount(options);
  const given = options.find('google_base_url', 'base_url') ?? account?.gcs_base_url;
  const endpoint = options.readEndpoint(given ?? 'https://storage.googleapis.com', options.isTrue('allow_http'));
  const isPublic = options.isTrue('google_skip_signature', 'skip_signature') || account?.disable_oauth === true;
  const findToken = isPublic ? undefined : findTokens(options, account);
  const sign: Sign = async ({ headers }) => {
    if (findToken === undefined) return headers ?? {};
    return { ...headers, authorization: `Bearer ${(await findToken()).token}` };
  };
  const http = new StoreHttp(sign, settings);
  return (bucket) =>
    new BucketStore({ name: `gs://${bucket}`, bucket, url: `${endpoint}/${bucket}`, dialect: DIALECT, http });
}

function findAccount(options: OptionReader): ServiceAccount | undefined {
  const key = options.find('google_service_account_key', 'service_account_key');
  const file =
    options.find('google_service_account', 'service_account', 'google_service_account_path', 'service_account_path') ??
    options.find('google_application_credentials', 'application_credentials');
  return key === undefined && file === undefined ? undefined : readAccount(key, file);
}

function readAccount(key: string | undefined, file = ''): ServiceAccount {
  let account: unknown;
  try {
    account = JSON.parse(key ?? readTextFile(file));
  } catch {
    // What went wrong quotes the text, which has a private key.
  }
  if (typeof account === 'object' && account !== null) return account;
  throw storeMisconfigured(
    'The Google service account cannot be read, or is not a JSON object.',
    'Give its key file in the storage option google_service_account, or the contents in google_service_account_key.',
  );
}

function findTokens(options: OptionReader, account: ServiceAccount | undefined): () => Promise<Token> {
  const token = options.find('google_storage_token');
  if (token !== undefined) return async () => ({ token });
  if (account === undefined) return keepFresh(fetchMachineToken);
  return keepFresh(async () => (account.refresh_token === undefined ? fetchSigned(account) : fetchRefreshed(account)));
}

const TOKEN_URL = 'https://oauth2.googleapis.com/token';
const SCOPE = 'https://www.googleapis.com/auth/devstorage.read_write';

/** Signs with the key of a service account: RFC 7523, section 2.1. */
async function fetchSigned({ client_email, private_key, private_key_id, token_uri = TOKEN_URL }: ServiceAccount) {
  if (client_email === undefined || private_key === undefined) {
    throw new Error('The service account has no client_email or private_key.');
  }
  const seconds = Math.floor(Date.now() / 1000);
  const header = { alg: 'RS256', typ: 'JWT', kid: private_key_id };
  const claims = { iss: client_email, scope: SCOPE, aud: token_uri, iat: seconds, exp: seconds + 3600 };
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature = createSign('RSA-SHA256').update(text).sign(private_key, 'base64url');
  const assertion = `${text}.${signature}`;
  const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
  return fetchToken(token_uri, { method: 'POST', body });
}

/** Uses the file that `gcloud auth application-default login` writes. */
async function fetchRefreshed({ client_id = '', client_secret = '', refresh_token = '' }: ServiceAccount) {
  const body = new URLSearchParams({ grant_type: 'refresh_token', client_id, client_secret, refresh_token });
  return fetchToken(TOKEN_URL, { method: 'POST', body });
}

async function fetchMachineToken() {
  const path = '/computeMetadata/v1/instance/service-accounts/default/token';
  return fetchToken(`http://metadata.google.internal${path}`, { headers: { 'metadata-flavor': 'Google' } });
}
