import type { SigningKeyText } from './signing-key.ts';

export interface TokenEndpointSettings {
  /** As clients see it, without a slash at the end. Also the audience of its tokens. */
  readonly issuer: string;
  readonly tokenSeconds: number;
  /** Wrong secrets that one address may give for one client in a minute. */
  readonly failuresPerMinuteMax: number;
}

/** What the catalog knows of clients. */
export interface ClientLookup {
  /** A revoked client is unknown. */
  findClient(id: string): Promise<ClientRecord | undefined>;
  isSecretOf(id: string, digest: string): Promise<boolean>;
  /** Newest first: the first signs. */
  signingKeys(): Promise<readonly SigningKeyText[]>;
}

export interface ClientRecord {
  readonly id: string;
  readonly expiresAt?: number;
}
