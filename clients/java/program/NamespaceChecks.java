import static java.util.Map.of;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;

final class NamespaceChecks {
  private static final int NAMESPACE_NOT_FOUND = 1;
  private static final int NAMESPACE_ALREADY_EXISTS = 2;
  private static final int NAMESPACE_NOT_EMPTY = 3;

  private NamespaceChecks() {}

  static void addTo(Map<String, Checks.Check> checks) {
    checks.put("createNamespace", NamespaceChecks::create);
    checks.put("describeNamespace", NamespaceChecks::describe);
    checks.put("namespaceExists", NamespaceChecks::exists);
    checks.put("listNamespaces", NamespaceChecks::list);
    checks.put("dropNamespace", NamespaceChecks::drop);
  }

  private static void create(Fixture fixture) throws Exception {
    List<String> id = fixture.newId();
    JsonNode made = fixture.client.call("createNamespace", of("id", id, "properties", of("owner", "shop")));
    Report.same("owner", made.at("/properties/owner").asText(), "shop");
    fixture.refuses(NAMESPACE_ALREADY_EXISTS, "createNamespace", of("id", id, "mode", "Create"));
    fixture.client.call("createNamespace", of("id", id, "mode", "ExistOk"));
    fixture.refuses(NAMESPACE_NOT_FOUND, "createNamespace", of("id", List.of("missing", "inner")));
  }

  private static void describe(Fixture fixture) throws Exception {
    List<String> id = fixture.newId();
    fixture.client.call("createNamespace", of("id", id, "properties", of("owner", "shop")));
    JsonNode seen = fixture.client.call("describeNamespace", of("id", id));
    Report.same("owner", seen.at("/properties/owner").asText(), "shop");
    fixture.refuses(NAMESPACE_NOT_FOUND, "describeNamespace", of("id", fixture.newId()));
  }

  private static void exists(Fixture fixture) throws Exception {
    List<String> id = fixture.newId();
    fixture.refuses(NAMESPACE_NOT_FOUND, "namespaceExists", of("id", id));
    fixture.client.call("createNamespace", of("id", id));
    fixture.client.call("namespaceExists", of("id", id));
  }

  private static void list(Fixture fixture) throws Exception {
    List<String> parent = fixture.newId();
    fixture.client.call("createNamespace", of("id", parent));
    for (String name : List.of("a", "b", "c")) {
      fixture.client.call("createNamespace", of("id", List.of(parent.get(0), parent.get(1), name)));
    }
    JsonNode all = fixture.client.call("listNamespaces", of("id", parent));
    Report.same("names", Fixture.texts(all.get("namespaces")), List.of("a", "b", "c"));
    JsonNode first = fixture.client.call("listNamespaces", of("id", parent, "limit", 2));
    Report.same("first page", Fixture.texts(first.get("namespaces")), List.of("a", "b"));
    String token = first.get("page_token").asText();
    JsonNode second = fixture.client.call("listNamespaces", of("id", parent, "limit", 2, "page_token", token));
    Report.same("second page", Fixture.texts(second.get("namespaces")), List.of("c"));
    JsonNode root = fixture.client.call("listNamespaces", of("id", List.of()));
    Report.holds("the root lists " + root, Fixture.texts(root.get("namespaces")).contains(parent.get(0)));
  }

  private static void drop(Fixture fixture) throws Exception {
    List<String> id = fixture.newId();
    List<String> inner = List.of(id.get(0), id.get(1), "inner");
    fixture.client.call("createNamespace", of("id", id));
    fixture.client.call("createNamespace", of("id", inner));
    fixture.refuses(NAMESPACE_NOT_EMPTY, "dropNamespace", of("id", id, "behavior", "Restrict"));
    fixture.client.call("dropNamespace", of("id", id, "behavior", "Cascade"));
    fixture.refuses(NAMESPACE_NOT_FOUND, "namespaceExists", of("id", inner));
    fixture.refuses(NAMESPACE_NOT_FOUND, "dropNamespace", of("id", id));
    fixture.client.call("dropNamespace", of("id", id, "mode", "Skip"));
  }
}
