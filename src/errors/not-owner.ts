import { ServiceError } from './service-error.ts';

/** Another node writes to the table. Where this is thrown, nothing was changed. */
export class NotOwner extends ServiceError {
  constructor() {
    super('ConcurrentModification', 'The table is being written by another node now.', {
      hint: 'Send the request again.',
      retryAfterSeconds: 1,
    });
  }
}
