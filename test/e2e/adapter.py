"""A server of Kubernetes' external metrics, whose values are the exporter's: what an autoscaler needs beside a NodeSet.

  adapter.py PORT CERTIFICATE KEY URL    URL: the exporter's /metrics

It knows one metric, slurm_partition_wanted_nodes of a label `partition`.
"""
import datetime
import http.server
import json
import re
import ssl
import sys
import urllib.parse
import urllib.request

GROUP = "external.metrics.k8s.io/v1beta1"
METRIC = "slurm_partition_wanted_nodes"


def wanted(url, partition):
    """As a list: empty when there is no such series."""
    text = urllib.request.urlopen(url, timeout=5).read().decode()
    return re.findall(rf'^{METRIC}\{{partition="{re.escape(partition)}"\}} (\d+)$', text, re.M)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked = urllib.parse.urlsplit(self.path)
        if asked.path.rstrip("/") == f"/apis/{GROUP}":
            self.answer({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": GROUP, "resources": [
                {"name": METRIC, "singularName": "", "namespaced": True, "kind": "ExternalMetricValueList", "verbs": ["get"]}]})
        elif re.fullmatch(rf"/apis/{re.escape(GROUP)}/namespaces/[^/]+/{METRIC}", asked.path):
            labels = dict(word.split("=", 1) for word in urllib.parse.parse_qs(asked.query)["labelSelector"][0].split(","))
            now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            self.answer({"kind": "ExternalMetricValueList", "apiVersion": GROUP, "metadata": {}, "items": [
                {"metricName": METRIC, "metricLabels": labels, "timestamp": now, "value": value}
                for value in wanted(sys.argv[4], labels["partition"])]})
        else:
            self.send_error(404)

    def answer(self, what):
        body = json.dumps(what).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()
