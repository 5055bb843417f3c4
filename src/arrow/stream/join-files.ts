import type { ArrowChunk } from './chunk-assembler.ts';
import { END_OF_STREAM, HEAD_BYTES } from './chunk-buffer.ts';
import type { FileLayout } from './chunk-buffer.ts';
import { FILE_MAGIC, footerBytes, writeFooter } from '../format/footer.ts';
import type { Block } from '../format/footer.ts';

/** A chunk whose batches can be copied into a file with those of others. */
export type JoinableChunk = ArrowChunk & { readonly layout: FileLayout };

/** A file holds each dictionary once, so chunks with dictionaries cannot share one. */
export function isJoinable(chunk: ArrowChunk): chunk is JoinableChunk {
  return chunk.layout !== undefined && !chunk.layout.hasDictionaries && chunk.batches > 0;
}

/** Byte for byte: a batch is only readable under the schema message that it came with. */
export function hasSameSchema(one: JoinableChunk, other: JoinableChunk): boolean {
  return one.layout.schema.framed.equals(other.layout.schema.framed);
}

/** One Arrow IPC file with the batches of all chunks, in order. The chunks have the same schema message. */
export function joinFiles(chunks: readonly [JoinableChunk, ...JoinableChunk[]]): Buffer {
  const { schema } = chunks[0].layout;
  const batchBytes = chunks.reduce(
    (sum, { layout }) => sum + layout.batches.reduce((bytes, block) => bytes + sizeOf(block), 0),
    0,
  );
  const count = chunks.reduce((sum, { layout }) => sum + layout.batches.length, 0);
  const tailBytes = footerBytes(schema.metadata.length, count);
  const file = Buffer.allocUnsafe(HEAD_BYTES + schema.framed.length + batchBytes + END_OF_STREAM.length + tailBytes);
  file.fill(0, 0, HEAD_BYTES);
  file.set(FILE_MAGIC, 0);
  file.set(schema.framed, HEAD_BYTES);
  let at = HEAD_BYTES + schema.framed.length;
  const batches: Block[] = [];
  for (const { file: source, layout } of chunks) {
    for (const block of layout.batches) {
      source.copy(file, at, block.offset, block.offset + sizeOf(block));
      batches.push({ ...block, offset: at });
      at += sizeOf(block);
    }
  }
  file.set(END_OF_STREAM, at);
  writeFooter(file.subarray(at + END_OF_STREAM.length), { schema, dictionaries: [], batches });
  return file;
}

function sizeOf({ metadataBytes, bodyBytes }: Block): number {
  return metadataBytes + bodyBytes;
}
