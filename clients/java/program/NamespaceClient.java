import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.lance.namespace.LanceNamespace;

/** `LanceNamespace.connect("rest", …)`: the interface that Spark and other engines use. */
final class NamespaceClient extends Client {
  private static final List<String> NO_OPERATIONS =
      List.of("initialize", "connect", "namespaceId", "registerNamespaceImpl", "unregisterNamespaceImpl", "isRegistered");
  private final LanceNamespace namespace;

  NamespaceClient(String url, String key) {
    Map<String, String> properties = new HashMap<>();
    properties.put("uri", url);
    properties.put("headers.x-api-key", key);
    // As old releases call it.
    properties.put("header.x-api-key", key);
    namespace = LanceNamespace.connect("rest", properties, Rows.ALLOCATOR);
  }

  static TreeSet<String> operations() {
    TreeSet<String> names = new TreeSet<>();
    for (Method method : LanceNamespace.class.getMethods()) names.add(method.getName());
    names.removeAll(NO_OPERATIONS);
    return names;
  }

  /** Those that a release leaves to the interface always throw. */
  @Override
  public boolean offers(String operation) {
    return operations().contains(operation) && find(operation).getDeclaringClass() != LanceNamespace.class;
  }

  @Override
  public Object call(String operation, Map<String, Object> request, byte[] data) throws Exception {
    Method method = find(operation);
    Object[] arguments = new Object[method.getParameterCount()];
    for (int place = 0; place < arguments.length; place += 1) {
      arguments[place] = toArgument(method.getParameters()[place], request, data);
    }
    return invoke(namespace, method, arguments);
  }

  private static Object toArgument(Parameter parameter, Map<String, Object> request, byte[] data) {
    if (parameter.getType() == byte[].class) return data;
    if (parameter.getType() == String.class) return request.get("index_name");
    return JSON.convertValue(request, parameter.getType());
  }

  private Method find(String operation) {
    return Arrays.stream(namespace.getClass().getMethods())
        .filter(method -> method.getName().equals(operation))
        .findFirst()
        .orElseThrow();
  }
}
