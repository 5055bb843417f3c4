import { ServiceError } from './service-error.ts';

/** Another node writes to the table. The call that throws this changed nothing; a commit before it is for the new owner to decide. */
export class NotOwner extends ServiceError {
  constructor(message = 'Another node now owns the table.') {
    super('ConcurrentModification', message, {
      hint: 'Send the request again.',
      retryAfterSeconds: 1,
    });
  }
}
