import Testing
import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

/// A client that reads events as the server sends them.
final class EventListener {
    private let client: HTTPClient
    private var text = ""

    /// Returns when the server has begun to answer, so that the client misses no later event.
    init(_ server: TestServer, _ fields: [(String, String)] = [], isSecured: Bool = false) throws {
        client = try HTTPClient(server, isSecured: isSecured)
        client.send(.get, "/.transfer/events", fields)
        let head = try client.head()
        guard head.status == 200 else { throw RawClient.Failure(description: "\(head.status)") }
        text = String(decoding: try client.content() ?? [], as: UTF8.self)
    }

    /// - Parameter progress: true to return only reports of progress; false to return only other events.
    /// - Returns: the next event; nil when the server has ended the stream.
    func next(progress: Bool = false) throws -> [String: String]? {
        while true {
            while let end = text.utf8.firstEnd {
                let lines = text[..<end].split(separator: "\n")
                text = String(text[text.utf8.index(end, offsetBy: 2)...])
                var event: [String: String] = [:]
                for line in lines {
                    let parts = line.split(separator: ":", maxSplits: 1).map { $0.drop { $0 == " " } }
                    if parts.count == 2 { event[String(parts[0])] = String(parts[1]) }
                }
                if let name = event["event"], (name == "progress") == progress { return event }
            }
            guard let more = try client.content() else { return nil }
            text += String(decoding: more, as: UTF8.self)
        }
    }
}

extension String.UTF8View {
    /// Index at which an empty line begins.
    fileprivate var firstEnd: Index? {
        indices.first { index in
            self[index] == 10 && self.index(after: index) < endIndex && self[self.index(after: index)] == 10
        }
    }
}

extension ServerTests {
    /// Streams of events to clients that listen.
    @Suite(.oneServer) struct HTTPEventsTests {
        private let directory: TemporaryDirectory
        private let lists: any AccessLists

        init() throws {
            directory = try TemporaryDirectory()
            lists = try StoreKind.current.access(in: directory)
        }

        private func serving(
            isSecured: Bool = false, _ body: @escaping @Sendable (TestServer) throws -> Void
        ) async throws {
            let change = { @Sendable (configuration: inout ServerConfiguration) in
                configuration.http = .on
                guard isSecured else { return }
                configuration.security = .identity
                configuration.access = .listed(owner: nil)
            }
            try await TransferServerTests.serving(change, in: directory, body)
        }

        private func bearer(_ name: String, _ rights: AccessRights, _ place: String? = nil) throws -> [(String, String)]
        {
            var options = AccessOptions()
            (options.rights, options.folder) = (rights, try place.map { try RelativePath($0) })
            let token = try lists.issue(.token, name: name, options: options, at: .now)
            return [("Authorization", "Bearer \(token.text)")]
        }

        @Test func whatIsStoredIsTold() async throws {
            try await serving { server in
                let listener = try EventListener(server)
                let client = try HTTPClient(server)
                let stored = try client.ask(.put, "/a/b", [], [1, 2])
                #expect(stored.status == 201)
                let event = try #require(try listener.next())
                #expect(event["event"] == "committed" && event["id"] != nil)
                let data = try #require(event["data"])
                #expect(data.contains("\"schema\":\"transfer.upload/1\"") && data.contains("\"storedPath\":\"a/b\""))
                // Uploads over all protocols are events. Content that was already stored is not.
                #expect(try client.ask(.put, "/a/b", [], [1, 2]).status == 200)
                try server.checkServes()
                #expect(try listener.next()?["data"]?.contains("still-serving") ?? false)
            }
        }

        @Test func whoComesAgainMissesNothing() async throws {
            try await serving { server in
                let first = try EventListener(server)
                let client = try HTTPClient(server)
                for name in ["a", "b", "c"] { #expect(try client.ask(.put, "/\(name)", [], [1]).status == 201) }
                let id = try #require(try first.next()?["id"])
                let second = try EventListener(server, [("Last-Event-ID", id)])
                #expect(try second.next()?["data"]?.contains("\"storedPath\":\"b\"") ?? false)
                #expect(try second.next()?["data"]?.contains("\"storedPath\":\"c\"") ?? false)
                // IDs of events of another server, or later than now.
                let epoch = try #require(id.split(separator: "-").first)
                for other in ["1-1", "\(epoch)-99"] {
                    let third = try EventListener(server, [("Last-Event-ID", other)])
                    #expect(try third.next()?["event"] == "reset")
                }
            }
        }

        @Test func everybodyHearsOfWhatHeMaySee() async throws {
            let (all, one) = (try bearer("all", .readWrite), try bearer("one", .writeOnly, "r"))
            let (two, inside) = (try bearer("two", .writeOnly), try bearer("inside", .readOnly, "r"))
            try await serving(isSecured: true) { server in
                let client = try HTTPClient(server, isSecured: true)
                #expect(try client.ask(.get, "/.transfer/events").status == 401)
                let listeners = try [all, one, two, inside].map { try EventListener(server, $0, isSecured: true) }
                #expect(try client.ask(.put, "/x", one, [1]).status == 201)
                #expect(try client.ask(.put, "/y", two, [1]).status == 201)
                #expect(try client.ask(.put, "/r/z", all, [1]).status == 201)
                let paths = { (listener: EventListener, count: Int) in
                    try (0..<count).map { _ in try listener.next()?["data"].flatMap(Self.storedPath) }
                }
                #expect(try paths(listeners[0], 3) == ["r/x", "y", "r/z"])
                #expect(try paths(listeners[1], 1) == ["x"])
                #expect(try paths(listeners[2], 1) == ["y"])
                #expect(try paths(listeners[3], 2) == ["x", "z"])
            }
        }

        private static func storedPath(_ data: String) -> String? {
            data.split(separator: "\"").drop { $0 != "storedPath" }.dropFirst(2).first.map(String.init)
        }

        @Test func anAccessThatIsRemovedEndsThem() async throws {
            let reader = try bearer("reader", .readOnly)
            let lists = lists
            try await serving(isSecured: true) { server in
                let listener = try EventListener(server, reader, isSecured: true)
                #expect(try lists.revoke { $0.name.hasSameBytes(as: "reader") }.count == 1)
                #expect(try listener.next() == nil)
                try server.waitUntil("the listener is gone") { server.server.core.http.news.watchers == 0 }
            }
        }

        @Test func aServerThatStopsEndsThem() async throws {
            try await serving { server in
                let listener = try EventListener(server)
                server.beginShutDown()
                #expect(try listener.next() == nil)
            }
        }

        @Test func whoGoesAwayIsForgotten() async throws {
            try await serving { server in
                let count = { server.server.core.http.news.watchers }
                do {
                    let listeners = try (0..<20).map { _ in try EventListener(server) }
                    try server.waitUntil("all listen") { count() == listeners.count }
                }
                try server.waitUntil("all are gone") { count() == 0 }
                try server.checkServes()
            }
        }

        @Test func ownProgressIsTold() async throws {
            try await serving { server in
                let client = try HTTPClient(server)
                client.send(
                    bytes: "PUT /long HTTP/1.1\r\nHost: s\r\nContent-Length: 9000000\r\n\r\n", for: .put)
                client.raw.send([UInt8](repeating: 7, count: 4_500_000))
                let listener = try EventListener(server)
                let event = try #require(try listener.next(progress: true))
                let data = try #require(event["data"])
                #expect(data.contains("\"path\":\"long\"") && data.contains("\"size\":9000000"))
                client.raw.send([UInt8](repeating: 7, count: 4_500_000))
                #expect(try client.answer().status == 201)
                #expect(try listener.next()?["event"] == "committed")
            }
        }

        /// Requests after the stream of events get no answer and have no effect.
        @Test func nothingComesBehindThem() async throws {
            try await serving { server in
                let client = try HTTPClient(server)
                client.send(.get, "/.transfer/events")
                #expect(try client.head().fields.values("connection") == [Array("close".utf8)])
                for number in 0..<1000 { client.send(.put, "/\(number)", [], [1]) }
                server.beginShutDown()
                while try client.content() != nil {}
                #expect(server.tree == [])
            }
        }

        @Test func whatIsKeptIsBounded() async throws {
            try await serving { server in
                let news = server.server.core.http.news
                let client = try HTTPClient(server)
                let first = try EventListener(server)
                #expect(try client.ask(.put, "/a", [], [1]).status == 201)
                let id = try #require(try first.next()?["id"])
                let item = try #require(news.items(after: 0, limit: 1).items.first?.item)
                news.post(Array(repeating: item, count: UploadNews.most))
                #expect(news.items(after: 0, limit: 1).isLost)
                #expect(
                    news.items(after: 1, limit: 5_000).items.map(\.number) == Array(2...UInt64(UploadNews.most + 1)))
                #expect(news.items(after: 99_999, limit: 1).isLost)
                news.post([item])
                #expect(try EventListener(server, [("Last-Event-ID", id)]).next()?["event"] == "reset")
            }
        }

        @Test(arguments: ["", "-", "1", "1-", "-1", "1-1-1", "g-1", "1-f", "1-18446744073709551616", "+1-1", "1-+1"])
        func whatIsNoIDIsNone(_ text: String) {
            #expect(EventID(text.utf8) == nil)
        }

        @Test func anIDIsRead() {
            for (epoch, number) in [(0, 0), (UInt64.max, UInt64.max), (255, 17)] as [(UInt64, UInt64)] {
                let id = EventID(epoch: epoch, number: number)
                #expect(EventID(id.text.utf8) == id)
            }
        }
    }
}
