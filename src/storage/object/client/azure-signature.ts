import { createHmac } from 'node:crypto';
import type { Sign, StoreRequest } from './http.ts';
import { fetchToken, keepFresh, readTextFile } from './options.ts';
import type { OptionReader } from './options.ts';

const API_VERSION = '2021-08-06';

/** Uses the first of: the account's key, a shared access signature, a token, an Entra application. */
export function findAzureSign(options: OptionReader, account: string): Sign {
  const key = options.find(
    'azure_storage_account_key',
    'azure_storage_access_key',
    'azure_storage_master_key',
    'account_key',
    'access_key',
    'master_key',
  );
  if (key !== undefined) return async (request) => signShared(withVersion(request), account, key);
  if (options.isTrue('azure_skip_signature', 'skip_signature') || findSas(options) !== undefined) {
    return async (request) => withVersion(request).headers;
  }
  const findToken = findTokens(options);
  return async (request) => {
    const { headers } = withVersion(request);
    return { ...headers, authorization: `Bearer ${(await findToken()).token}` };
  };
}

/** A shared access signature is a part of the address. */
export function findSas(options: OptionReader): string | undefined {
  const names = ['azure_storage_sas_token', 'azure_storage_sas_key', 'sas_token', 'sas_key'];
  return options.find(...names)?.replace(/^\?/, '');
}

function findTokens(options: OptionReader): () => Promise<{ readonly token: string }> {
  const token = options.find('azure_storage_token', 'bearer_token', 'token');
  if (token !== undefined) return async () => ({ token });
  const clientId = options.find('azure_storage_client_id', 'azure_client_id', 'client_id');
  const secret = options.find('azure_storage_client_secret', 'azure_client_secret', 'client_secret');
  const tenant = options.find('azure_storage_tenant_id', 'azure_tenant_id', 'tenant_id', 'azure_authority_id');
  const tokenFile = options.find('azure_federated_token_file', 'federated_token_file');
  if (clientId !== undefined && tenant !== undefined && (secret ?? tokenFile) !== undefined) {
    const host = options.find('azure_storage_authority_host', 'azure_authority_host', 'authority_host') ?? LOGIN;
    const url = `${host.replace(/\/+$/, '')}/${tenant}/oauth2/v2.0/token`;
    return keepFresh(async () => {
      // A platform renews the token file of a workload before it expires.
      const proof: Record<string, string> =
        secret === undefined
          ? { client_assertion_type: ASSERTION_TYPE, client_assertion: readTextFile(tokenFile ?? '') }
          : { client_secret: secret };
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        scope: 'https://storage.azure.com/.default',
        ...proof,
      });
      return fetchToken(url, { method: 'POST', body });
    });
  }
  const client = clientId === undefined ? '' : `&client_id=${encodeURIComponent(clientId)}`;
  const url = `${MACHINE_TOKEN}&resource=https%3A%2F%2Fstorage.azure.com%2F${client}`;
  return keepFresh(async () => fetchToken(url, { headers: { metadata: 'true' } }));
}

const LOGIN = 'https://login.microsoftonline.com';
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const MACHINE_TOKEN = 'http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01';

type VersionedRequest = StoreRequest & Required<Pick<StoreRequest, 'headers'>>;

function withVersion(request: StoreRequest): VersionedRequest {
  const headers = { ...request.headers, 'x-ms-version': API_VERSION, 'x-ms-date': new Date().toUTCString() };
  return { ...request, headers };
}

/** https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key */
function signShared({ method, url, headers, body }: VersionedRequest, account: string, key: string) {
  const { pathname, searchParams } = new URL(url);
  const length = body === undefined || body.length === 0 ? '' : String(body.length);
  const at = (name: string): string => headers[name] ?? '';
  const standard = [
    '',
    '',
    length,
    '',
    at('content-type'),
    '',
    '',
    at('if-match'),
    at('if-none-match'),
    '',
    at('range'),
  ];
  const own = Object.entries(headers)
    .filter(([name]) => name.startsWith('x-ms-'))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}:${value.trim()}`);
  const parameters = Array.from(searchParams, ([name, value]) => `${name.toLowerCase()}:${value}`).toSorted();
  const text = [method, ...standard, ...own, `/${account}${pathname}`, ...parameters].join('\n');
  const signature = createHmac('sha256', Buffer.from(key, 'base64')).update(text, 'utf8').digest('base64');
  return { ...headers, authorization: `SharedKey ${account}:${signature}` };
}
