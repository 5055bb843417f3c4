import { ServiceError } from './service-error.ts';

/** Another node writes to the table. Where this is thrown, nothing was changed. */
export class NotOwner extends ServiceError {
  constructor(message = 'Another node now owns the table.') {
    super('ConcurrentModification', message, {
      hint: 'Send the request again.',
      retryAfterSeconds: 1,
    });
  }
}
