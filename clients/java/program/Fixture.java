import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** A client with a namespace, and tables that belong to one check each. */
final class Fixture {
  static final int ROWS = 100;
  private static final int ATTEMPTS_MAX = 60;
  private static final AtomicInteger NEXT = new AtomicInteger();

  final Client client;
  private final String namespace;

  Fixture(Client client) throws Exception {
    this.client = client;
    namespace = "java" + Long.toString(System.nanoTime(), 36);
    client.call("createNamespace", Map.of("id", List.of(namespace)));
  }

  /** A name for something that is not there yet. */
  List<String> newId() {
    return List.of(namespace, "t" + NEXT.incrementAndGet());
  }

  List<String> newTable() throws Exception {
    List<String> id = newId();
    client.call("createTable", Map.of("id", id), Rows.stream(0, ROWS));
    return id;
  }

  void insert(List<String> id, long first, long last) throws Exception {
    client.call("insertIntoTable", Map.of("id", id), Rows.stream(first, last));
  }

  /** The query may leave the vector out: then it is a scan. */
  List<Map<String, Object>> query(List<String> id, Map<String, Object> query) throws Exception {
    Map<String, Object> request = new HashMap<>(Map.of("id", id, "k", 1000, "vector", Map.of()));
    request.putAll(query);
    return Rows.read((byte[]) client.call("queryTable", request, null));
  }

  List<Object> ids(List<String> id, String filter) throws Exception {
    List<Object> ids = Rows.column(query(id, Map.of("filter", filter)), "id");
    ids.sort(null);
    return ids;
  }

  long count(List<String> id) throws Exception {
    return query(id, Map.of("columns", Map.of("column_names", List.of("id")))).size();
  }

  long versionOf(List<String> id) throws Exception {
    return client.call("describeTable", Map.of("id", id, "load_detailed_metadata", true)).get("version").asLong();
  }

  List<String> columnsOf(List<String> id) throws Exception {
    List<String> names = new ArrayList<>();
    JsonNode reply = client.call("describeTable", Map.of("id", id, "load_detailed_metadata", true));
    for (JsonNode field : reply.get("schema").get("fields")) names.add(field.get("name").asText());
    return names;
  }

  /** The service may build an index after it answered. */
  JsonNode requireIndex(List<String> id, String name) throws Exception {
    for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      for (JsonNode index : client.call("listTableIndices", Map.of("id", id)).get("indexes")) {
        if (index.get("index_name").asText().equals(name)) return index;
      }
      Thread.sleep(500);
    }
    throw new Report.Difference("the index " + name + " is not listed");
  }

  void refuses(int code, String operation, Map<String, Object> request) throws Exception {
    refuses(code, operation, request, null);
  }

  void refuses(int code, String operation, Map<String, Object> request, byte[] data) throws Exception {
    try {
      client.call(operation, request, data);
    } catch (Client.Refusal refusal) {
      if (refusal.code == code) return;
      throw new Report.Difference(operation + " is refused with " + refusal.code + ", not " + code + ": " + refusal);
    }
    throw new Report.Difference(operation + " is not refused: " + request);
  }

  static List<String> texts(JsonNode array) {
    List<String> texts = new ArrayList<>();
    for (JsonNode each : array) texts.add(each.asText());
    return texts;
  }
}
