import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.arrow.vector.util.ByteArrayReadableSeekableByteChannel;

/** The rows of the checks, as Arrow bytes: `id`, `name` and `vector`, all of which follow from the id. */
public final class Rows {
  public static final RootAllocator ALLOCATOR = new RootAllocator();
  public static final int DIMENSIONS = 4;

  private static final Schema SCHEMA = new Schema(List.of(
      Field.nullable("id", new ArrowType.Int(64, true)),
      Field.nullable("name", ArrowType.Utf8.INSTANCE),
      new Field("vector", FieldType.nullable(new ArrowType.FixedSizeList(DIMENSIONS)),
          List.of(Field.nullable("item", new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE))))));

  private Rows() {}

  public static String nameOf(long id) {
    return (id % 2 == 0 ? "blue" : "red") + " item " + id;
  }

  public static List<Float> vectorOf(long id) {
    return List.of((float) id, (float) id + 1, 0f, 1f);
  }

  /** The rows from `first` to before `last`, as a stream. */
  public static byte[] stream(long first, long last) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (VectorSchemaRoot root = VectorSchemaRoot.create(SCHEMA, ALLOCATOR);
        ArrowStreamWriter writer = new ArrowStreamWriter(root, null, bytes)) {
      int count = (int) (last - first);
      root.allocateNew();
      for (int row = 0; row < count; row += 1) set(root, row, first + row);
      root.setRowCount(count);
      writer.writeBatch();
      writer.end();
    }
    return bytes.toByteArray();
  }

  /** Rows of an Arrow file. */
  public static List<Map<String, Object>> read(byte[] bytes) throws Exception {
    boolean isFile = new String(bytes, 0, Math.min(6, bytes.length)).equals("ARROW1");
    if (!isFile) throw new Report.Difference("no Arrow file: " + new String(bytes, 0, Math.min(80, bytes.length)));
    try (ArrowReader reader = new ArrowFileReader(new ByteArrayReadableSeekableByteChannel(bytes), ALLOCATOR)) {
      List<Map<String, Object>> rows = new ArrayList<>();
      while (reader.loadNextBatch()) addRows(reader.getVectorSchemaRoot(), rows);
      return rows;
    }
  }

  public static List<Object> column(List<Map<String, Object>> rows, String name) {
    List<Object> values = new ArrayList<>();
    for (Map<String, Object> row : rows) values.add(row.get(name));
    return values;
  }

  private static void set(VectorSchemaRoot root, int row, long id) {
    ((BigIntVector) root.getVector("id")).setSafe(row, id);
    ((VarCharVector) root.getVector("name")).setSafe(row, nameOf(id).getBytes());
    FixedSizeListVector vectors = (FixedSizeListVector) root.getVector("vector");
    Float4Vector items = (Float4Vector) vectors.getDataVector();
    vectors.setNotNull(row);
    for (int place = 0; place < DIMENSIONS; place += 1) {
      items.setSafe(row * DIMENSIONS + place, vectorOf(id).get(place));
    }
  }

  private static void addRows(VectorSchemaRoot root, List<Map<String, Object>> rows) {
    for (int row = 0; row < root.getRowCount(); row += 1) {
      Map<String, Object> values = new LinkedHashMap<>();
      for (FieldVector vector : root.getFieldVectors()) {
        Object value = vector.getObject(row);
        values.put(vector.getName(), value == null ? null : value instanceof Number ? value : value.toString());
      }
      rows.add(values);
    }
  }
}
