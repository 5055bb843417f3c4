/** Why an object store refuses a request, by the codes of S3, compatible stores, Google Cloud Storage and Azure. */
export interface StoreRefusal {
  /** Without a period: the code follows. */
  readonly message: string;
  readonly codes: readonly string[];
}

export const STORE_REFUSALS = {
  credentials: {
    message: "The object store refuses the server's credentials",
    codes: [
      'ExpiredToken',
      'InvalidToken',
      'InvalidTokenId',
      'TokenRefreshRequired',
      'InvalidAccessKeyId',
      'SignatureDoesNotMatch',
      'InvalidSecurity',
      'AuthenticationRequired',
      'AuthenticationFailed',
      'InvalidAuthenticationInfo',
      'NoAuthenticationInformation',
    ],
  },
  clock: {
    message: 'The clocks of the server and the object store differ too much',
    codes: ['RequestTimeTooSkewed', 'RequestExpired'],
  },
  bucket: {
    message: 'The bucket does not exist in the object store',
    codes: ['NoSuchBucket', 'ContainerNotFound'],
  },
  region: {
    message: 'The bucket is in another region than the server expects',
    codes: ['AuthorizationHeaderMalformed', 'PermanentRedirect', 'IllegalLocationConstraintException'],
  },
} as const satisfies Readonly<Record<string, StoreRefusal>>;

export function findStoreRefusal(code: string): StoreRefusal | undefined {
  return Object.values<StoreRefusal>(STORE_REFUSALS).find(({ codes }) => codes.includes(code));
}
