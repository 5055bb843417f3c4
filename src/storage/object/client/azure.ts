import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { storeMisconfigured, storeRefused } from '../object-store.ts';
import type { CopySource, ObjectPart, ObjectStore, StoredObject } from '../object-store.ts';
import { findAzureSign, findSas } from './azure-signature.ts';
import { StoreHttp, encodeKey, encodeQuery } from './http.ts';
import type { HttpSettings, StoreReply, StoreRequest } from './http.ts';
import type { OptionReader } from './options.ts';
import { resolveCreated, toPart } from './replies.ts';
import { findElements, findText, requireText } from './xml.ts';

/** Opens containers of Azure Blob Storage, with the options that the engine takes. */
export function createAzure(options: OptionReader, settings: HttpSettings): (container: string) => ObjectStore {
  const isEmulator = options.isTrue('azure_storage_use_emulator', 'use_emulator');
  const account = options.find('azure_storage_account_name', 'account_name') ?? (isEmulator ? 'devstoreaccount1' : '');
  if (account === '') {
    throw storeMisconfigured(
      'An az:// address needs an account.',
      'Set the storage option azure_storage_account_name.',
    );
  }
  const given =
    options.find('azure_storage_endpoint', 'azure_endpoint', 'endpoint') ??
    (isEmulator ? `http://127.0.0.1:10000/${account}` : `https://${account}.blob.core.windows.net`);
  const endpoint = options.readEndpoint(given, isEmulator || options.isTrue('allow_http'));
  const sas = findSas(options);
  const http = new StoreHttp(findAzureSign(options, account), settings);
  return (container) => new AzureContainer({ container, endpoint, sas, http });
}

interface ContainerSettings {
  readonly container: string;
  readonly endpoint: string;
  readonly sas: string | undefined;
  readonly http: StoreHttp;
}

const PAGE_KEYS = 5000;
const CONCURRENT_MAX = 16;
const BLOB = { 'x-ms-blob-type': 'BlockBlob' };
/** Pauses of a copy that the store makes in the background, and their number: an hour. */
const COPY_PAUSE_MILLISECONDS = 500;
const COPY_PAUSES_MAX = 7200;

/** https://learn.microsoft.com/rest/api/storageservices/operations-on-blobs */
class AzureContainer implements ObjectStore {
  readonly #settings: ContainerSettings;

  constructor(settings: ContainerSettings) {
    this.#settings = settings;
  }

  get name(): string {
    return `az://${this.#settings.container}`;
  }

  async get(key: string): Promise<Buffer | undefined> {
    const { status, body } = await this.#send({ method: 'GET', url: this.#url(key) }, [200, 404]);
    return status === 404 ? undefined : body;
  }

  async getRange(key: string, start: number, length: number): Promise<ObjectPart | undefined> {
    const headers = { range: `bytes=${start}-${start + length - 1}` };
    return toPart(await this.#send({ method: 'GET', url: this.#url(key), headers }, [206, 404, 416]));
  }

  async measure(key: string): Promise<number | undefined> {
    const { status, headers } = await this.#send({ method: 'HEAD', url: this.#url(key) }, [200, 404]);
    return status === 404 ? undefined : Number(headers.get('content-length'));
  }

  async put(key: string, content: Buffer): Promise<void> {
    await this.#send({ method: 'PUT', url: this.#url(key), headers: BLOB, body: content }, [201]);
  }

  /** 409: the blob exists. */
  async putIfAbsent(key: string, content: Buffer): Promise<boolean> {
    const headers = { ...BLOB, 'if-none-match': '*' };
    const put = async (): Promise<StoreReply> =>
      this.#send({ method: 'PUT', url: this.#url(key), headers, body: content }, [201, 409, 412]);
    return resolveCreated(put, async () => this.get(key), content);
  }

  async *list(prefix: string, limit = Infinity): AsyncGenerator<StoredObject> {
    let left = limit;
    let marker: string | undefined;
    do {
      const maxresults = String(Math.min(left, PAGE_KEYS));
      const query = { restype: 'container', comp: 'list', prefix, maxresults, ...(marker ? { marker } : {}) };
      const { body } = await this.#send({ method: 'GET', url: this.#url('', query) }, [200]);
      const page = body.toString('utf8');
      for (const entry of findElements(page, 'Blob')) {
        yield {
          key: requireText(entry, 'Name'),
          bytes: Number(requireText(entry, 'Content-Length')),
          modifiedAtMilliseconds: Date.parse(requireText(entry, 'Last-Modified')),
        };
        left -= 1;
      }
      marker = findText(page, 'NextMarker');
    } while (marker !== undefined && marker !== '' && left > 0);
  }

  async copy({ bucket, key: source }: CopySource, key: string): Promise<void> {
    const headers = { 'x-ms-copy-source': toUrl({ ...this.#settings, container: bucket }, source) };
    const started = await this.#send({ method: 'PUT', url: this.#url(key), headers }, [202]);
    let status = started.headers.get('x-ms-copy-status');
    for (let pauses = 0; status === 'pending' && pauses < COPY_PAUSES_MAX; pauses += 1) {
      await sleep(COPY_PAUSE_MILLISECONDS);
      status = (await this.#send({ method: 'HEAD', url: this.#url(key) }, [200])).headers.get('x-ms-copy-status');
    }
    if (status !== 'success') throw storeRefused(`a copy ended as ${status ?? 'unknown'}`);
  }

  async remove(keys: readonly string[]): Promise<void> {
    const headers = { 'x-ms-delete-snapshots': 'include' };
    await pLimit(CONCURRENT_MAX).map([...keys], async (key) =>
      this.#send({ method: 'DELETE', url: this.#url(key), headers }, [202, 404]),
    );
  }

  /** Azure removes blocks that were never committed itself, after a week. */
  async removeUnfinished(): Promise<number> {
    return 0;
  }

  #url(key: string, query: Readonly<Record<string, string>> = {}): string {
    return toUrl(this.#settings, key, query);
  }

  async #send(request: StoreRequest, expected: readonly number[]): Promise<StoreReply> {
    return this.#settings.http.send(request, expected);
  }
}

function toUrl(
  { endpoint, container, sas }: ContainerSettings,
  key: string,
  query: Readonly<Record<string, string>> = {},
): string {
  const parameters = [encodeQuery(query).slice(1), sas ?? ''].filter((part) => part !== '').join('&');
  const path = key === '' ? container : `${container}/${encodeKey(key)}`;
  return `${endpoint}/${path}${parameters === '' ? '' : `?${parameters}`}`;
}
