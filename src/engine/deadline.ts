import { ServiceError } from '../errors/service-error.ts';

/** The engine cannot be told to stop, so work that is late goes on by itself; only its caller stops waiting. */
export async function withDeadline<Value>(seconds: number, work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tookTooLong(seconds)), seconds * 1000);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function tookTooLong(seconds: number): ServiceError {
  return new ServiceError('ServiceUnavailable', `The query took longer than the ${seconds} seconds that it may take.`, {
    hint: 'Ask for fewer rows, or add an index.',
    retryAfterSeconds: 1,
  });
}
