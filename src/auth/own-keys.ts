import type { CryptoKey, JWSHeaderParameters } from 'jose';
import { isSameKeys, matchPublicKeys } from './signing-key.ts';
import type { SigningKeyText } from './signing-key.ts';

/** The keys that our own token endpoint signs with, from the catalog: no request leaves the process for them. */
export class OwnKeys {
  readonly #list: () => Promise<readonly SigningKeyText[]>;
  #known: readonly SigningKeyText[] = [];
  #match = matchPublicKeys([]);

  constructor(list: () => Promise<readonly SigningKeyText[]>) {
    this.#list = list;
  }

  async find(header: JWSHeaderParameters): Promise<CryptoKey> {
    const keys = await this.#list();
    if (!isSameKeys(keys, this.#known)) {
      this.#match = matchPublicKeys(keys);
      this.#known = keys;
    }
    return this.#match(header);
  }

  /** Whether tokens of this key still count. */
  async has(id: string): Promise<boolean> {
    const keys = await this.#list();
    return keys.some((key) => key.id === id);
  }

  close(): void {}
}
