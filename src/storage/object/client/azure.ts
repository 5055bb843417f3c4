import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { PartedContent } from '../../clone/clone-folder.ts';
import { PART_BYTES, passParts } from '../../clone/parts.ts';
import { storeMisconfigured, storeRefused } from '../object-store.ts';
import type { Condition, CopySource, ObjectStore, StoredObject } from '../object-store.ts';
import { findAzureSign, findSas } from './azure-signature.ts';
import { StoreHttp, encodeKey, encodeQuery } from './http.ts';
import type { HttpSettings } from './http.ts';
import { HttpStore, toCondition } from './http-store.ts';
import type { OptionReader } from './options.ts';
import { findElements, findText, requireText } from './xml.ts';

/** Opens containers of Azure Blob Storage, with the engine's options. */
export function createAzure(
  options: OptionReader,
  settings: HttpSettings & Partial<Pick<ContainerSettings, 'pageKeysMax'>>,
): (container: string) => ObjectStore {
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
  const { pageKeysMax = PAGE_KEYS } = settings;
  return (container) => new AzureContainer({ container, endpoint, sas, http, pageKeysMax });
}

interface ContainerSettings {
  readonly container: string;
  readonly endpoint: string;
  readonly sas: string | undefined;
  readonly http: StoreHttp;
  readonly pageKeysMax: number;
}

const PAGE_KEYS = 5000;
const CONCURRENT_MAX = 16;
const BLOCKS_MAX = 50_000;
/** Waits at most an hour for a copy that the store makes in the background. */
const COPY_PAUSE_MILLISECONDS = 500;
const COPY_PAUSES_MAX = 7200;

/** https://learn.microsoft.com/rest/api/storageservices/operations-on-blobs */
class AzureContainer extends HttpStore implements ObjectStore {
  protected readonly putHeaders = { 'x-ms-blob-type': 'BlockBlob' };
  protected readonly removeHeaders = { 'x-ms-delete-snapshots': 'include' };
  protected readonly ifAbsent = { 'if-none-match': '*' };
  protected readonly partBytes = PART_BYTES;
  readonly #settings: ContainerSettings;

  constructor(settings: ContainerSettings) {
    super(settings.http);
    this.#settings = settings;
  }

  get name(): string {
    return `az://${this.#settings.container}`;
  }

  protected ifUnchanged(headers: Headers): Condition {
    return toCondition('if-match', headers.get('etag'));
  }

  async *list(prefix: string, limit = Infinity): AsyncGenerator<StoredObject> {
    let left = limit;
    let marker: string | undefined;
    do {
      const maxresults = String(Math.min(left, this.#settings.pageKeysMax));
      const query = { restype: 'container', comp: 'list', prefix, maxresults, ...(marker ? { marker } : {}) };
      const { body } = await this.send({ method: 'GET', url: this.url('', query) }, [200]);
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

  /** https://learn.microsoft.com/rest/api/storageservices/put-block-list */
  protected async uploadParts(key: string, content: PartedContent): Promise<void> {
    const partBytes = Math.max(PART_BYTES, Math.ceil(content.bytes / BLOCKS_MAX));
    const ids = await passParts(content, partBytes, async (body, _, index) => {
      const blockid = Buffer.from(String(index).padStart(6, '0')).toString('base64');
      await this.send({ method: 'PUT', url: this.url(key, { comp: 'block', blockid }), body }, [201]);
      return blockid;
    });
    const blocks = ids.map((id) => `<Uncommitted>${id}</Uncommitted>`).join('');
    const body = Buffer.from(`<?xml version="1.0" encoding="utf-8"?><BlockList>${blocks}</BlockList>`);
    await this.send({ method: 'PUT', url: this.url(key, { comp: 'blocklist' }), body }, [201]);
  }

  async copy({ bucket, key: source }: CopySource, key: string): Promise<void> {
    const headers = { 'x-ms-copy-source': toUrl({ ...this.#settings, container: bucket }, source) };
    const started = await this.send({ method: 'PUT', url: this.url(key), headers }, [202]);
    let status = started.headers.get('x-ms-copy-status');
    for (let pauses = 0; status === 'pending' && pauses < COPY_PAUSES_MAX; pauses += 1) {
      await sleep(COPY_PAUSE_MILLISECONDS);
      status = (await this.send({ method: 'HEAD', url: this.url(key) }, [200])).headers.get('x-ms-copy-status');
    }
    if (status !== 'success') throw storeRefused(`a copy ended as ${status ?? 'unknown'}`);
  }

  async remove(keys: readonly string[]): Promise<void> {
    const headers = this.removeHeaders;
    await pLimit(CONCURRENT_MAX).map([...keys], async (key) =>
      this.send({ method: 'DELETE', url: this.url(key), headers }, [202, 404]),
    );
  }

  /** Azure removes uncommitted blocks by itself after a week. */
  async removeUnfinished(): Promise<number> {
    return 0;
  }

  protected url(key: string, query: Readonly<Record<string, string>> = {}): string {
    return toUrl(this.#settings, key, query);
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
