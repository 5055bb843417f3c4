import java.io.File;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.lance.namespace.client.apache.ApiClient;

/** The client that is generated from the description: classes such as `TableApi`, many of which share operations. */
final class GeneratedClient extends Client {
  private static final String PACKAGE = "org.lance.namespace.client.apache.api.";
  private static final Pattern CLASS = Pattern.compile(PACKAGE.replace('.', '/') + "(\\w+Api)\\.class");
  private static final List<String> NO_OPERATIONS = List.of("getApiClient", "setApiClient", "invokeAPI");
  private static final List<String> PAGE = List.of("id", "delimiter", "page_token", "limit");
  /** Parameters beside body and data, in their order; releases before have fewer at the end. */
  private static final Map<String, List<String>> PARAMETERS = Map.ofEntries(
      Map.entry("createTable", List.of("id", "delimiter", "mode", "properties", "storage_options")),
      Map.entry("insertIntoTable", List.of("id", "delimiter", "mode")),
      Map.entry("describeTable",
          List.of("id", "delimiter", "with_table_uri", "load_detailed_metadata", "check_declared")),
      Map.entry("describeTableIndexStats", List.of("id", "index_name", "delimiter")),
      Map.entry("dropTableIndex", List.of("id", "index_name", "delimiter")),
      Map.entry("listNamespaces", PAGE),
      Map.entry("listTableTags", PAGE),
      Map.entry("listTables", List.of("id", "delimiter", "page_token", "limit", "include_declared")),
      Map.entry("listTableVersions", List.of("id", "delimiter", "page_token", "limit", "descending")),
      Map.entry("listAllTables", List.of("delimiter", "page_token", "limit", "include_declared")),
      Map.entry("batchCommitTables", List.of("delimiter")),
      Map.entry("batchCreateTableVersions", List.of("delimiter")),
      Map.entry("mergeInsertIntoTable",
          List.of("id", "on", "delimiter", "when_matched_update_all", "when_matched_update_all_filt",
              "when_not_matched_insert_all", "when_not_matched_by_source_delete",
              "when_not_matched_by_source_delete_filt", "timeout", "use_index")));
  private static final String DELIMITER = "$";

  private final ApiClient api = new ApiClient();
  private final List<String> classes;

  /** An operation is called on the first of these classes that has it. */
  GeneratedClient(String url, String key, List<String> classes) {
    this.classes = classes;
    api.setBasePath(url);
    api.addDefaultHeader("x-api-key", key);
  }

  /** All that the release has. */
  static List<String> classes() throws Exception {
    URL jar = ApiClient.class.getProtectionDomain().getCodeSource().getLocation();
    try (JarFile file = new JarFile(new File(jar.toURI()))) {
      return file.stream().map(JarEntry::getName).map(CLASS::matcher).filter(Matcher::matches)
          .map(found -> found.group(1)).sorted().toList();
    }
  }

  static TreeSet<String> operationsOf(String className) throws Exception {
    TreeSet<String> names = new TreeSet<>();
    for (Method method : Class.forName(PACKAGE + className).getDeclaredMethods()) {
      if (Modifier.isPublic(method.getModifiers())) names.add(method.getName());
    }
    names.removeAll(NO_OPERATIONS);
    return names;
  }

  @Override
  public boolean offers(String operation) {
    return find(operation).isPresent();
  }

  @Override
  public Object call(String operation, Map<String, Object> request, byte[] data) throws Exception {
    Method method = find(operation).orElseThrow();
    Object target = method.getDeclaringClass().getConstructor(ApiClient.class).newInstance(api);
    Iterator<String> names = PARAMETERS.getOrDefault(operation, List.of("id", "delimiter")).iterator();
    Object[] arguments = new Object[method.getParameterCount()];
    for (int place = 0; place < arguments.length; place += 1) {
      arguments[place] = toArgument(method.getParameterTypes()[place], names, request, data);
    }
    return invoke(target, method, arguments);
  }

  private Object toArgument(Class<?> type, Iterator<String> names, Map<String, Object> request, byte[] data)
      throws Exception {
    if (type == byte[].class) return data;
    if (type == Map.class) return request.get("metadata");
    boolean isSimple = type == String.class || type == Integer.class || type == Boolean.class;
    if (!isSimple) return api.getObjectMapper().convertValue(request, type);
    String name = names.next();
    Object value = name.equals("delimiter") ? DELIMITER : request.get(name);
    if (name.equals("id")) return toPath((List<?>) value);
    return value instanceof Map ? JSON.writeValueAsString(value) : value;
  }

  /** The delimiter alone is the root. */
  private static String toPath(List<?> id) {
    return id.isEmpty() ? DELIMITER : id.stream().map(String::valueOf).collect(Collectors.joining(DELIMITER));
  }

  /** Of the overloads, the one without additional headers. */
  private Optional<Method> find(String operation) {
    return classes.stream().flatMap(name -> methodsOf(name, operation)).findFirst();
  }

  private static Stream<Method> methodsOf(String className, String operation) {
    try {
      return Arrays.stream(Class.forName(PACKAGE + className).getDeclaredMethods())
          .filter(method -> method.getName().equals(operation))
          .min(Comparator.comparing(Method::getParameterCount))
          .stream();
    } catch (ClassNotFoundException missing) {
      return Stream.empty();
    }
  }
}
