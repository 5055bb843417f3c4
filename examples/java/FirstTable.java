import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.arrow.vector.util.ByteArrayReadableSeekableByteChannel;
import org.lance.namespace.LanceNamespace;
import org.lance.namespace.model.CreateNamespaceRequest;
import org.lance.namespace.model.CreateTableRequest;
import org.lance.namespace.model.QueryTableRequest;
import org.lance.namespace.model.QueryTableRequestVector;
import org.lance.namespace.model.UpdateTableRequest;

/** Creates a table in a namespace, updates a row and reads the rows that pass a filter. */
public class FirstTable {
  public static void main(String[] args) throws Exception {
    try (RootAllocator allocator = new RootAllocator()) {
      Map<String, String> options = Map.of(
          "uri", System.getenv("TILTYARD_URL"),
          "headers.x-api-key", System.getenv("TILTYARD_API_KEY"));
      LanceNamespace lance = LanceNamespace.connect("rest", options, allocator);

      List<String> table = List.of("shop", "prices");
      lance.createNamespace(new CreateNamespaceRequest().id(List.of("shop")));
      lance.createTable(new CreateTableRequest().id(table), rows(allocator));

      UpdateTableRequest update = new UpdateTableRequest().id(table).predicate("id = 3");
      lance.updateTable(update.updates(List.of(List.of("price", "price * 2"))));

      QueryTableRequest query = new QueryTableRequest().id(table).k(10).filter("price > 20");
      byte[] found = lance.queryTable(query.vector(new QueryTableRequestVector()));
      try (ArrowFileReader reader = new ArrowFileReader(new ByteArrayReadableSeekableByteChannel(found), allocator)) {
        while (reader.loadNextBatch()) System.out.println(reader.getVectorSchemaRoot().contentToTSVString());
      }
    }
  }

  /** An Arrow stream of three rows. */
  private static byte[] rows(RootAllocator allocator) throws Exception {
    ArrowType whole = new ArrowType.Int(64, true);
    Schema schema = new Schema(List.of(Field.nullable("id", whole), Field.nullable("price", whole)));
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (VectorSchemaRoot root = VectorSchemaRoot.create(schema, allocator);
        ArrowStreamWriter writer = new ArrowStreamWriter(root, null, bytes)) {
      for (int row = 0; row < 3; row += 1) {
        ((BigIntVector) root.getVector("id")).setSafe(row, row + 1);
        ((BigIntVector) root.getVector("price")).setSafe(row, 10 * row);
      }
      root.setRowCount(3);
      writer.writeBatch();
      writer.end();
    }
    return bytes.toByteArray();
  }
}
