import Testing
import TransferAccess
import TransferHTTP
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Metrics, as monitoring programs request them.
    @Suite(.oneServer) struct HTTPMetricsTests {
        @Test func whatIsStoredIsCounted() async throws {
            try await serving({
                $0.http = .on
                $0.metrics = .on
                $0.space.quota = 1 << 30
                $0.agent = "transfer/1.2.3"
            }) { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.put, "/a", [], [1, 2, 3]).status == 201)
                #expect(try client.ask(.put, "/a", [], [1, 2, 3]).status == 200)
                #expect(try client.ask(.get, "/a").status == 200)
                #expect(try client.ask(.get, "/b").status == 404)
                try server.checkServes()
                let answer = try client.ask(.get, "/metrics")
                #expect(answer.status == 200 && answer["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
                for line in [
                    "transfer_build_info{version=\"1.2.3\"} 1", "transfer_ready 1",
                    "transfer_uploads_total{result=\"committed\",protocol=\"http\"} 1",
                    "transfer_uploads_total{result=\"alreadyStored\",protocol=\"http\"} 1",
                    "transfer_uploads_total{result=\"committed\",protocol=\"transfer\"} 1",
                    "transfer_received_bytes_total{protocol=\"http\"} 6",
                    "transfer_received_bytes_total{protocol=\"transfer\"} 3",
                    "transfer_http_requests_total{method=\"PUT\",status=\"2xx\"} 2",
                    "transfer_http_requests_total{method=\"GET\",status=\"4xx\"} 1",
                    "transfer_upload_duration_seconds_count 3", "transfer_connections_accepted_total 2",
                    "transfer_quota_limit_bytes 1073741824", "transfer_catalog_uploads{state=\"stored\"} 2",
                ] {
                    #expect(answer.text.contains("\n\(line)\n"), "\(line)")
                }
                for metric in [Metric.residentMemory, .openDescriptors, .processorSeconds, .startTime] {
                    #expect(answer.text.contains("\n\(metric.sampleName) "), "\(metric)")
                }
            }
        }

        /// Each family occurs once, and all families are known.
        @Test(arguments: MetricsWriter.Format.allCases) func bothFormatsAreSpoken(_ format: MetricsWriter.Format)
            async throws
        {
            try await serving({
                $0.http = .on
                $0.metrics = .on
            }) { server in
                let client = try HTTPClient(server)
                let accept =
                    format == .openMetrics ? "application/openmetrics-text;version=1.0.0,text/plain;q=0.5" : "*/*"
                let answer = try client.ask(.get, "/metrics", [("Accept", accept)])
                #expect(answer["content-type"] == format.contentType)
                #expect(answer.text.hasSuffix("# EOF\n") == (format == .openMetrics))
                let types = answer.text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map {
                    $0.split(separator: " ")[2]
                }
                #expect(Set(types).count == types.count)
                let known = Metric.allCases.map { format == .openMetrics ? $0.rawValue : $0.sampleName }
                #expect(Set(types.map(String.init)).isSubset(of: known))
                #expect(try client.ask(.head, "/metrics").status == 200)
                #expect(try client.ask(.put, "/metrics", [], [1]).status == 405)
            }
        }

        @Test func withoutTheFlagAFileMayHaveTheName() async throws {
            try await serving({ $0.http = .on }) { server in
                let client = try HTTPClient(server)
                #expect(try client.ask(.get, "/metrics").status == 404)
                #expect(try client.ask(.put, "/metrics", [], [1]).status == 201)
                #expect(try client.ask(.get, "/metrics").content == [1])
            }
        }

        @Test func onlyWhoMaySeeEverythingIsTold() async throws {
            let directory = try TemporaryDirectory()
            let lists = try StoreKind.current.access(in: directory)
            let tokens = try [
                (AccessRights.readOnly, nil as String?), (.writeOnly, nil), (.readWrite, "f"),
            ].map { rights, place in
                var options = AccessOptions()
                (options.rights, options.folder) = (rights, try place.map { try RelativePath($0) })
                return try lists.issue(.token, name: "t", options: options, at: .now).text
            }
            let change = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
                (configuration.http, configuration.metrics) = (.on, .on)
            }
            try await serving(change, in: directory) { server in
                let client = try HTTPClient(server, isSecured: true)
                #expect(try client.ask(.get, "/metrics").status == 401)
                for (token, status) in zip(tokens, [200, 403, 403]) {
                    #expect(try client.ask(.get, "/metrics", [("Authorization", "Bearer \(token)")]).status == status)
                }
                let text = try client.ask(.get, "/metrics", [("Authorization", "Bearer \(tokens[0])")]).text
                #expect(
                    text.contains("\ntransfer_authentications_refused_total{reason=\"authenticationRequired\"} 1\n"))
            }
        }

        @Test func aListenerOfItsOwnTellsNothingElse() async throws {
            try await serving({ $0.metrics = .listener(TestServer.anyPort) }) { server in
                let endpoint = try #require(server.probeEndpoint)
                let client = HTTPClient(try RawClient(endpoint))
                #expect(try client.ask(.get, "/metrics").text.contains("\ntransfer_ready 1\n"))
                #expect(try client.ask(.get, "/healthz").text == "ok\n")
                #expect(try client.ask(.get, "/readyz").status == 200)
                for method in [HTTPMethod.get, .put, .delete] {
                    #expect(try client.ask(method, "/x", [], method == .put ? [1] : nil).status == 404)
                }
                #expect(server.tree == [])
                try server.checkServes()
            }
        }
    }
}
