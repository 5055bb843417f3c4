import { ServiceError } from '../errors/service-error.ts';

/** What is wrong with an Arrow file, in plain words. */
export function notReadable(error: unknown): ServiceError {
  const text = error instanceof Error ? error.message : '';
  if (text.includes('compression')) {
    return new ServiceError('InvalidInput', 'The buffers of the Arrow file are compressed.', {
      hint: 'With its columns as they are, "tiltyard import" loads it; to change them, write it without compression.',
      cause: error,
    });
  }
  if (text.includes('Unrecognized type')) {
    return new ServiceError('InvalidInput', 'The Arrow file has a column of a type that is not read here.', {
      hint: 'Lists of 64-bit offsets, views, unions and run-end encoding cannot be changed on the way; with its columns as they are, "tiltyard import" loads the file if the server takes them.',
      cause: error,
    });
  }
  if (text === 'message too large') {
    return new ServiceError('InvalidInput', 'The Arrow file has a batch of more than 1 GiB.', {
      hint: 'Write it with smaller batches.',
      cause: error,
    });
  }
  return new ServiceError('InvalidInput', 'The input is not an Arrow IPC file or stream, or it is cut off.', {
    hint: 'Give a whole file, or the format that it has.',
    cause: error,
  });
}
