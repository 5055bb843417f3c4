import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.openapitools.jackson.nullable.JsonNullableModule;

/** Calls operations by name, with a request of the description's own field names: releases differ in their Java types. */
public abstract class Client {
  /** Old releases know fewer fields. */
  protected static final ObjectMapper JSON = new ObjectMapper()
      .configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false)
      .registerModule(new JavaTimeModule())
      .registerModule(new JsonNullableModule());
  private static final Pattern CODE = Pattern.compile("\"code\":(\\d+)");

  /** The service, or the client itself, refused a call. */
  public static final class Refusal extends Exception {
    /** Of the description's list of errors; -1 when the client does not tell. */
    public final int code;

    Refusal(int code, Throwable cause) {
      super(cause.getMessage() == null ? cause.toString() : cause.getMessage(), cause);
      this.code = code;
    }
  }

  public abstract boolean offers(String operation);

  /** The reply as JSON, or bytes for a query. `data` is an Arrow stream or null. */
  public abstract Object call(String operation, Map<String, Object> request, byte[] data) throws Exception;

  public final JsonNode call(String operation, Map<String, Object> request) throws Exception {
    return (JsonNode) call(operation, request, null);
  }

  protected static Object invoke(Object target, Method method, Object... arguments) throws Exception {
    try {
      Object reply = method.invoke(target, arguments);
      return reply instanceof byte[] ? reply : JSON.valueToTree(reply);
    } catch (InvocationTargetException failed) {
      throw new Refusal(codeOf(failed.getCause()), failed.getCause());
    }
  }

  /** Old releases tell it in the text only. */
  private static int codeOf(Throwable failure) throws Exception {
    Method getCode = find(failure.getClass(), "getCode");
    Method getBody = find(failure.getClass(), "getResponseBody");
    if (getCode != null && getBody == null) return (int) getCode.invoke(failure);
    String text = getBody == null ? failure.getMessage() : (String) getBody.invoke(failure);
    Matcher matcher = CODE.matcher(String.valueOf(text));
    return matcher.find() ? Integer.parseInt(matcher.group(1)) : -1;
  }

  private static Method find(Class<?> type, String name) {
    try {
      return type.getMethod(name);
    } catch (NoSuchMethodException missing) {
      return null;
    }
  }
}
