"""The client that is generated from the Lance REST description."""

import inspect
import json

import lance_namespace_urllib3_client as client
from calls import DATABASE, KEY, URL, Refused
from lance_namespace_urllib3_client.exceptions import ApiException
from outcomes import Differs, NotOffered, RefusedByClient

REQUEST_SECONDS = 60
WITHOUT_REPLY = {"namespace_exists", "table_exists"}

# Both credentials of one caller, as a configuration that sets both sends them.
configuration = client.Configuration(host=URL, api_key={"ApiKeyAuth": KEY}, access_token=KEY)
api_client = client.ApiClient(configuration)
api_client.set_default_header("x-service-database", DATABASE)


def find_operations():
    """`{operation: api}`: an operation is in the class of every tag that it has, with the same code."""
    classes = [each for name, each in vars(client).items() if name.endswith("Api") and inspect.isclass(each)]
    return {
        name.removesuffix("_with_http_info"): each(api_client)
        for each in classes
        for name, _ in inspect.getmembers(each, inspect.isfunction)
        if name.endswith("_with_http_info")
    }


OPERATIONS = find_operations()


def call(name, *args, **kwargs):
    """The reply as the client's model. The client drops a reply whose status the description does not have."""
    send = getattr(OPERATIONS[name], f"{name}_with_http_info")
    if name == "merge_insert_into_table":
        args = with_key(send, *args)
    try:
        reply = send(*args, _request_timeout=REQUEST_SECONDS, **kwargs)
    except ApiException as error:
        raise refusal_of(error) from error
    if reply.data is None and name not in WITHOUT_REPLY:
        raise Differs(f"{name} has no contents for the client with status {reply.status_code}: {reply.raw_data[:200]}")
    return reply.data


def with_key(send, table, columns, body):
    """A list of columns in newer releases; one text before."""
    takes_list = "List" in str(inspect.signature(send).parameters["on"].annotation)
    if not takes_list and len(columns) > 1:
        raise RefusedByClient("this release has keys of one column only")
    return table, columns if takes_list else columns[0], body


def refusal_of(error):
    try:
        body = json.loads(error.body)
    except (TypeError, ValueError):
        return error
    if error.status == 406:
        return NotOffered(body.get("detail"))
    return Refused(error.status, body.get("code"), body.get("detail"))
