/** Processes 0 … count − 1 in order, several at a time. */
export async function inParallel(count: number, atOnce: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let index = next; index < count; index = next) {
        next += 1;
        await work(index);
      }
    }),
  );
}
